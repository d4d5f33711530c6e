"""The global random generators: where they stand, and how to come back to it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_MT19937_BYTES = 624 * 4 + 4  # the key, and the position in it


#: Draws that leave alone what normal draws hold back for the next one.
PLAIN_DRAWS = frozenset("rand random random_sample uniform randint".split())


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
