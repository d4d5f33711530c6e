"""The global random generators: where they stand, and how to come back to it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from chainwright.runtime.kernels import random

_MT19937_BYTES = 624 * 4 + 4  # the key, and the position in it


#: Draws that leave alone what normal draws hold back for the next one.
PLAIN_DRAWS = frozenset("rand random random_sample uniform randint keep_mask".split())
#: Draws that are no functions of ``numpy.random``.
_OWN_DRAWS = {"keep_mask": random.keep_mask}


def draw_function(name: str) -> Callable[..., Any]:
    """What draws from the global generator by the name that ``xp.random`` knows it by."""
    return _OWN_DRAWS.get(name) or getattr(np.random, name)


def sample_of(name: str, args: Any, kwargs: Any) -> np.ndarray:
    """An array as the draw gives it; the global generator is not asked."""
    if name == "keep_mask":
        shape, _, scale = args
        return np.zeros(shape, scale.dtype)
    return np.asarray(getattr(np.random.RandomState(0), name)(*args, **kwargs))


def generator_state() -> Any:
    """The state of NumPy's global generator as far as :data:`PLAIN_DRAWS` change it, quickly."""
    generator = np.random.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return np.random.get_state(legacy=False)
    return ctypes.string_at(generator.ctypes.state_address, _MT19937_BYTES)


def whole_generator_state() -> Any:
    """The whole state of NumPy's global generator (which takes some 80 us)."""
    return np.random.get_state(legacy=False)


def set_generator_state(state: Any) -> None:
    """Set the global generator to a state of one of the functions above; None: leave it."""
    if type(state) is bytes:
        address = np.random.get_bit_generator().ctypes.state_address
        ctypes.memmove(address, state, _MT19937_BYTES)
    elif state is not None:
        np.random.set_state(state)
