"""Random arrays that functions draw."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy

#: Asked before NumPy: ``native_mask(shape, ratio, scale)``, the mask or None.
native_mask: Callable[[tuple[int, ...], Any, Any], Any] | None = None
_rand = numpy.random.rand


def generator() -> Any:
    """NumPy's global bit generator, whose state ``numpy.random.rand`` changes."""
    return numpy.random.mtrand._rand._bit_generator


def keep_mask(shape: tuple[int, ...], ratio: Any, scale: Any) -> Any:
    """``scale`` at places where ``numpy.random.rand`` gives ``ratio`` or more, and 0 elsewhere.

    >>> numpy.random.seed(0)
    >>> keep_mask((5,), 0.6, numpy.float32(2))
    array([0., 2., 2., 0., 0.], dtype=float32)
    """
    if native_mask is not None and numpy.random.rand is _rand:  # nobody has put another there
        mask = native_mask(shape, ratio, scale)
        if mask is not None:
            return mask
    return plain_mask(numpy.random, shape, ratio, scale)


def plain_mask(random: Any, shape: tuple[int, ...], ratio: Any, scale: Any) -> Any:
    """The same from any module or generator that draws as ``numpy.random`` does."""
    return (random.rand(*shape) >= ratio) * scale


def draw_mask(xp: Any, shape: tuple[int, ...], ratio: Any, scale: Any) -> Any:
    """The mask of an array module; where a function is recorded, one draw of that recording."""
    if xp is numpy:
        return keep_mask(shape, ratio, scale)
    if isinstance(xp, ModuleType):
        return plain_mask(xp.random, shape, ratio, scale)
    return xp.random.keep_mask(shape, ratio, scale)
