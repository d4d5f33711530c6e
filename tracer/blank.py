"""Arrays of a certain layout that take no memory, to trace functions on.

The memory of an array of zeros is only taken from the system where it is written. A trace that
replaces each result by such an array takes the time of one call, but next to no space.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_LARGE = 1 << 15  # bytes from which on results are replaced


class _Mode(threading.local):
    on = False


_mode = _Mode()


def blank(shape: Any, dtype: Any, strides: Any = None) -> np.ndarray:
    """An array of zeros with the given strides (in bytes; by default those of C order).

    >>> blank((2, 3), "f4", (4, 8)).strides
    (4, 8)
    """
    made = np.zeros(shape, dtype)
    if strides is None or made.strides == tuple(strides) or made.size == 0:
        return made
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    first = -sum(s for s in spans if s < 0)
    last = sum(s for s in spans if s > 0)
    memory = np.zeros(first + last + made.itemsize, np.uint8)
    return np.ndarray(shape, dtype, memory, first, strides)


@contextmanager
def virtual() -> Iterator[None]:
    """Have recording arrays of this thread let go of the values of large results."""
    was, _mode.on = _mode.on, True
    try:
        yield
    finally:
        _mode.on = was


def emptied(result: Any) -> Any:
    """A result without its values, where :func:`virtual` asks for it."""
    if _mode.on and type(result) is np.ndarray and result.nbytes >= _LARGE:
        if not result.dtype.hasobject:
            return blank(result.shape, result.dtype, result.strides)
    return result
