"""Arrays on GPUs in compiled methods: which there are, where they are, and copies of them.

Where they are: None for arrays of NumPy, else the number of the GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainer._tracing import Promise
from chainer.backends import cuda
from chainwright.ir import Graph
from chainwright.ir.layout import extent
from chainwright.runtime import Schedule

#: The classes of arrays that programs can have for inputs.
ARRAYS = frozenset({np.ndarray, cuda.ndarray}) if cuda.available else frozenset({np.ndarray})


def gpu_of(array: Any) -> int | None:
    """Where an array of one of these classes is, or a promised one will be."""
    if type(array) is np.ndarray:
        return None
    return array.gpu if type(array) is Promise else array.data.device_id


def copied_there(array: Any) -> Any:
    """A copy of an array on a GPU, with the same strides."""
    cupy = cuda.cupy
    with array.device:
        size, start = extent(array.shape, array.strides, array.dtype.itemsize)
        memory = cupy.cuda.alloc(max(size, 1)) + start
        made = cupy.ndarray(array.shape, array.dtype, memory, array.strides)
        made[...] = array
    return made


def on_host(array: Any) -> Any:
    """The array, or a copy of it on the host."""
    return array if isinstance(array, (np.ndarray, np.generic)) else array.get()


def at(gpu: int | None, number: Any) -> Any:
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
