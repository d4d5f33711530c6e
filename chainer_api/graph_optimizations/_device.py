"""Arrays on GPUs in compiled methods: which there are, where they are, and copies of them.

Where they are: None for arrays of NumPy, else the number of the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainer._tracing import Promise
from chainer.backends import cuda
from chainwright.ir import Graph
from chainwright.ir.layout import extent
from chainwright.runtime import Schedule

#: The classes of arrays that programs can have for inputs.
ARRAYS = frozenset({np.ndarray, cuda.ndarray}) if cuda.available else frozenset({np.ndarray})

_WRITEABLE = 0x400  # among the flags of NumPy's C API


def gpu_of(array: Any) -> int | None:
    """Where an array of one of these classes is, or a promised one will be."""
    if isinstance(array, np.ndarray):  # of somebody's class, too
        return None
    return array.gpu if type(array) is Promise else array.data.device_id


def elsewhere(array: str, gpu: int | None, bind: Callable[[Any], str]) -> str:
    """The condition that an array is not where it was, as a line of Python.

    >>> from chainer.graph_optimizations._device import elsewhere
    >>> elsewhere("x", None, repr)
    'type(x) is not ndarray'
    """
    if gpu is None:
        return f"type({array}) is not ndarray"
    return f"type({array}) is not {bind(cuda.ndarray)} or {array}.data.device_id != {gpu}"


def copied_there(array: Any) -> Any:
    """A copy of an array on a GPU, with the same strides."""
    cupy = cuda.cupy
    with array.device:
        size, start = extent(array.shape, array.strides, array.dtype.itemsize)
        memory = cupy.cuda.alloc(max(size, 1)) + start
        made = cupy.ndarray(array.shape, array.dtype, memory, array.strides)
        made[...] = array
    return made


def is_writeable(array: np.ndarray) -> bool:
    """Whether it may be written; asked in this way, NumPy says nothing of what it broadcasts.

    >>> from chainer.graph_optimizations._device import is_writeable
    >>> is_writeable(np.broadcast_arrays(1, np.ones(2))[0]), is_writeable(np.broadcast_to(1, 2))
    (True, False)
    """
    return bool(array.flags.num & _WRITEABLE)


def address(array: Any) -> int:
    """Where the first item of an array is."""
    if isinstance(array, np.ndarray):
        return array.__array_interface__["data"][0]
    return array.data.ptr


def span(array: Any) -> tuple[int | None, int, int]:
    """The memory between whose ends an array lies: where it is, and its bounds."""
    size, before = extent(array.shape, array.strides, array.dtype.itemsize)
    first = address(array) - before
    return gpu_of(array), first, first + size


def at_offset(array: Any, offset: int, like: Any) -> Any:
    """An array of the form of ``like``, some bytes behind the first item of another."""
    if not isinstance(array, np.ndarray):
        with array.device:
            return cuda.ndarray(like.shape, like.dtype, array.data + offset, like.strides)
    view = _View()
    view.holds = array
    view.__array_interface__ = {
        "shape": like.shape, "typestr": like.dtype.str, "strides": like.strides,
        "data": (address(array) + offset, not is_writeable(array)), "version": 3,
    }
    return np.asarray(view)


def live_values(
    kept: Sequence[tuple[int, int]], values: Sequence[Any], copies: Sequence[Any],
    given: Sequence[Any],
) -> tuple[Any, ...]:
    """What a program keeps for backward, with views of the caller's arrays in place of copies.

    Programs on a GPU get copies of arrays that may be written before they run; what is written
    before backward counts in what functions retain. ``kept`` are pairs of the numbers of a value
    and of the argument that it is, or is a view of.
    """
    live = list(values)
    for k, i in kept:
        copy, array = copies[i], given[i]
        if copy is array:
            continue
        value = live[k]
        live[k] = array if value is copy else at_offset(
            array, address(value) - address(copy), value)
    return tuple(live)


class _View:
    """What an array is made from; it keeps the memory."""

    __array_interface__: dict[str, Any]
    holds: np.ndarray


def on_host(array: Any) -> Any:
    """The array, or a copy of it on the host."""
    return array if isinstance(array, (np.ndarray, np.generic)) else array.get()


def number_at(gpu: int | None, number: Any) -> Any:
    """A number, as an array of no dimensions, where a program takes it."""
    if gpu is None:
        return number
    with cuda.Device(gpu):
        return cuda.cupy.asarray(number)


def schedule(
    forward: Graph, backwards: Any, title: str, gpu: int | None, exact: bool | None
) -> Schedule:
    """The programs of a graph whose arrays are on one device."""
    if gpu is None:
        return Schedule(forward, backwards, title, exact=exact)
    from chainwright.runtime.cuda import DeviceSchedule

    return DeviceSchedule(forward, backwards, title, cuda.cupy, gpu, exact)
