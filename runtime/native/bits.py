"""When two arrays are the same."""

from __future__ import annotations

import numpy as np


def same_bits(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether all bits are equal; which of two NaNs comes out is left open."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return False
    if got.dtype.kind == "f":
        nans = np.isnan(got)
        if (nans != np.isnan(wanted)).any():
            return False
        got, wanted = np.where(nans, 0, got), np.where(nans, 0, wanted)
    return got.tobytes() == wanted.tobytes()
