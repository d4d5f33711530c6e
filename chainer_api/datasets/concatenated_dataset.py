"""Several datasets one after the other."""
from chainer.dataset import dataset_mixin


class ConcatenatedDataset(dataset_mixin.DatasetMixin):
    """Dataset that holds the examples of the first dataset, then those of the second, and so on.

    Args:
        datasets: Datasets (anything with ``len`` and indexing).

    >>> from chainer.datasets import ConcatenatedDataset
    >>> numbers = ConcatenatedDataset([1, 2, 3], [40, 50])
    >>> len(numbers), numbers[3], numbers[1:4]
    (5, 40, [2, 3, 40])
    """

    def __init__(self, *datasets):
        self._datasets = datasets

    def __len__(self):
        """The number of examples of all datasets together."""
        return sum(map(len, self._datasets))

    def get_example(self, i):
        """The ``i``-th example; raises ``IndexError`` unless ``0 <= i < len(self)``."""
        position = i
        if position >= 0:
            for dataset in self._datasets:
                if position < len(dataset):
                    return dataset[position]
                position -= len(dataset)
        raise IndexError(f'index {i} of a ConcatenatedDataset of {len(self)} examples')
