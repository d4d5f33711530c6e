"""Serialization in HDF5 format, with h5py."""
import importlib.util
import io
import os

import numpy

from chainer import backend, serializer
from chainer.backends import cuda
from chainer.serializers import _loading, _saving

# Whether h5py is installed.
_available = importlib.util.find_spec('h5py') is not None


def _h5py():
    try:
        if not _available:
            raise ImportError('h5py is not installed')
        import h5py
    except ImportError as e:
        raise RuntimeError(
            'h5py is not installed, and serialization in HDF5 format needs it. '
            'Install it with `pip install h5py`.') from e
    return h5py


class HDF5Serializer(serializer.Serializer):
    """Serializer that maps the hierarchy of an object to groups of an HDF5 file.

    Args:
        group (h5py.Group): Group to fill.
        compression (int): Level of gzip compression, or ``None`` for none.

    Raises:
        RuntimeError: h5py is not installed.
    """

    def __init__(self, group, compression=4):
        _h5py()
        self.group = group
        self.compression = compression

    def __getitem__(self, key):
        return HDF5Serializer(self.group.require_group(key.strip('/')), self.compression)

    def __call__(self, key, value):
        h5py = _h5py()
        name = key.strip('/')
        if value is None:
            self.group.create_dataset(name, data=h5py.Empty('f'))
            return value
        array = value.get() if isinstance(value, cuda.ndarray) else numpy.asarray(value)
        if array.dtype.kind == 'U':
            self.group.create_dataset(
                name, data=array.astype(object), dtype=h5py.string_dtype())
            return value
        if array.dtype.hasobject:
            raise TypeError(
                f'cannot serialize {self.group.name}/{name}: a value must be an array, a scalar, '
                f'a string or None. Actual type: {type(value)}')
        compression = None if array.size <= 1 else self.compression
        self.group.create_dataset(name, data=array, compression=compression)
        return value


class _NoGroup(KeyError, ValueError):
    """A value is missed, and the group that it would be in."""

    __str__ = ValueError.__str__


class HDF5Deserializer(serializer.Deserializer):
    """Deserializer of what :class:`HDF5Serializer` saved.

    Args:
        group (h5py.Group): Group to read.
        strict (bool): Whether a missing value is an error; it is left as it is otherwise.

    Raises:
        RuntimeError: h5py is not installed.
        KeyError: In loading, a value is missing.
        TypeError: In loading, the type of a value cannot be converted.
        ValueError: In loading, the shape of an array is another one, or a group is missing.
    """

    _undo = None
    _path = ''
    _missing = ''  # what is told where there is no group

    def __init__(self, group, strict=True):
        _h5py()
        if group is None and strict:
            raise ValueError('Inexistent group is specified')
        self.group = group
        self.strict = strict

    def __getitem__(self, key):
        name = key.strip('/')
        group = None if self.group is None else self._find(name)
        if group is not None and not isinstance(group, _h5py().Group):
            raise ValueError(f'{self._describe(name)} is a value, but a group is expected')
        child = HDF5Deserializer.__new__(HDF5Deserializer)
        child.group, child.strict, child._undo = group, self.strict, self._undo
        if group is None and self.strict:
            # Files of Chainer have no groups for what has no values: only values are missed.
            child._missing = self._missing or f'there is no group {self._describe(name)}'
        child._path = f'{self._path}{name}/'
        return child

    def __call__(self, key, value):
        name = key.strip('/')
        if self._undo is not None:
            self._undo.remember(self._path + name, value)
        dataset = None if self.group is None else self._find(name)
        if dataset is None and not self.strict:
            return value
        if self._missing:
            raise _NoGroup(self._missing)
        where = self._describe(name)
        if dataset is None:
            raise KeyError(f'there is no {where}')
        self._check_dataset(dataset, where)
        if dataset.shape is None:
            return None
        if isinstance(value, backend.get_array_types()):
            _loading.check_shape(dataset.shape, value, where)
            _loading.check_cast(dataset.dtype, value, where)
            return _loading.fill(value, _read(dataset, where), self._undo)
        data = _read(dataset, where)
        if value is None:
            return data
        if isinstance(value, (str, bytes, list, tuple)):
            return _loading.as_scalar(value, data, where)
        _loading.check_single(value, data, where)
        try:
            return type(value)(data.item())
        except (TypeError, ValueError) as e:
            kind = TypeError if isinstance(e, TypeError) else ValueError
            raise kind(f'{where} cannot be loaded as {type(value).__name__}: {e}') from e

    def _describe(self, key):
        name = key.strip('/')
        return f"'{self.group.name.rstrip('/')}/{name}' in {self.group.file.filename}"

    def _find(self, name):
        """The group or data set of a name, or ``None``."""
        # A link to another file could bring in anything that the reader may read.
        try:
            link = self.group.get(name, getlink=True)
            if isinstance(link, _h5py().ExternalLink):
                raise ValueError(
                    f'{self._describe(name)} is a link to another file, which is not followed')
            return None if link is None else self.group[name]
        except (KeyError, OSError, RuntimeError) as e:
            raise OSError(
                f'cannot read {self._describe(name)}, the file is damaged or the name is a link '
                f'that leads nowhere: {e.args[0] if e.args else e}') from e

    @staticmethod
    def _check_dataset(dataset, where):
        if not isinstance(dataset, _h5py().Dataset):
            raise ValueError(f'{where} is a group, but a value is expected')
        if dataset.external or dataset.is_virtual:
            raise ValueError(f'the data of {where} are in another file, which is not read')


def _read(dataset, where):
    h5py = _h5py()
    try:
        if h5py.check_string_dtype(dataset.dtype) is not None and dataset.dtype.hasobject:
            return numpy.asarray(dataset.asstr()[()], dtype=str)
        return numpy.asarray(dataset[()])
    except OSError as e:
        raise OSError(f'cannot read {where}, the file is damaged: {e}') from e
    except MemoryError as e:
        raise MemoryError(f'{where} does not fit into memory: {e}') from e


def save_hdf5(filename, obj, compression=4):
    """Saves an object to a file in HDF5 format.

    A named file is written anew beside the old one, which it replaces at the end: after a failure
    the old file is there unchanged.

    Args:
        filename (str, path or file-like): File to write.
        obj: Object to save, with a method ``serialize``, or a dictionary of arrays.
        compression (int): Level of gzip compression, or ``None`` for none.

    Raises:
        RuntimeError: h5py is not installed.
        TypeError: A value cannot be saved.

    Example:
        >>> import io, chainer
        >>> f = io.BytesIO()
        >>> chainer.serializers.save_hdf5(f, chainer.Link(W=(2, 3)))  # doctest: +SKIP
    """
    h5py = _h5py()
    if hasattr(filename, 'write'):
        with h5py.File(filename, 'w') as f:
            _saving.save_into(HDF5Serializer(f, compression), obj)
        return
    with _saving.replacing(filename) as path:
        _write(path, obj, compression)


def _write(path, obj, compression):
    with open(path, 'w+b', buffering=0) as file:
        disk = _Disk(file)
        try:
            with _h5py().File(disk, 'w') as f:
                _saving.save_into(HDF5Serializer(f, compression), obj)
        finally:
            if disk.error is not None:
                raise disk.error


class _Disk(io.RawIOBase):
    """A file that takes everything, and remembers the first error of the system.

    The HDF5 library cannot let go of a file that does not take what it still holds: it complains
    on standard error, more than once, and may end the process. So it never learns of an error.

    Args:
        file: The file, unbuffered and open for reading and writing.

    Attributes:
        error (OSError): What went wrong first, or ``None``. Nothing is written from then on.
    """

    def __init__(self, file):
        self._file = file
        self.error = None

    def _try(self, action, *args):
        if self.error is None:
            try:
                action(*args)
            except OSError as error:
                self.error = error

    def _write_all(self, data):
        data = memoryview(data).cast('B')
        while data:
            data = data[self._file.write(data):]

    def write(self, data):
        self._try(self._write_all, data)
        return len(data)

    def truncate(self, size=None):
        self._try(self._file.truncate, size)
        return size

    def seek(self, offset, whence=os.SEEK_SET):
        return self._file.seek(offset, whence)

    def tell(self):
        return self._file.tell()

    def readinto(self, buffer):
        return self._file.readinto(buffer)


def load_hdf5(filename, obj):
    """Loads an object from a file in HDF5 format.

    Either everything is loaded or, after an error, nothing: the object is as it was before.

    Args:
        filename (str, path or file-like): File to read.
        obj: Object to load, with a method ``serialize``.

    Raises:
        RuntimeError: h5py is not installed.
        KeyError: A value is missing.
        OSError: There is no such file, it is not an HDF5 file, or it is damaged.
        TypeError: The type of a value cannot be converted.
        ValueError: The shape of an array is another one, or a group is missing.
    """
    h5py = _h5py()
    name = filename if hasattr(filename, 'read') else os.fsdecode(filename)
    try:
        file = h5py.File(name, 'r')
    except FileNotFoundError:
        raise
    except OSError as e:
        raise OSError(f'{name} is not an HDF5 file, or it is damaged: {e}') from e
    with file:
        _loading.load(HDF5Deserializer(file), obj)
