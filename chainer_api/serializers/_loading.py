"""What the deserializers share: checked conversion, and loading all or nothing."""
import numpy

from chainer import backend, serializer


def check_shape(shape, value, where):
    """Raises ValueError unless data of this shape can fill the array ``value``."""
    size = numpy.prod(shape, dtype=object)
    if size == value.size and (shape == value.shape or _broadcasts(shape, value.shape)):
        return
    raise ValueError(
        f'{where} has shape {shape}, but the array to be loaded has shape {value.shape}')


def _broadcasts(shape, to):
    try:
        return numpy.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def check_cast(dtype, value, where):
    """Raises TypeError unless data of this type can fill the array ``value``."""
    if not numpy.can_cast(dtype, value.dtype, 'same_kind'):
        raise TypeError(
            f'{where} has dtype {dtype}, which cannot be loaded into an array of dtype '
            f'{value.dtype}')


def as_scalar(value, data, where):
    """Converts a loaded array to the type of the scalar, string or sequence ``value``."""
    kind = type(value)
    if isinstance(value, (list, tuple)):
        return kind(data.tolist())
    check_single(value, data, where)
    if isinstance(value, (bool, int, float, complex, numpy.generic)) and \
            not numpy.can_cast(data.dtype, kind, 'safe'):
        raise TypeError(
            f'{where} has dtype {data.dtype}, which cannot be loaded safely as {kind.__name__}')
    return kind(data.item())


def check_single(value, data, where):
    """Raises ValueError unless a loaded array is a single number, as ``value`` is."""
    if data.size != 1:
        raise ValueError(
            f'{where} has shape {data.shape}, but a single {type(value).__name__} is expected')


class Undo:
    """What brings an object back to the state before a load that failed."""

    def __init__(self, obj):
        self._obj = obj
        self._arrays = []
        self._values = {}
        self._uninitialized = [
            param for param in _params_of(obj) if param.array is None]

    def remember(self, key, value):
        """Keeps what the object has under a key."""
        self._values[key] = value

    def remember_contents(self, array):
        """Keeps the contents of an array that is to be overwritten."""
        self._arrays.append((array, array.copy()))

    def roll_back(self):
        """Brings everything back."""
        for array, contents in reversed(self._arrays):
            array[...] = contents
        try:
            self._obj.serialize(_OldValues(self._values))
        except Exception:  # the error that is being handled matters more
            pass
        for param in self._uninitialized:
            if param.array is not None:
                param.array = None


def _params_of(obj):
    """All parameters of the links that an object saves and loads, as far as it is a known one."""
    from chainer import link, training
    if isinstance(obj, training.Trainer):
        obj = obj.updater
    if isinstance(obj, training.Updater):
        targets = [optimizer.target for optimizer in obj.get_all_optimizers().values()]
    else:
        targets = [obj]
    return [param for target in targets if isinstance(target, link.Link)
            for param in target.params()]


class _OldValues(serializer.Deserializer):
    """Deserializer of the values that :class:`Undo` kept; others stay as they are."""

    def __init__(self, found, path=''):
        self._found = found
        self._path = path

    def __getitem__(self, key):
        return _OldValues(self._found, f'{self._path}{key.strip("/")}/')

    def __call__(self, key, value):
        return self._found.get(self._path + key.lstrip('/'), value)


def load(deserializer, obj):
    """Loads an object wholly, or leaves it as it was and raises the error."""
    undo = deserializer._undo = Undo(obj)
    try:
        deserializer.load(obj)
    except BaseException:
        undo.roll_back()
        raise


def fill(value, data, undo):
    """Overwrites the array ``value``."""
    if undo is not None:
        undo.remember_contents(value)
    backend.copyto(value, data)
    return value
