"""Datasets one after the other."""
import bisect
import itertools

from chainer.dataset.tabular import _slice, tabular_dataset


class _Concat(tabular_dataset.TabularDataset):

    def __init__(self, *datasets):
        if len({tuple(dataset.keys) for dataset in datasets}) > 1:
            raise ValueError(
                'All datasets must have the same keys, not '
                f'{", ".join([str(dataset.keys) for dataset in datasets])}')
        self._datasets = datasets

    def __len__(self):
        return sum([len(dataset) for dataset in self._datasets])

    @property
    def keys(self):
        return self._datasets[0].keys

    @property
    def mode(self):
        return self._datasets[0].mode

    def get_examples(self, indices, key_indices):
        if indices is None:
            return self._gather([(dataset, None) for dataset in self._datasets], key_indices)
        if isinstance(indices, slice):
            parts = self._parts_of_range(range(len(self))[indices])
        else:
            indices = _slice._as_indices(indices, len(self))
            parts = self._parts_of_list(indices)
        if len(parts) == 1:
            (dataset, part), = parts
            return dataset.get_examples(part, key_indices)
        if isinstance(indices, slice):
            return self._gather(parts, key_indices)
        return self._interleave(parts, indices, key_indices)

    def _borders(self):
        ends = list(itertools.accumulate([len(dataset) for dataset in self._datasets]))
        return zip(self._datasets, [0, *ends], ends, strict=False)

    def _parts_of_range(self, rows):
        upwards = rows if rows.step > 0 else rows[::-1]
        parts = []
        for dataset, start, end in self._borders():
            part = upwards[bisect.bisect_left(upwards, start):bisect.bisect_left(upwards, end)]
            if not part:
                continue
            part = range(part.start - start, part.stop - start, part.step)
            parts.append((dataset, _slice._as_slice(part if rows.step > 0 else part[::-1])))
        return parts if rows.step > 0 else parts[::-1]

    def _parts_of_list(self, rows):
        parts = [(dataset, [i - start for i in rows if start <= i < end])
                 for dataset, start, end in self._borders()]
        return [(dataset, part) for dataset, part in parts if part]

    def _gather(self, parts, key_indices):
        columns = [[] for _ in (self.keys if key_indices is None else key_indices)]
        for dataset, part in parts:
            for column, more in zip(
                    columns, dataset.get_examples(part, key_indices), strict=True):
                column.extend(more)
        return tuple(columns)

    def _interleave(self, parts, rows, key_indices):
        """Reads each part at once, and puts the rows into the order that was asked for."""
        columns = self._gather(parts, key_indices)
        found = [i for _, start, end in self._borders() for i, row in enumerate(rows)
                 if start <= row < end]
        places = sorted(range(len(found)), key=found.__getitem__)
        return tuple([[column[i] for i in places] for column in columns])

    def convert(self, data):
        return self._datasets[0].convert(data)
