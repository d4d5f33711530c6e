"""Recurrences along an axis."""

from __future__ import annotations

from typing import Any

from . import library_op


@library_op("linear_recurrence")
def linear_recurrence(mul: Any, add: Any) -> Any:
    """Compute ``y[i] = y[i - 1] * mul[i] + add[i]`` along the first axis, from ``y[-1] = 0``."""
    y = add.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1] * mul[i]
    return y
