"""Datasets side by side."""
from chainer.dataset.tabular import tabular_dataset


class _Join(tabular_dataset.TabularDataset):

    def __init__(self, *datasets):
        if len({len(dataset) for dataset in datasets}) > 1:
            raise ValueError(
                'All datasets must have the same length, not '
                f'{", ".join([str(len(dataset)) for dataset in datasets])}')
        keys = [key for dataset in datasets for key in dataset.keys]
        if len(set(keys)) < len(keys):
            raise ValueError(f'All keys must be unique among all datasets, not {keys}')
        self._datasets = datasets

    def __len__(self):
        return len(self._datasets[0])

    @property
    def keys(self):
        return tuple([key for dataset in self._datasets for key in dataset.keys])

    @property
    def mode(self):
        mode = self._datasets[0].mode
        return tuple if mode is None and len(self.keys) > 1 else mode

    def get_examples(self, indices, key_indices):
        if key_indices is None:
            return tuple([
                column for dataset in self._datasets
                for column in dataset.get_examples(indices, None)])
        columns = {}
        offset = 0
        for dataset in self._datasets:
            n = len(dataset.keys)
            # Each column once, however often it is asked for.
            wanted = tuple(dict.fromkeys(
                [i - offset for i in key_indices if offset <= i < offset + n]))
            if wanted:
                found = dataset.get_examples(indices, wanted)
                columns.update(zip([i + offset for i in wanted], found, strict=True))
            offset += n
        return tuple([columns[i] for i in key_indices])

    def convert(self, data):
        return self._datasets[0].convert(data)
