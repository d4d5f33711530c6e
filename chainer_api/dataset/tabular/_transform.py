"""Columns that functions compute."""
from chainer.dataset.tabular import delegate_dataset

_UNKNOWN = object()


class _TransformBase(delegate_dataset._View):
    """What the two have in common: what the function gets, and what its result says.

    The mode is that of what the function returns: it is known once it was called.
    """

    _name = None

    def __init__(self, dataset, keys, function):
        super().__init__(dataset)
        self._keys = keys if isinstance(keys, tuple) else (keys,)
        self._function = function
        self._known_mode = _UNKNOWN

    @property
    def keys(self):
        return self._keys

    @property
    def mode(self):
        if self._known_mode is _UNKNOWN:
            self.get_examples([0], None)
        return self._known_mode

    def _call(self, values):
        """Calls the function; returns its values in the order of the keys."""
        if self.dataset.mode is dict:
            result = self._function(**dict(zip(self.dataset.keys, values, strict=True)))
        else:
            result = self._function(*values)
        mode = next((kind for kind in (tuple, dict) if isinstance(result, kind)), None)
        if self._known_mode is _UNKNOWN:
            self._known_mode = mode
        elif self._known_mode is not mode:
            raise ValueError(
                f'{self._name} must not change its return type: it returned '
                f'{_described(self._known_mode)} before, and now {_described(mode)}')
        return self._ordered(result, mode)

    def _ordered(self, result, mode):
        if mode is dict:
            missing = [key for key in self._keys if key not in result]
            if missing:
                raise KeyError(
                    f'{self._name} must return all of its keys; {missing[0]!r} is missing')
            return tuple([result[key] for key in self._keys])
        values = result if mode is tuple else (result,)
        if len(values) < len(self._keys):
            raise IndexError(
                f'{self._name} must return a value for each of the keys '
                f'{", ".join(map(repr, self._keys))}, but returned {len(values)}')
        return tuple(values[:len(self._keys)])


def _described(mode):
    return 'a single value' if mode is None else f'a {mode.__name__}'


def _chosen(columns, key_indices):
    return columns if key_indices is None else tuple([columns[i] for i in key_indices])


class _Transform(_TransformBase):

    _name = 'transform'

    def get_examples(self, indices, key_indices):
        columns = tuple([[] for _ in self._keys])
        for values in zip(*self.dataset.get_examples(indices, None), strict=True):
            for column, value in zip(columns, self._call(values), strict=True):
                column.append(value)
        return _chosen(columns, key_indices)


class _TransformBatch(_TransformBase):

    _name = 'transform_batch'

    def get_examples(self, indices, key_indices):
        given = self.dataset.get_examples(indices, None)
        columns = self._call(given)
        if any([len(column) != len(given[0]) for column in columns]):
            raise ValueError(
                'transform_batch must not change the length of data: it got columns of '
                f'{len(given[0])} rows and returned {", ".join([str(len(c)) for c in columns])}')
        return _chosen(columns, key_indices)
