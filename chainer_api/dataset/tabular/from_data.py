"""Datasets of lists, arrays and functions."""
from chainer import backend
from chainer.dataset.tabular import _slice, tabular_dataset


class _Column(tabular_dataset.TabularDataset):
    """A dataset with one column."""

    def __init__(self, data, key):
        self._data = data
        self._key = key

    def __len__(self):
        return len(self._data)

    @property
    def keys(self):
        return self._key,

    @property
    def mode(self):
        return None

    def get_examples(self, indices, key_indices):
        column = self._data if indices is None else self._read(indices)
        return (column,) * (1 if key_indices is None else len(key_indices))

    def _read(self, indices):
        raise NotImplementedError


class _Array(_Column):

    def _read(self, indices):
        return self._data[indices]


class _List(_Column):

    def _read(self, indices):
        if isinstance(indices, slice):
            return self._data[indices]
        return [self._data[i] for i in indices]


class _Index(_List):
    """The numbers of the rows."""

    def __init__(self, size):
        super().__init__(range(size), 'index')

    def _read(self, indices):
        return super()._read(
            indices if isinstance(indices, slice) else _slice._as_indices(indices, len(self)))


def from_data(data, *, size=None):
    """Makes a tabular dataset of lists, arrays and functions.

    A column is one of

    * a list or array, which gets a key that is not used elsewhere, or a pair ``(key, list)``;
    * a pair ``(key, function)``: the function is called with the number of a row;
    * a pair ``((key, key, ...), function)``: the function returns a tuple of so many values, or a
      dictionary with these keys.

    Args:
        data: A column, for a dataset of mode ``None`` (or that of what the function returns); a
            tuple of columns, for mode ``tuple``; or a dictionary of lists, arrays and functions by
            key, for mode ``dict``.
        size (int): The number of rows that functions are called for; that of the lists and arrays
            if there are any.

    Returns:
        TabularDataset: The dataset.

    Raises:
        ValueError: Lengths or keys do not fit, a function has no key, or there are only functions
            and no ``size``.
        TypeError: Something is no column.

    .. doctest::

        >>> import numpy as np
        >>> from chainer.dataset import tabular
        >>> tabular.from_data((('x', np.arange(3)), ('even', lambda i: i % 2 == 0))).fetch()
        (array([0, 1, 2]), [True, False, True])
        >>> tabular.from_data((('i', 'j'), lambda i: (i, -i)), size=2).fetch()
        ([0, 1], [0, -1])
    """
    if isinstance(data, tuple) and not _is_pair(data):
        columns = [column if _is_pair(column) else (None, column) for column in data]
        return _joined(columns, size).astuple()
    if isinstance(data, dict):
        return _joined(list(data.items()), size).asdict()
    return _make_dataset(*(data if _is_pair(data) else (None, data)), size)


def _is_pair(column):
    """Whether it is a pair of a key and a column (a tuple of two columns is none)."""
    if not isinstance(column, tuple) or len(column) != 2:
        return False
    key, data = column
    if isinstance(key, str):
        return True
    return isinstance(key, tuple) and (callable(data) or all([isinstance(k, str) for k in key]))


def _joined(columns, size):
    if not columns:
        raise ValueError('data must have at least one column')
    if size is None:
        size = next((len(data) for _, data in columns if _is_plain(data)), None)
    first, *others = [_make_dataset(key, data, size) for key, data in columns]
    return first.join(*others)


def _is_plain(data):
    return isinstance(data, (list, *backend.get_array_types()))


def _make_dataset(key, data, size):
    if _is_plain(data):
        key = f'_{id(data)}' if key is None else key
        return (_List if isinstance(data, list) else _Array)(data, key)
    if not callable(data):
        raise TypeError(
            f'a column must be a list, an array or a function, not {type(data).__name__}')
    if key is None:
        raise ValueError('key(s) must be specified for callable: write (key, function)')
    if size is None:
        raise ValueError('size must be specified for callable: from_data(..., size=n)')
    return _Index(size).transform(key, data)
