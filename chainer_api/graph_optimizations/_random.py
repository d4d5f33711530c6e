"""The global random generators: where they stand, and how to come back to it."""

from __future__ import annotations

import ctypes
import functools
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


class _Held(ctypes.Structure):
    """What normal draws hold back for the next one, as it lies in NumPy's generator."""

    _fields_ = (("is_there", ctypes.c_int), ("value", ctypes.c_double))


@functools.cache
def _place_of_held() -> int | None:
    """Where that lies in the object; None if this NumPy has it elsewhere.

    It is looked for in a generator of its own: NumPy tells it with a copy of everything only.
    """
    generator = np.random.RandomState(np.random.MT19937(0))
    size = type(generator).__basicsize__ - ctypes.sizeof(_Held)
    places = {*range(object.__basicsize__, size, ctypes.alignment(_Held))}
    state = generator.get_state(legacy=False)
    for is_there, value in ((1, 0.12345), (0, -6.789e-10), (1, -1e100), (0, 0.0), (1, 3.5)):
        generator.set_state({**state, "has_gauss": is_there, "gauss": value})
        content = ctypes.string_at(id(generator), type(generator).__basicsize__)
        for place in [*places]:
            held = _Held.from_buffer_copy(content, place)
            if held.is_there != is_there or held.value != value:
                places.discard(place)
    return places.pop() if len(places) == 1 else None


def whole_generator_state() -> Any:
    """The whole state of NumPy's global generator, quickly where that is possible: NumPy takes
    60 us for it."""
    place, generator = _place_of_held(), np.random.get_bit_generator()
    if place is None or type(generator) is not np.random.MT19937:
        return np.random.get_state(legacy=False)
    key = ctypes.string_at(generator.ctypes.state_address, _MT19937_BYTES)
    return key + ctypes.string_at(id(np.random.mtrand._rand) + place, ctypes.sizeof(_Held))


def set_generator_state(state: Any) -> None:
    """Set the global generator to a state of one of the functions above; None: leave it."""
    if type(state) is bytes:
        if len(state) > _MT19937_BYTES:
            held = _Held.from_buffer_copy(state, _MT19937_BYTES)
            whole = np.random.get_state(legacy=False)
            np.random.set_state({**whole, "has_gauss": held.is_there, "gauss": held.value})
        address = np.random.get_bit_generator().ctypes.state_address
        ctypes.memmove(address, state, _MT19937_BYTES)
    elif state is not None:
        np.random.set_state(state)
