"""The base of datasets that are tables."""
import numpy

import chainer
from chainer import backend
from chainer.dataset import dataset_mixin


class TabularDataset(dataset_mixin.DatasetMixin):
    """A dataset with columns, each of which has a key.

    A subclass provides ``__len__``, :attr:`keys`, :attr:`mode` and :meth:`get_examples`, which
    reads any rows of any columns at once: what is not asked for is not loaded. All other methods
    are views; nothing is read until rows are asked for.

    .. doctest::

        >>> import numpy as np
        >>> from chainer import dataset
        >>> table = dataset.tabular.from_data({'x': np.arange(4) * 10, 'label': list('abba')})
        >>> table.keys
        ('x', 'label')
        >>> table[1]
        {'x': np.int64(10), 'label': 'b'}
        >>> table.slice[1:3, ('label', 'x')].astuple().fetch()
        (['b', 'b'], array([10, 20]))
    """

    def __len__(self):
        """The number of rows; a subclass has to say."""
        raise NotImplementedError(f'{type(self).__name__} must define __len__()')

    @property
    def keys(self):
        """The keys of the columns, a tuple; a subclass has to say."""
        raise NotImplementedError(f'{type(self).__name__} must define keys')

    @property
    def mode(self):
        """What an example is: ``tuple``, ``dict``, or ``None`` for the value of the only column; a
        subclass has to say."""
        raise NotImplementedError(f'{type(self).__name__} must define mode')

    def get_examples(self, indices, key_indices):
        """Reads rows of columns; a subclass has to do it.

        Args:
            indices: The rows: a slice, a list of integers, or ``None`` for all.
            key_indices: The columns: a tuple of integers, or ``None`` for all.

        Returns:
            tuple: One list or array for each column, as long as there are rows.
        """
        raise NotImplementedError(
            f'{type(self).__name__} must define get_examples(indices, key_indices)')

    def get_example(self, i):
        """The ``i``-th row, in the form that :attr:`mode` says."""
        return self._pack([column[0] for column in self.get_examples([i], None)])

    def __iter__(self):
        return (self.get_example(i) for i in range(len(self)))

    def fetch(self):
        """Reads all rows.

        Returns:
            The columns as a tuple or dictionary of lists or arrays, or the only column, as
            :attr:`mode` says.
        """
        return self._pack(self.get_examples(None, None))

    def _pack(self, values):
        mode = self.mode
        if mode is tuple:
            return tuple(values)
        if mode is dict:
            return dict(zip(self.keys, values, strict=True))
        if mode is None:
            value, = values
            return value
        raise ValueError(f'mode must be tuple, dict or None, not {mode!r}')

    def convert(self, data):
        """Makes arrays of the columns that :meth:`fetch` returned.

        :meth:`with_converter` puts another function in its place. What was put together by
        :meth:`concat` or :meth:`join` converts as the first of its datasets.

        Args:
            data: A column, or a tuple or dictionary of columns. Rows that do not fit into one array
                become an array of objects.

        Returns:
            An array, or a tuple or dictionary of arrays.
        """
        if isinstance(data, tuple):
            return tuple([_as_array(column) for column in data])
        if isinstance(data, dict):
            return {key: _as_array(column) for key, column in data.items()}
        return _as_array(data)

    def astuple(self):
        """The same rows, as tuples."""
        return chainer.dataset.tabular._asmode._Astuple(self)

    def asdict(self):
        """The same rows, as dictionaries."""
        return chainer.dataset.tabular._asmode._Asdict(self)

    @property
    def slice(self):
        """Rows and columns as a dataset: ``dataset.slice[rows]`` or ``dataset.slice[rows, keys]``.

        Rows are a slice, a list of integers, or a list of booleans, one for each row. Keys are one
        key, which gives a dataset of mode ``None``, or a tuple of keys; an integer stands for the
        key at that place.

        Raises:
            IndexError: A row or the place of a key is out of range.
            KeyError: There is no such key.
            ValueError: There are more or less booleans than rows.

        .. doctest::

            >>> table = chainer.dataset.tabular.from_data((('x', [1, 2, 3]), ('y', [4, 5, 6])))
            >>> table.slice[::-1, 'y'].fetch()
            [6, 5, 4]
            >>> table.slice[[True, False, True], ('y', 'x')].fetch()
            ([4, 6], [1, 3])
        """
        return chainer.dataset.tabular._slice._SliceHelper(self)

    def join(self, *datasets):
        """The columns of this and other datasets side by side.

        Args:
            datasets: Tabular datasets with as many rows, and other keys.

        Raises:
            ValueError: The numbers of rows differ, or two columns have the same key.

        .. doctest::

            >>> table = chainer.dataset.tabular.from_data({'x': [1, 2]})
            >>> table.join(chainer.dataset.tabular.from_data({'y': [3, 4]}))[0]
            {'x': 1, 'y': 3}
        """
        return chainer.dataset.tabular._join._Join(self, *datasets)

    def concat(self, *datasets):
        """The rows of this and other datasets, one after the other.

        Args:
            datasets: Tabular datasets with the same keys.

        Raises:
            ValueError: The keys differ.

        .. doctest::

            >>> table = chainer.dataset.tabular.from_data({'x': [1, 2]})
            >>> table.concat(chainer.dataset.tabular.from_data({'x': [3]})).fetch()
            {'x': [1, 2, 3]}
        """
        return chainer.dataset.tabular._concat._Concat(self, *datasets)

    def transform(self, keys, transform):
        """Columns that a function computes, row by row.

        Args:
            keys (str or tuple of str): Keys of the new columns.
            transform (callable): Called with the values of a row: one after the other, or by
                keyword if the mode is ``dict``. Returns the new values in a tuple or dictionary, or
                the value of an only column. It must always return the same of the three.

        .. doctest::

            >>> table = chainer.dataset.tabular.from_data((('x', [1, 2]), ('y', [3, 4])))
            >>> table.transform('sum', lambda x, y: x + y).fetch()
            [4, 6]
        """
        return chainer.dataset.tabular._transform._Transform(self, keys, transform)

    def transform_batch(self, keys, transform_batch):
        """Columns that a function computes, many rows at a time.

        Args:
            keys (str or tuple of str): Keys of the new columns.
            transform_batch (callable): As for :meth:`transform`, but with lists or arrays of
                values, one for each column. Those that it returns must be as long.

        .. doctest::

            >>> import numpy as np
            >>> table = chainer.dataset.tabular.from_data(('x', np.array([1., 4.])))
            >>> table.transform_batch('root', np.sqrt).fetch()
            array([1., 2.])
        """
        return chainer.dataset.tabular._transform._TransformBatch(self, keys, transform_batch)

    def with_converter(self, converter):
        """The same rows, with another :meth:`convert`.

        Args:
            converter (callable): Called with the columns: one after the other if they are a tuple,
                by keyword if they are a dictionary, or with the only one.

        .. doctest::

            >>> table = chainer.dataset.tabular.from_data(('x', [1, 2])).with_converter(sum)
            >>> table.convert(table.fetch())
            3
        """
        return chainer.dataset.tabular._with_converter._WithConverter(self, converter)


def _as_array(data):
    """An array of a column; one of objects, where its rows are of several shapes."""
    if isinstance(data, backend.get_array_types()):
        return data
    if isinstance(data, list) and data:
        device = backend.get_device_from_array(data[0])
        if device.xp is not numpy:
            return device.xp.stack(data)
    try:
        return numpy.array(data)
    except ValueError:
        rows = numpy.empty(len(data), object)
        for i, row in enumerate(data):
            rows[i] = row
        return rows
