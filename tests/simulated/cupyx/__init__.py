"""A stand-in for ``cupyx`` (see ``cupy``)."""
import contextlib

import numpy as np
from cupy import linalg as _linalg
from cupy._array import ndarray, operand, unwrapped_index
from cupy._ufunc import UFUNCS

from . import scipy  # noqa: F401


def rsqrt(x, out=None):
    return UFUNCS['reciprocal'](UFUNCS['sqrt'](x), out=out)


def scatter_add(a, slices, value):
    np.add.at(operand(a), unwrapped_index(slices), operand(value))


def empty_pinned(shape, dtype=float, order='C'):
    return np.empty(shape, dtype, order)


def zeros_pinned(shape, dtype=float, order='C'):
    return np.zeros(shape, dtype, order)


def get_runtime_info(full=False):
    return 'simulated device'


@contextlib.contextmanager
def allow_synchronize(allow):
    yield


@contextlib.contextmanager
def errstate(*, divide=None, over=None, under=None, invalid=None, linalg=None):
    before = _linalg.settings.linalg
    _linalg.settings.linalg = linalg or before
    try:
        yield
    finally:
        _linalg.settings.linalg = before


__all__ = ['allow_synchronize', 'empty_pinned', 'errstate', 'get_runtime_info', 'ndarray',
           'rsqrt', 'scatter_add', 'scipy', 'zeros_pinned']
