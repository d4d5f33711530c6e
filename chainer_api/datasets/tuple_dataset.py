"""Several datasets side by side, as tuples."""


class TupleDataset:
    """Dataset whose ``i``-th example is the tuple of the ``i``-th examples of others.

    Args:
        datasets: Datasets (anything with ``len`` and indexing) of one length.

    Raises:
        ValueError: No datasets, or different lengths.

    >>> from chainer.datasets import TupleDataset
    >>> pairs = TupleDataset([8, 0, 5, 1], ['a', 'b', 'c', 'd'])
    >>> pairs[1], pairs[2:], len(pairs)
    ((0, 'b'), [(5, 'c'), (1, 'd')], 4)
    """

    def __init__(self, *datasets):
        if not datasets:
            raise ValueError('no datasets are given')
        self._length = len(datasets[0])
        for i, dataset in enumerate(datasets):
            if len(dataset) != self._length:
                raise ValueError(
                    f'dataset of the index {i} has a wrong length: {len(dataset)} examples, where '
                    f'the first one has {self._length}')
        self._datasets = datasets

    def __getitem__(self, index):
        """A tuple for an integer, a list of tuples for a slice.

        Any other index goes to each dataset, and the tuple of their answers is returned.
        """
        parts = [dataset[index] for dataset in self._datasets]
        if isinstance(index, slice):
            return list(zip(*parts, strict=True))
        return tuple(parts)

    def __len__(self):
        """The number of examples."""
        return self._length
