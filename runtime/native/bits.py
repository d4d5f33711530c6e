"""When two arrays are the same. No copies are made of large ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

_PIECE = 1 << 16  # items that are compared at a time


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit, NaNs as well."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.nbytes <= 4096 or a.dtype.itemsize not in (1, 2, 4, 8):
        return a.tobytes() == b.tobytes()
    form = f"u{a.dtype.itemsize}"
    return all(np.array_equal(x, y) for x, y in _pieces(a.view(form), b.view(form)))


def same_bits(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether all bits are equal; which of two NaNs comes out is left open."""
    if same_bytes(got, wanted):
        return True
    if got.shape != wanted.shape or got.dtype != wanted.dtype or got.dtype.kind != "f":
        return False
    return all(_same_but_for_nans(x, y) for x, y in _pieces(got, wanted))


def _same_but_for_nans(got: np.ndarray, wanted: np.ndarray) -> bool:
    nans = np.isnan(got)
    if not np.array_equal(nans, np.isnan(wanted)):
        return False
    return np.where(nans, 0, got).tobytes() == np.where(nans, 0, wanted).tobytes()


def _pieces(a: np.ndarray, b: np.ndarray) -> Iterable[Any]:
    """The items of two arrays of one shape, some at a time."""
    if a.size <= _PIECE:
        return [(a, b)]
    return np.nditer([a, b], ["external_loop", "buffered"], order="K", buffersize=_PIECE)
