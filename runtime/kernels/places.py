"""Adding values up at places that repeat."""

from __future__ import annotations

from typing import Any

import numpy

from . import library_op
from .windows import array_module


@library_op("add_at_places")
def add_at_places(values: Any, places: Any, *, length: int) -> Any:
    """Sum ``values`` (n, c, p) into zeros (n, c, length) at ``places`` (n, p).

    ``y[i, :, places[i, j]] += values[i, :, j]``, with places from 0 to ``length - 1``.
    """
    n, c, _ = values.shape
    xp = array_module(values)
    if xp is not numpy:
        y = xp.zeros((n, c, length), values.dtype)
        rows, channels = xp.arange(n)[:, None, None], xp.arange(c)[None, :, None]
        xp.add.at(y, (rows, channels, places[:, None]), values)
        return y
    # Counting with weights is several times faster than numpy.add.at, and sums in double.
    rows = numpy.arange(n * c).reshape(n, c, 1) * length
    y = numpy.bincount((rows + places[:, None]).ravel(), values.ravel(), minlength=n * c * length)
    return y.reshape(n, c, length).astype(values.dtype)
