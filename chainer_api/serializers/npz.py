"""Serialization in NumPy's NPZ format."""
import io
import math
import os
import pickle
import zipfile
import zlib

import numpy

from chainer import backend, serializer
from chainer.backends import cuda
from chainer.serializers import _loading, _saving

_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError,
            UnicodeDecodeError)

# How NumPy pickles None as an array, under the module name that every NumPy knows.
_PICKLED_NONE = pickle.dumps(numpy.asarray(None), 2).replace(b'numpy._core.', b'numpy.core.')


class DictionarySerializer(serializer.Serializer):
    """Serializer that puts all values into one flat dict, under their paths.

    It writes no file; :func:`save_npz` does.

    Args:
        target (dict): Dict to fill. The default is a new one.
        path (str): Start of all keys.

    Attributes:
        target (dict): The dict, of NumPy arrays.

    Example:
        >>> import chainer
        >>> s = chainer.serializers.DictionarySerializer()
        >>> s.save(chainer.Chain(a=chainer.Link(W=(2, 3)), b=chainer.Link(W=2)))
        >>> sorted(s.target)
        ['a/W', 'b/W']
    """

    def __init__(self, target=None, path=''):
        self.target = {} if target is None else target
        self.path = path

    def __getitem__(self, key):
        return DictionarySerializer(self.target, f'{self.path}{key.strip("/")}/')

    def __call__(self, key, value):
        key = self.path + key.lstrip('/')
        array = value.get() if isinstance(value, cuda.ndarray) else numpy.asarray(value)
        if array.dtype.hasobject and not isinstance(value, numpy.ndarray) and value is not None:
            raise TypeError(
                f'cannot serialize {key}: a value must be an array, a scalar, a string or None. '
                f'Actual type: {type(value)}')
        self.target[key] = array
        return value


class NpzDeserializer(serializer.Deserializer):
    """Deserializer of what :func:`save_npz` or :class:`DictionarySerializer` saved.

    Args:
        npz: What ``numpy.load`` returned for an npz file, or a dict of arrays.
        path (str): Start of all keys.
        strict (bool): Whether a missing value is an error; it is left as it is otherwise.
        ignore_names (str, callable, or list of them): Values not to load: keys, and functions that
            take a key and tell whether to ignore it.

    Raises:
        KeyError: In loading, a value is missing.
        TypeError: In loading, the type of a value cannot be converted.
        ValueError: In loading, the shape of an array is another one, or a value would have
            to be unpickled.

    Example:
        >>> import numpy as np, chainer
        >>> d = chainer.serializers.NpzDeserializer({'a/x': np.array(3)}, path='a/')
        >>> d('x', 0)
        3
    """

    _undo = None

    def __init__(self, npz, path='', strict=True, ignore_names=None):
        self.npz = npz
        self.path = path
        self.strict = strict
        if ignore_names is None:
            ignore_names = []
        self.ignore_names = ignore_names
        self._ignored = _predicates(ignore_names)
        self._archive = npz
        if isinstance(npz, numpy.lib.npyio.NpzFile):
            self._archive = _Archive(npz.zip, npz.allow_pickle)

    def __getitem__(self, key):
        child = NpzDeserializer(
            self.npz, f'{self.path}{key.strip("/")}/', self.strict, self.ignore_names)
        child._archive = self._archive
        child._undo = self._undo
        return child

    def _describe(self, key):
        key = self.path + key.lstrip('/')
        return self._archive.describe(key) if isinstance(self._archive, _Archive) else repr(key)

    def __call__(self, key, value):
        where = self._describe(key)
        key = self.path + key.lstrip('/')
        if self._undo is not None:
            self._undo.remember(key, value)
        archive = self._archive
        if not self.strict and key not in archive:
            return value
        if any(ignored(key) for ignored in self._ignored):
            return value

        if isinstance(archive, _Archive):
            archive.check(key, value)
        data = numpy.asarray(archive[key])
        if data.dtype.hasobject and data.ndim == 0 and data.item() is None:
            return None
        if value is None:
            return data
        if isinstance(value, backend.get_array_types()):
            _loading.check_shape(data.shape, value, where)
            _loading.check_cast(data.dtype, value, where)
            return _loading.fill(value, data, self._undo)
        return _loading.as_scalar(value, data, where)


def _predicates(ignore_names):
    if not isinstance(ignore_names, (list, tuple)):
        ignore_names = [ignore_names]
    return [_predicate(name) for name in ignore_names]


def _predicate(name):
    if isinstance(name, str):
        return name.__eq__
    if callable(name):
        return name
    raise ValueError('ignore_names needs to be a callable, string or list of them.')


class _Archive:
    """Mapping of keys to the arrays in an npz file, each read when it is asked for.

    It unpickles nothing but ``None`` unless it is told to, and looks at shapes before it reads.
    """

    def __init__(self, file, allow_pickle):
        self._zip = file
        self._name = file.filename or 'the npz file'
        self._allow_pickle = allow_pickle
        self._entries = {name.removesuffix('.npy'): name for name in file.namelist()}

    def __contains__(self, key):
        return key in self._entries

    def describe(self, key):
        """Names an entry in messages."""
        return f"'{key}' in {self._name}"

    def check(self, key, value):
        """Raises an error if the entry is missing, or too large to be loaded into ``value``."""
        with self._open(key) as f:
            shape, dtype = self._read_header(key, f)
        if dtype.hasobject or value is None or isinstance(value, (list, tuple)):
            return
        if isinstance(value, backend.get_array_types()):
            _loading.check_shape(shape, value, self.describe(key))
        elif math.prod(shape) != 1:
            raise ValueError(
                f'{self.describe(key)} has shape {shape}, but a single '
                f'{type(value).__name__} is expected')

    def __getitem__(self, key):
        with self._open(key) as f:
            shape, dtype = self._read_header(key, f)
            if dtype.hasobject and not self._allow_pickle:
                return self._read_none(key, f)
        if math.prod(shape) * dtype.itemsize > self._zip.getinfo(self._entries[key]).file_size:
            raise self._damaged(key, f'it is too short for shape {shape}')
        with self._open(key) as f:
            try:
                array = numpy.lib.format.read_array(f, allow_pickle=self._allow_pickle)
                f.read(1)  # at the end of an entry zipfile compares the checksum
            except (*_DAMAGES, ValueError) as e:
                raise self._damaged(key, e) from e
        return array

    def _open(self, key):
        if key not in self._entries:
            raise KeyError(f'there is no {self.describe(key)}')
        try:
            return self._zip.open(self._entries[key])
        except _DAMAGES as e:
            raise self._damaged(key, e) from e

    def _read_header(self, key, f):
        try:
            version = numpy.lib.format.read_magic(f)
            # Version 3.0 differs from 2.0 in the encoding of field names only.
            read = (numpy.lib.format.read_array_header_1_0 if version == (1, 0)
                    else numpy.lib.format.read_array_header_2_0)
            shape, _, dtype = read(f)
        except (*_DAMAGES, ValueError) as e:
            raise self._damaged(key, e) from e
        return shape, dtype

    def _read_none(self, key, f):
        pickled = f.read(1024)
        if not _is_pickled_none(pickled):
            raise ValueError(
                f'{self.describe(key)} is a pickled Python object, and loading such an object can '
                'run any code. Pass allow_pickle=True to load_npz if you trust the file.')
        return None

    def _damaged(self, key, error):
        return OSError(f'cannot read {self.describe(key)}, the file is damaged: {error}')


class _NoneUnpickler(pickle.Unpickler):
    """Unpickler of NumPy's array of ``None``: in place of NumPy's objects it makes dummies."""

    class Dummy:
        state = None

        def __init__(self, *args):
            pass

        def __setstate__(self, state):
            self.state = state

    _KNOWN = frozenset(
        (module, name) for module in ('numpy', 'numpy.core.multiarray', 'numpy._core.multiarray')
        for name in ('ndarray', 'dtype', '_reconstruct'))

    def find_class(self, module, name):
        if module == '_codecs' and name == 'encode':
            return lambda text, encoding: b''
        if (module, name) not in self._KNOWN:
            raise pickle.UnpicklingError(f'{module}.{name} is not part of an array of None')
        return self.Dummy


def _is_pickled_none(pickled):
    try:
        array = _NoneUnpickler(io.BytesIO(pickled)).load()
    except Exception:
        return False
    state = getattr(array, 'state', None)
    return isinstance(state, tuple) and len(state) == 5 and state[1] == () and state[4] == [None]


def save_npz(file, obj, compression=True):
    """Saves an object to a file in NPZ format.

    A named file is written anew beside the old one, which it replaces at the end: after a failure
    the old file is there unchanged.

    Args:
        file (str, path or file-like): File to write. No extension is added to its name.
        obj: Object to save, with a method ``serialize``, or a dictionary of arrays.
        compression (bool): Whether to compress the arrays.

    Raises:
        TypeError: A value cannot be saved.

    Example:
        >>> import io, chainer
        >>> f = io.BytesIO()
        >>> chainer.serializers.save_npz(f, chainer.Link(W=(2, 3)))
    """
    target = serialize(obj)
    if hasattr(file, 'write'):
        _write(file, target, compression)
        return
    with _saving.replacing(file) as path, open(path, 'wb') as f:
        _write(f, target, compression)


def serialize(obj):
    """Returns the dict in which :class:`DictionarySerializer` puts an object."""
    s = DictionarySerializer()
    _saving.save_into(s, obj)
    return s.target


def _write(file, target, compression):
    method = zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, 'w', method, allowZip64=True) as archive:
        for key, array in target.items():
            with archive.open(key + '.npy', 'w', force_zip64=True) as f:
                if array.dtype.hasobject and array.ndim == 0 and array.item() is None:
                    header = numpy.lib.format.header_data_from_array_1_0(array)
                    numpy.lib.format.write_array_header_1_0(f, header)
                    f.write(_PICKLED_NONE)
                else:
                    numpy.lib.format.write_array(f, array)


def load_npz(file, obj, path='', strict=True, ignore_names=None, allow_pickle=False):
    """Loads an object from a file in NPZ format.

    Either everything is loaded or, after an error, nothing: the object is as it was before.

    Args:
        file (str, path or file-like): File to read.
        obj: Object to load, with a method ``serialize``.
        path (str): Start of the keys to load, such as ``'updater/model:main/'`` for the model in a
            snapshot of a trainer.
        strict (bool): Whether a missing value is an error; it is left as it is otherwise.
        ignore_names (str, callable, or list of them): Values not to load: keys, and functions that
            take a key and tell whether to ignore it.
        allow_pickle (bool): Whether to unpickle Python objects in the file. A pickle can run any
            code, so only files that you trust may be loaded so.

    Raises:
        KeyError: A value is missing.
        OSError: There is no such file, it is not an npz file, or it is damaged.
        TypeError: The type of a value cannot be converted.
        ValueError: The shape of an array is another one, or a value would have to be unpickled.

    Example:
        >>> import io, chainer
        >>> f = io.BytesIO()
        >>> chainer.serializers.save_npz(f, chainer.Link(W=(2, 3)))
        >>> chainer.serializers.load_npz(f, chainer.Link(W=(2, 3)))
    """
    with _open(file) as archive:
        deserializer = NpzDeserializer(
            _Archive(archive, allow_pickle), path, strict, ignore_names)
        _loading.load(deserializer, obj)


def _open(file):
    if not hasattr(file, 'read'):
        file = os.fsdecode(file)
    try:
        return zipfile.ZipFile(file)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except _DAMAGES as e:
        name = file if isinstance(file, str) else getattr(file, 'name', 'the given file')
        raise OSError(f'{name} is not an npz file, or it is truncated or damaged: {e}') from e


def is_whole(file):
    """Return whether a file is there, in NPZ format, and nothing in it is damaged.

    Args:
        file (str, path or file-like): File to read.
    """
    try:
        with _open(file) as archive:
            return archive.testzip() is None
    except _DAMAGES:
        return False
