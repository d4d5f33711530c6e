"""Masks of dropout, drawn by native code from the state of NumPy's global generator."""

from __future__ import annotations

import ctypes
import functools
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainwright.codegen.native_target import draws

from ..interrupts import pass_on
from ..kernels.random import plain_mask
from .available import native_target
from .bits import same_bits

logger = logging.getLogger("chainwright")

_DTYPES = np.dtype(np.float32), np.dtype(np.float64)
Draw = Callable[[Any, tuple[int, ...], float, Any], np.ndarray]


@functools.cache
def keep() -> Draw | None:
    """``keep(generator, shape, ratio, scale)`` in native code; compiled and tested when asked for.

    None where there is no native code, or where it gives other bits than NumPy.
    """
    target = native_target()
    if target is None:
        return None
    try:
        functions = {dtype: _function(target, dtype) for dtype in _DTYPES}
    except Exception as error:
        pass_on(error)
        logger.warning("masks stay calls of NumPy", exc_info=True)
        return None

    def call(generator: Any, shape: tuple[int, ...], ratio: float, scale: Any) -> np.ndarray:
        mask = np.empty(shape, scale.dtype)
        state, address = generator.ctypes.state_address, mask.__array_interface__["data"][0]
        with generator.lock:
            functions[scale.dtype](state, address, mask.size, ratio, scale)
        return mask

    if not _holds(call):
        logger.warning("masks stay calls of NumPy: native code draws other numbers")
        return None
    return call


def takes(generator: Any, shape: tuple[int, ...], ratio: Any, scale: Any) -> bool:
    """Whether native code draws from this generator, for a mask of this form."""
    return (
        type(generator) is np.random.MT19937
        and type(ratio) is float
        and math.isfinite(ratio)
        and scale.dtype in _DTYPES
        and bool(shape)
    )


def _function(target: Any, dtype: np.dtype[Any]) -> Callable[..., int]:
    name = f"{draws.KEEP}_{dtype.char}"
    address = target.linker.engine.function(name, lambda: "\n".join(draws.texts()))
    kinds = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, ctypes.c_double
    return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(address)


def _holds(call: Draw) -> bool:
    """Whether masks and states are NumPy's, from several places in a block of words on."""
    for dtype in _DTYPES:
        mine, other = np.random.RandomState(5), np.random.RandomState(5)
        for n, skipped in ((1, 0), (311, 1), (1, 0), (700, 0), (5, 3), (2000, 0)):
            for state in (mine, other):
                state.randint(0, 2**32, skipped, np.uint32)
            scale = dtype.type(1 / 0.7)
            got = call(mine._bit_generator, (n,), 0.3, scale)
            if not same_bits(got, plain_mask(other, (n,), 0.3, scale)):
                return False
        if mine.randint(0, 2**32, dtype=np.uint32) != other.randint(0, 2**32, dtype=np.uint32):
            return False
    return True
