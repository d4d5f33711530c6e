"""Datasets that hand everything on to another one."""
from chainer.dataset.tabular import tabular_dataset


class DelegateDataset(tabular_dataset.TabularDataset):
    """A dataset with the rows of another one: a base for datasets that are put together from the
    methods of others.

    :meth:`convert` is that of :class:`TabularDataset`, not that of the other dataset.

    Args:
        dataset (TabularDataset): The dataset that does the work; attribute :attr:`dataset`.

    .. doctest::

        >>> from chainer.dataset import tabular
        >>> class Squares(tabular.DelegateDataset):
        ...     def __init__(self, n):
        ...         super().__init__(tabular.from_data(('square', lambda i: i * i), size=n))
        >>> Squares(4).fetch()
        [0, 1, 4, 9]
    """

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    @property
    def keys(self):
        """The keys of the columns."""
        return self.dataset.keys

    @property
    def mode(self):
        """What an example is: ``tuple``, ``dict`` or ``None``."""
        return self.dataset.mode

    def get_examples(self, indices, key_indices):
        """Reads rows of columns, see :meth:`TabularDataset.get_examples`."""
        return self.dataset.get_examples(indices, key_indices)


class _View(DelegateDataset):
    """What the methods of a dataset return: it converts as that dataset does."""

    def convert(self, data):
        return self.dataset.convert(data)
