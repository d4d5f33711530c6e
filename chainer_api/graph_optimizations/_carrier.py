"""What code without the method's Python carries along, and what it calls.

In: the calls of one replay, as :mod:`_dry` has written it. Out: a :class:`Carrier` in the place of
a run. What may not happen: a call that goes with its Python after all, and finds something written,
drawn or told.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import _tracing
from chainer._backprop import grad
from chainwright.runtime import pass_on

from ._device import is_writeable
from ._random import set_generator_state
from ._residual import MISS
from ._warned import Hearing, Warned

if TYPE_CHECKING:
    from ._tree import Application


class NotJoined(Exception):
    """The call cannot be computed together with one before it (see :mod:`_joined`)."""


def _nothing() -> None:
    """What is not there."""


#: What a carrier has besides, and what makes it.
_RARE: dict[str, Callable[[], Any]] = {
    "guards": dict, "drawn": list, "states": dict, "numbers": dict, "first_state": _nothing,
    "python_state": _nothing, "undo": list, "effects": bool, "failed": str, "hearing": _nothing,
    "sizes": dict,
}


class Carrier:
    """What programs need of a run: values by slot, and random numbers."""

    __slots__ = (
        "checking", "drawn", "effects", "failed", "first_state", "guards", "hearing", "late",
        "numbers",
        "pieces", "python_state", "rests", "sizes", "states", "undo", "values",
    )

    phrases = None  # such calls go ways
    realized = 0  # functions without programs

    guards: dict[int, Any]  # none: nothing comes between a use and its program
    drawn: list[Any]
    states: dict[Any, Any]
    numbers: dict[Any, Any]
    first_state: Any
    python_state: Any
    undo: list[tuple[np.ndarray, np.ndarray]]  # what is written, as it was before
    effects: bool
    failed: str  # what was raised
    hearing: Hearing | None
    sizes: dict[int, int]  # of ways of any sizes: those that are attributes

    def __init__(self, rests: bool = False) -> None:
        self.values: list[Any] = []
        self.pieces: list[Any] = []  # whose programs have run
        self.checking = 0.0  # seconds that went into checks of them
        self.rests = rests  # whether the account does not look at this call
        #: What was drawn for a call that is computed later (see Late), and the generator before.
        self.late: tuple[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        # Most calls need none of these, and to make them takes as long as some guards.
        if name not in _RARE:
            raise AttributeError(name)
        made = _RARE[name]()
        setattr(self, name, made)
        return made

    @property
    def places(self) -> list[int]:
        """Nothing comes between the functions: see :meth:`Plan.run`."""
        return []

    def number(self, app: Application, name: str) -> Any:
        """A number among the attributes of a function."""
        return self.numbers[app, name]


def grad_inside(*args: Any, **options: Any) -> list[Any]:
    """``chainer.grad`` in a call without Python: it is a part of the time of this call."""
    _tracing.state.inside += 1
    try:
        return grad(*args, **options)
    finally:
        _tracing.state.inside -= 1


def within(settings: Any, function: Any) -> Any:
    """The function, in the configuration that the method has set there."""

    return functools.partial(settings.call, function)


def hear(carrier: Carrier) -> None:
    """Let nobody hear what is warned of: a guard may fail, and the call go with its Python."""
    carrier.hearing = hearing = Hearing()
    hearing.begin()


def hush(carrier: Carrier) -> None:
    """No longer."""
    if carrier.hearing is not None:
        carrier.hearing.end()


def holds(carrier: Carrier) -> None:
    """No guard has failed.

    Raises:
        Warned: Something has warned, which is left to the call's Python.
    """
    hearing = carrier.hearing
    assert hearing is not None
    hearing.end()
    if hearing.warned:
        raise Warned


def failed(carrier: Carrier) -> Any:
    """An exception: nothing has happened, after all."""
    if carrier.effects:
        raise
    kind, error, _ = sys.exc_info()
    # The call's Python tells of it, or the call is made again.
    if kind is Warned or kind is FloatingPointError or kind is NotJoined:
        return undone(carrier)
    carrier.failed = f"{getattr(kind, '__name__', kind)}: {error}"
    undone(carrier)
    assert error is not None
    pass_on(error)
    return MISS


def undone(carrier: Carrier) -> Any:
    """Put back what was written, and set the generator back."""
    hush(carrier)
    for array, before in reversed(carrier.undo):
        if is_writeable(array):  # otherwise nothing has been written
            array[...] = before
    if carrier.first_state is not None:
        set_generator_state(carrier.first_state)
    if carrier.python_state is not None:
        random.setstate(carrier.python_state)
    return MISS
