"""Several datasets side by side, as dictionaries."""


class DictDataset:
    """Dataset whose ``i``-th example maps names to the ``i``-th examples of others.

    Args:
        datasets: Datasets (anything with ``len`` and indexing) of one length, by name.

    Raises:
        ValueError: No datasets, or different lengths.

    >>> from chainer.datasets import DictDataset
    >>> points = DictDataset(x=[1, 2, 3], y=[4, 5, 6])
    >>> points[0], points[1:]
    ({'x': 1, 'y': 4}, [{'x': 2, 'y': 5}, {'x': 3, 'y': 6}])
    """

    def __init__(self, **datasets):
        if not datasets:
            raise ValueError('no datasets are given')
        self._length = None
        for name, dataset in datasets.items():
            if self._length is None:
                self._length = len(dataset)
            if len(dataset) != self._length:
                raise ValueError(
                    f'dataset length conflicts at "{name}": {len(dataset)} examples, where the '
                    f'first one has {self._length}')
        self._datasets = datasets

    def __getitem__(self, index):
        """A dictionary for an integer, a list of dictionaries for a slice.

        Any other index goes to each dataset, and the dictionary of their answers is returned.
        """
        parts = {name: dataset[index] for name, dataset in self._datasets.items()}
        if isinstance(index, slice):
            return [dict(zip(parts, example, strict=True))
                    for example in zip(*parts.values(), strict=True)]
        return parts

    def __len__(self):
        """The number of examples."""
        return self._length
