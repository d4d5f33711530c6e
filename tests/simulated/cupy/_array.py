"""The class of arrays on the simulated device. It refuses to mix with NumPy's, as CuPy's does."""
import json
import os

import numpy as np

from . import _capture, _memory
from ._memory import Device, MemoryPointer, events

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'names.json')) as _file:
    NAMES = json.load(_file)

MIXED = ('Implicit conversion to a NumPy array is not allowed. '
         'Please use `.get()` to construct a NumPy array explicitly.')


def check_dtype(dtype):
    dtype = np.dtype(dtype)
    if dtype.char not in '?bhilqBHILQefdFD' or not dtype.isnative:
        raise ValueError(f'Unsupported dtype {dtype}')
    return dtype


class ndarray:
    """An array; ``_a`` is NumPy's view of its memory."""

    __array_priority__ = 100
    __module__ = 'cupy'

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order='C'):
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        dtype = check_dtype(dtype)
        if memptr is None:
            memptr = _memory.alloc(_span(shape, dtype, strides, order))
        self.data = memptr
        if 0 in shape:
            self._a = np.empty(shape, dtype)
        else:
            self._a = np.ndarray(shape, dtype, memptr.mem.buffer, memptr._offset, strides, order)
        self.base = None

    @property
    def device(self):
        return Device(self.data.device_id)

    shape = property(lambda self: self._a.shape, lambda self, shape: self._reshape(shape))
    dtype = property(lambda self: self._a.dtype)
    strides = property(lambda self: self._a.strides)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    nbytes = property(lambda self: self._a.nbytes)
    itemsize = property(lambda self: self._a.itemsize)
    flags = property(lambda self: self._a.flags)
    T = property(lambda self: view(self, self._a.T))
    mT = property(lambda self: view(self, self._a.mT))
    flat = property(lambda self: [view(self, x) for x in self._a.reshape(-1)])

    def _reshape(self, shape):
        self._a.shape = shape

    # Parts of complex numbers; the setters write.
    @property
    def real(self):
        return view(self, self._a.real)

    @real.setter
    @_capture.device_work
    def real(self, value):
        self._a.real = operand(value)

    @property
    def imag(self):
        return view(self, self._a.imag) if self._a.dtype.kind == 'c' else to_device(self._a.imag)

    @imag.setter
    @_capture.device_work
    def imag(self, value):
        self._a.imag = operand(value)

    @property
    def __cuda_array_interface__(self):
        return {'shape': self.shape, 'typestr': self.dtype.str, 'version': 3,
                'data': (self.data.ptr, False), 'strides': self.strides, 'stream': 1}

    # -- to and from the host

    def get(self, stream=None, order='C', out=None, blocking=True):
        _capture.refuse_in_stream(stream)
        events.append(('to host', self.nbytes))
        if out is not None:
            out[...] = self._a
            return out
        return np.array(self._a, order=order)

    def set(self, arr, stream=None):
        if not isinstance(arr, np.ndarray):
            raise TypeError(f'Only numpy.ndarray can be set to cupy.ndarray, not {type(arr)}')
        if arr.dtype != self.dtype:
            raise TypeError(f'{arr.dtype} array cannot be set to {self.dtype} array')
        if arr.shape != self.shape:
            raise ValueError(f'Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}')
        _capture.refuse_in_stream(stream)
        events.append(('to device', arr.nbytes))
        self._a[...] = arr

    def __array__(self, dtype=None, copy=None):
        raise TypeError(MIXED)

    def item(self, *args):
        return self.get().item(*args)

    def tolist(self):
        return self.get().tolist()

    def tobytes(self, order='C'):
        return self.get().tobytes(order)

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __complex__(self):
        return complex(self.get())

    def __index__(self):
        return self.get().__index__()

    def __format__(self, spec):
        return format(self.get(), spec)

    def __repr__(self):
        return repr(self._a)

    def __str__(self):
        return str(self._a)

    def __len__(self):
        return len(self._a)

    def __iter__(self):
        if not self.ndim:
            raise TypeError('iteration over a 0-d array')
        return (self[k] for k in range(len(self)))

    __hash__ = None

    def __contains__(self, item):
        return bool((self == item).any())

    def __reduce__(self):
        return _from_host, (self.get(),)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        with self.device:
            return self.copy()

    # -- items

    @_capture.device_work
    def __getitem__(self, index):
        found = self._a[unwrapped_index(index)]
        return view(self, found)

    @_capture.device_work
    def __setitem__(self, index, value):
        check_device(self)
        if isinstance(value, np.ndarray):
            raise TypeError(f'Unsupported type {type(value)}')
        self._a[unwrapped_index(index)] = operand(value)

    # -- moves

    def view(self, dtype=None, type=None):
        return view(self, self._a.view(self.dtype if dtype is None else check_dtype(dtype)))

    @_capture.device_work
    def reshape(self, *shape, order='C'):
        return view(self, self._a.reshape(*shape, order=order))

    @_capture.device_work
    def astype(self, dtype, order='K', casting=None, subok=None, copy=True):
        check_device(self)
        dtype = check_dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        with np.errstate(all='ignore'):
            return to_device(self._a.astype(dtype, order))

    @_capture.device_work
    def copy(self, order='C'):
        return to_device(self._a.copy(order))

    @_capture.device_work
    def flatten(self, order='C'):
        return to_device(self._a.flatten(order))

    @_capture.device_work
    def ravel(self, order='C'):
        return view(self, self._a.ravel(order))

    @_capture.device_work
    def fill(self, value):
        check_device(self)
        self._a.fill(operand(value).item() if isinstance(value, ndarray) else value)

    @_capture.device_work
    def scatter_add(self, slices, value):
        np.add.at(self._a, unwrapped_index(slices), operand(value))

    # -- as functions of NumPy

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        import cupy

        mine = getattr(cupy, ufunc.__name__, None)
        if mine is None or method not in ('__call__', 'reduce', 'at'):
            return NotImplemented
        if 'out' in kwargs:
            (kwargs['out'],) = kwargs['out']
        return (mine if method == '__call__' else getattr(mine, method))(*inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        import cupy

        module = cupy.linalg if 'linalg' in function.__module__ else cupy
        mine = getattr(module, function.__name__, None)
        if mine is None or function is mine:
            return NotImplemented
        return mine(*args, **kwargs)


def _from_host(array):
    return to_device(array)


def _span(shape, dtype, strides, order):
    if strides is None:
        return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    reach = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True))
    return 0 if 0 in shape else reach + dtype.itemsize


def check_device(array):
    """Whether the array is on the current device, as kernels of CuPy demand."""
    if array.data.device_id != _memory._current.device:
        raise ValueError(
            'Array device must be same as the current device: array device = '
            f'{array.data.device_id} while current = {_memory._current.device}')


def operand(x):
    """What NumPy is to compute with in the place of an operand."""
    if isinstance(x, ndarray):
        check_device(x)
        return x._a
    if isinstance(x, np.ndarray):
        raise TypeError(f'Unsupported type {type(x)}')
    return x


def unwrapped_index(index):
    if isinstance(index, tuple):
        return tuple(map(unwrapped_index, index))
    if isinstance(index, ndarray):
        if index.dtype.kind == 'b':
            _capture.refuse_in_stream()
            events.append(('to host', index.nbytes))  # how many there are decides the shape
        return operand(index)
    return index


def to_device(array):
    """A new array on the current device, of the same values and layout."""
    array = np.asarray(array)
    check_dtype(array.dtype)
    strides = np.empty_like(array, order='K').strides if array.size else None
    made = ndarray(array.shape, array.dtype, strides=strides)
    made._a[...] = array
    return made


def view(base, array):
    """What NumPy gave for an array: a view of its memory, or a new array."""
    if not isinstance(array, np.ndarray) or not _shares(array, base):
        return to_device(array)
    found = object.__new__(ndarray)
    found._a = array
    offset = array.ctypes.data - base.data.mem.ptr if array.size else base.data._offset
    found.data = MemoryPointer(base.data.mem, offset)
    found.base = base if base.base is None else base.base
    return found


def _shares(array, base):
    if not array.size:
        return base.size == 0 or np.may_share_memory(array, base._a) or array.base is not None
    return np.may_share_memory(array, base.data.mem.buffer)
