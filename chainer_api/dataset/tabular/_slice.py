"""Some rows and columns of a dataset.

Rows are kept, and handed on, as a slice where they are one: what lies below can take a view then.
"""
import collections.abc
import numbers
import operator

import numpy

from chainer.dataset.tabular import delegate_dataset


class _SliceHelper:
    """What ``dataset.slice`` is: something to index."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __getitem__(self, args):
        if not isinstance(args, tuple):
            return _Slice(self._dataset, args, None)
        if len(args) != 2:
            raise ValueError(
                f'slice[...] takes rows, or rows and keys; it got {len(args)} arguments. Several '
                'keys are a tuple: slice[rows, (key, key)]')
        return _Slice(self._dataset, *args)


class _Slice(delegate_dataset._View):

    def __init__(self, dataset, indices, keys):
        super().__init__(dataset)
        self._indices = _as_indices(indices, len(dataset))
        names = dataset.keys
        if keys is None:
            self._key_indices, self._mode = None, dataset.mode
        elif isinstance(keys, tuple):
            self._key_indices, self._mode = _as_key_indices(keys, names), dataset.mode or tuple
        else:
            self._key_indices, self._mode = _as_key_indices((keys,), names), None

    def __len__(self):
        return len(_rows(self._indices, len(self.dataset)))

    @property
    def keys(self):
        names = self.dataset.keys
        if self._key_indices is None:
            return names
        return tuple([names[i] for i in self._key_indices])

    @property
    def mode(self):
        return self._mode

    def get_examples(self, indices, key_indices):
        if self._key_indices is not None:
            key_indices = self._key_indices if key_indices is None else tuple(
                [self._key_indices[i] for i in key_indices])
        return self.dataset.get_examples(
            _merge_indices(self._indices, indices, len(self.dataset)), key_indices)


def _as_indices(indices, size):
    """Checks the rows that somebody asks for; returns a slice or a list of integers >= 0."""
    if isinstance(indices, slice):
        range(size)[indices]  # a slice of other things than integers is an error here
        return indices
    if isinstance(indices, (numbers.Integral, str)) or not hasattr(indices, '__len__'):
        raise TypeError(
            'rows must be a slice or a list of integers or booleans, not '
            f'{type(indices).__name__}; one row is dataset[i], or slice[[i]]')
    if len(indices) and all([isinstance(i, (bool, numpy.bool_)) for i in indices]):
        if len(indices) != size:
            raise ValueError(
                'The number of booleans is different from the length of dataset: '
                f'{len(indices)} != {size}')
        return [i for i, chosen in enumerate(indices) if chosen]
    return [_as_index(operator.index(i), size) for i in indices]


def _as_index(i, size):
    if not -size <= i < size:
        raise IndexError(f'index {i} is out of bounds for dataset with size {size}')
    return i + size if i < 0 else i


def _as_key_indices(keys, names):
    return tuple([_as_key_index(key, names) for key in keys])


def _as_key_index(key, names):
    if isinstance(key, numbers.Integral):
        if not -len(names) <= key < len(names):
            raise IndexError(f'index {key} is out of bounds for keys with size {len(names)}')
        return int(key) % len(names)
    if isinstance(key, collections.abc.Hashable) and key in names:
        return names.index(key)
    raise KeyError(f'{key!r} does not exist; the keys are {", ".join(map(repr, names))}')


def _rows(indices, size):
    """The rows that a slice or list stands for, as a range or list."""
    return range(size)[indices] if isinstance(indices, slice) else indices


def _merge_indices(indices, more, size):
    """The rows ``more`` of the rows ``indices`` of a dataset of ``size``."""
    if more is None:
        return indices
    rows = _rows(indices, size)
    if not isinstance(more, slice):
        return [rows[i] for i in _as_indices(more, len(rows))]
    return _as_slice(rows[more]) if isinstance(rows, range) else rows[more]


def _as_slice(rows):
    """A slice that gives the numbers of a range, which must not be negative."""
    return slice(rows.start, rows.stop if rows.stop >= 0 else None, rows.step) if rows else (
        slice(0, 0, 1))
