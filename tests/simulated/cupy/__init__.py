"""A stand-in for CuPy without a GPU, on memory of the host.

Put ``tests/simulated`` on the path, and ``import cupy`` finds it: Chainer then sees a machine with
two GPUs. It has the names and signatures of CuPy 14 (``names.json`` was recorded from 14.2.0) and
no others, arrays of a class of their own that refuse to mix with NumPy's, streams, devices and
pools, and runs the text of CUDA kernels through a C++ compiler. What it says nothing about: speed,
the real functions' last bits, and whether a GPU takes the text (NVRTC is asked for that).
"""
import contextlib
import functools

import numpy as np

from . import _array, _capture, _memory, _ufunc, cuda, fft, lib, linalg, random, testing  # noqa: F401
from ._array import ndarray  # noqa: F401
from ._kernel import ElementwiseKernel, RawKernel, RawModule, ReductionKernel  # noqa: F401
from ._memory import default_pinned_pool, default_pool
from ._ufunc import array, asarray, ascontiguousarray, asfortranarray, ufunc  # noqa: F401

__version__ = '14.2.0'
asanyarray = asarray
float16, float32, float64 = np.float16, np.float32, np.float64
pi, inf, nan, e, newaxis, euler_gamma = np.pi, np.inf, np.nan, np.e, None, np.euler_gamma

for _name, _text in _array.NAMES['cupy'].items():
    if _name in globals():
        continue
    if _name in _ufunc.UFUNCS:
        globals()[_name] = _ufunc.UFUNCS[_name]
    elif _text == 'class' and isinstance(getattr(np, _name, None), type):
        globals()[_name] = getattr(np, _name)
    elif hasattr(np, _name) and callable(getattr(np, _name)):
        globals()[_name] = _ufunc.function(_name, _text, getattr(np, _name))


def asnumpy(a, stream=None, order='C', out=None, *, blocking=True):
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    return np.asarray(a)


def get_array_module(*args):
    import cupy

    return cupy if any(isinstance(x, ndarray) for x in args) else np


def empty(shape, dtype=float, order='C'):
    return ndarray(shape, dtype, order=order)


@_capture.device_work
def zeros(shape, dtype=float, order='C'):
    made = ndarray(shape, dtype, order=order)
    made._a[...] = 0
    return made


def _like(name):
    @_capture.device_work
    def call(a, dtype=None, order='K', subok=None, shape=None):
        made = getattr(np, name)(a._a, dtype, order, shape=shape)
        return _array.to_device(made)

    call.__name__ = name
    return call


empty_like, zeros_like, ones_like = map(_like, ('empty_like', 'zeros_like', 'ones_like'))


@_capture.device_work
def copyto(dst, src, casting='same_kind', where=None):
    """The source may be an array or a scalar, not an array of NumPy."""
    _array.check_device(dst)
    np.copyto(dst._a, _array.operand(src), casting,
              True if where is None else _array.operand(where))


def may_share_memory(a, b, max_work=None):
    return np.may_share_memory(a._a, b._a)


shares_memory = may_share_memory


def memoize(for_each_device=False):
    def decorate(function):
        known = {}
        _memos.append(known)

        @functools.wraps(function)
        def call(*args, **kwargs):
            key = args, frozenset(kwargs.items()), for_each_device and _memory._current.device
            if key not in known:
                known[key] = function(*args, **kwargs)
            return known[key]

        return call

    return decorate


_memos = []


def clear_memo():
    for known in _memos:
        known.clear()


def fuse(*args, **kwargs):
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda function: function


def get_default_memory_pool():
    return default_pool


def get_default_pinned_memory_pool():
    return default_pinned_pool


def show_config(**kwargs):
    raise NotImplementedError


@contextlib.contextmanager
def errstate(**kwargs):
    yield

