"""NumPy from below: the inner loops of its ufuncs, and where arrays keep their facts."""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from typing import Any

import numpy as np

from chainwright.codegen.native_target.driver import WRITEABLE, Layout

_HEAD = object.__basicsize__


class _UFunc(ctypes.Structure):
    """The beginning of PyUFuncObject in numpy/ufuncobject.h, the same in NumPy 1 and 2."""

    _fields_ = [
        ("head", ctypes.c_char * _HEAD),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_byte)),
    ]


@functools.cache
def loop_of(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> tuple[int, int] | None:
    """(function, data) of the loop for these dtypes, inputs then outputs; None if there is none.

    It is the one that NumPy calls itself, chosen for this processor when NumPy was imported. Loops
    of numbers need no GIL.
    """
    if type(ufunc) is not np.ufunc:
        return None
    u = _UFunc.from_address(id(ufunc))
    told = (u.nin, u.nout, u.nargs, u.ntypes, (u.name or b"").decode())
    if told != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes, ufunc.__name__):
        return None
    wanted = [dtype.num for dtype in dtypes]
    for k in range(u.ntypes):
        if [u.types[k * u.nargs + j] for j in range(u.nargs)] == wanted:
            return u.functions[k] or 0, (u.data[k] or 0) if u.data else 0
    return None


@functools.cache
def layout() -> Layout | None:
    """Where tuples and arrays keep their facts; None if this Python or NumPy differs."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    items = tuple.__basicsize__
    array = np.empty((3, 5, 7), np.int16).transpose(2, 0, 1)
    found = Layout(items, *[_HEAD + k for k in (-8, 0, 8, 16, 24, 40, 48, 8)])
    holder = (array, found)
    read = ctypes.c_int64.from_address
    if read(id(holder) + items).value != id(array) or read(id(holder) + items + 8).value != id(
        found
    ):
        return None
    at = id(array)
    if read(at + found.type).value != id(np.ndarray):
        return None
    if read(at + found.data).value != array.__array_interface__["data"][0]:
        return None
    if ctypes.c_int32.from_address(at + found.ndim).value != 3:
        return None
    dims, strides = read(at + found.dims).value, read(at + found.strides).value
    if tuple((ctypes.c_int64 * 3).from_address(dims)) != array.shape:
        return None
    if tuple((ctypes.c_int64 * 3).from_address(strides)) != array.strides:
        return None
    for writeable in (False, True):
        array.setflags(write=writeable)
        told = ctypes.c_int32.from_address(at + found.flags).value
        if bool(told & WRITEABLE) is not writeable:
            return None
    if read(at + found.descr).value != id(array.dtype):
        return None
    dtypes = map(np.dtype, [*"?bBhHiIqQefd", ">f"])
    return found if all(_kind_is_at(found.kind, dtype) for dtype in dtypes) else None


def _kind_is_at(offset: int, dtype: np.dtype[Any]) -> bool:
    """Whether a dtype has its kind, letter, byte order and number where they are expected."""
    kind, letter, order, _, number = struct.unpack("cccci", ctypes.string_at(id(dtype) + offset, 8))
    told = (dtype.kind.encode(), dtype.char.encode(), dtype.byteorder.encode(), dtype.num)
    return (kind, letter, order, number) == told
