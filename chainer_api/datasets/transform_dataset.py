"""A dataset with a function applied to each example."""
from chainer.dataset import dataset_mixin


class TransformDataset(dataset_mixin.DatasetMixin):
    """Dataset whose examples are made from those of another by a function.

    Args:
        dataset: Dataset with ``len`` and integer indexing.
        transform: Called with an example of ``dataset`` whenever one is read; what it returns is
            the example. It must not write into what it is given, which is often the dataset's own
            memory.

    >>> from chainer.datasets import TransformDataset
    >>> halves = TransformDataset([2, 4, 6], lambda x: x / 2)
    >>> halves[1], halves[:]
    (2.0, [1.0, 2.0, 3.0])
    """

    def __init__(self, dataset, transform):
        self._dataset = dataset
        self._transform = transform

    def __len__(self):
        """The number of examples."""
        return len(self._dataset)

    def get_example(self, i):
        """The transformed ``i``-th example."""
        return self._transform(self._dataset[i])
