"""Arrays of a certain layout that take no memory, to trace functions on.

The memory of an array of zeros is only taken from the system where it is written. A trace that
replaces each result by such an array takes the time of one call, but next to no space.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

LARGE = 1 << 15  # bytes from which on a result has memory of its own, and no values
_SMALL = 1 << 9  # bytes from which on floating-point results are replaced
_CHUNK = 1 << 20  # bytes that smaller results have together
_ALIGNED = 64


class _Mode(threading.local):
    on = False

    def __init__(self) -> None:
        self.fresh: list[mmap.mmap] = []
        self.chunk: mmap.mmap | None = None
        self.used = 0  # bytes of it

    def leave(self) -> None:
        self.fresh.clear()
        self.chunk = None  # it lasts as long as an array that lies in it


_mode = _Mode()


def blank(shape: Any, dtype: Any, strides: Any = None) -> np.ndarray:
    """An array of zeros with the given strides (in bytes; by default those of C order).

    >>> blank((2, 3), "f4", (4, 8)).strides
    (4, 8)
    """
    dtype = np.dtype(dtype)
    if 0 in shape:
        return np.zeros(shape, dtype)
    size, natural = dtype.itemsize, []
    for n in reversed(shape):
        natural.append(size)
        size *= n
    if strides is None or tuple(strides) == tuple(reversed(natural)):
        return np.ndarray(shape, dtype, *_memory(size))
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    first = -sum(s for s in spans if s < 0)
    last = sum(s for s in spans if s > 0)
    memory, offset = _memory(first + last + dtype.itemsize)
    return np.ndarray(shape, dtype, memory, offset + first, strides)


def _memory(size: int) -> tuple[Any, int]:
    """Zeros, which take memory only where they are written, and where they begin."""
    if not hasattr(mmap, "MAP_PRIVATE") or size < LARGE and (not _mode.on or size < _SMALL):
        return np.zeros(size, np.uint8), 0
    if size >= LARGE:
        return _mapped(size), 0
    chunk, used = _mode.chunk, _mode.used
    if chunk is None or used + size > _CHUNK:
        chunk, used = _mapped(_CHUNK), 0
        _mode.chunk = chunk
    elif chunk not in _mode.fresh:
        _mode.fresh.append(chunk)
    _mode.used = used + size + -size % _ALIGNED
    return chunk, used


def _mapped(size: int) -> mmap.mmap:
    # What is freed and given out again the allocator would have to fill with zeros.
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as e:
        raise MemoryError(f"no address space for {size} bytes") from e
    if _mode.on:
        _mode.fresh.append(memory)
    return memory


def let_go() -> None:
    """Have arrays that were made since the last time be zeros again, without memory."""
    for memory in _mode.fresh:
        memory.madvise(mmap.MADV_DONTNEED)
    _mode.fresh.clear()


def is_virtual() -> bool:
    """Whether the values of results are let go of in this thread."""
    return _mode.on


@contextmanager
def virtual() -> Iterator[None]:
    """Have recording arrays of this thread let go of the values of results, but for tiny ones.

    Those of integers stay until they are large: they may be indices.
    """
    was, _mode.on = _mode.on, True
    try:
        yield
    finally:
        _mode.on = was
        _mode.leave()


def emptied(result: Any) -> Any:
    """A result without its values, where :func:`virtual` asks for it."""
    if _mode.on and type(result) is np.ndarray and result.nbytes >= _SMALL:
        dtype = result.dtype
        if dtype.kind in "fc" or result.nbytes >= LARGE and not dtype.hasobject:
            return blank(result.shape, dtype, result.strides)
    return result
