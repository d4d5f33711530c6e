"""The global random generators: where they stand, in a trace and at a replay.

In: NumPy's generator and Python's. Out: their states, to come back to, and whether all draws of a
traced call are accounted for. What may not happen: other random numbers than define-by-run's.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

#: Draws that leave alone what normal draws hold back for the next one.
PLAIN_DRAWS = frozenset("rand random random_sample uniform randint".split())
_MT19937_BYTES = 624 * 4 + 4  # the key, and the position in it


def generator_state() -> Any:
    """The state of NumPy's global generator as far as :data:`PLAIN_DRAWS` change it, quickly."""
    return generator_bytes() or np.random.get_state()


def generator_bytes() -> bytes | None:
    """The state of NumPy's global generator, without what normal draws hold back, quickly.

    None if it is not the one that NumPy starts with.
    """
    generator = np.random.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return None
    return ctypes.string_at(generator.ctypes.state_address, _MT19937_BYTES)


def set_generator_state(state: Any) -> None:
    """Set the global generator to a state of :func:`generator_state` or of NumPy's; None: no."""
    if type(state) is bytes:
        address = np.random.get_bit_generator().ctypes.state_address
        ctypes.memmove(address, state, _MT19937_BYTES)
    elif state is not None:
        np.random.set_state(state)


class Draws:
    """Where the global random generators stand, as far as the recording knows."""

    def __init__(self, escape: Callable[[str], None]) -> None:
        self._escape = escape
        self._states = _random_states()
        self.any = False  # whether replays draw

    def account(self) -> None:
        """A recorded draw has happened: that is where the generators stand now."""
        self._states = _random_states()
        self.any = True

    def check(self) -> None:
        """Escape if draws have happened that nobody has recorded."""
        if not _same_states(self._states, _random_states()):
            self._escape("random numbers were drawn outside of recorded functions")

    def repeat(self) -> None:
        """What has been drawn since :meth:`check` is drawn by each replay, too."""
        now = _random_states()
        if not _same_states(self._states, now):
            self._states, self.any = now, True

    @contextmanager
    def once(self) -> Iterator[None]:
        """What is drawn inside (initial values of parameters) is no part of the call."""
        self.check()
        yield
        self._states = _random_states()


def _random_states() -> tuple[Any, Any]:
    return np.random.get_state(legacy=False), random.getstate()


def _same_states(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
    left, right = a[0], b[0]
    return (
        a[1] == b[1]
        and left["state"]["pos"] == right["state"]["pos"]
        and np.array_equal(left["state"]["key"], right["state"]["key"])
        and (left["has_gauss"], left["gauss"]) == (right["has_gauss"], right["gauss"])
    )
