"""Indexing for datasets that know how to make one example."""
import numpy


class DatasetMixin:
    """Indexing by integers, slices and lists on top of :meth:`get_example`.

    A subclass provides ``__len__`` and :meth:`get_example`.

    >>> from chainer import dataset
    >>> class Squares(dataset.DatasetMixin):
    ...     def __len__(self):
    ...         return 5
    ...     def get_example(self, i):
    ...         return i * i
    >>> squares = Squares()
    >>> squares[3], squares[1:4], squares[[4, 0]]
    (9, [1, 4, 9], [16, 0])
    """

    def __getitem__(self, index):
        """One example for an integer, a list of examples for a slice or a list of integers.

        Args:
            index: an integer (passed to :meth:`get_example` as it is, negative ones too), a slice,
                a list of integers, or a one-dimensional integer array.
        """
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, (list, numpy.ndarray)):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self):
        """The number of examples; a subclass has to say."""
        raise NotImplementedError(f'{type(self).__name__} must define __len__()')

    def get_example(self, i):
        """The ``i``-th example; a subclass has to make it, and raises ``IndexError`` where there
        is none."""
        raise NotImplementedError(f'{type(self).__name__} must define get_example(i)')
