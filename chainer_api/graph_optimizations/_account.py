"""What a compiled method costs and gains: when something may be traced."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chainwright.runtime import Ledger

if TYPE_CHECKING:
    from ._piece import Piece

_SHARE = 0.1  # of the time spent in the method that traces may take, besides what they save
_CALLS = 10.0  # plain calls' time that may be owed to begin with
_NOTINGS = 8  # calls that may be noted in any case: they tell numbers from constants
_LOSSES = 16  # calls in a row that are slower than plain ones, until programs rest
_FOLLOWING = 2e-6  # seconds that it takes to follow a function, instead of applying it
_PIECE = 4e-5  # seconds that a program takes besides what is measured
_CALL = 3e-5  # and a call
_REBUILDING = 4e-6  # seconds that it takes to apply a function again, besides applying it


class Meter:
    """Seconds that a program takes, and that the functions take for which it stands.

    Both are the least that was seen, since other work of the machine only adds to them; that of
    the program is forgotten slowly, since it becomes native code, for instance.
    """

    __slots__ = ("plain", "program")

    def __init__(self) -> None:
        self.plain = self.program = 0.0

    def took(self, seconds: float) -> float:
        """The program took ``seconds``; gives what it has saved."""
        program = self.program
        self.program = min(seconds, 1.02 * program) if program else seconds
        return self.plain - self.program if self.plain else 0.0

    def took_plainly(self, seconds: float, rebuilt: int = 0) -> None:
        """The functions took ``seconds``, some of them applied to be compared with."""
        seconds = max(seconds - rebuilt * _REBUILDING, 1e-6)
        self.plain = min(seconds, self.plain or seconds)

    @property
    def gain(self) -> float:
        """Seconds that the program saves; 0 where that is not known."""
        return self.plain - self.program - _PIECE / 2 if self.plain and self.program else 0.0


class Account:
    """Seconds spent on one method, and saved by its programs."""

    def __init__(self, ledger: Ledger, exact: bool | None = None) -> None:
        self.ledger = ledger
        self.exact = exact  # whether the last bits matter; None: as the configuration says
        self.in_method = 0.0
        self.new_backwards: list[Piece] = []  # for which a new kind of backward has come
        self.plain = 0.0  # seconds of a call without programs, lately
        self.traces = self._notings = 0
        self._granted, self._grants = False, 2
        self._losses = 0  # calls in a row that programs have made slower

    def spend(self, what: str, since: float) -> None:
        """The seconds since ``since`` went into ``what``."""
        self.ledger.spent[what] += time.perf_counter() - since

    def allows(self) -> bool:
        """Whether something new may be traced now.

        The first trace is always allowed; more of them as they pay, and as the time spent in the
        method grows.
        """
        if not self.traces or self._granted:
            return True
        spent = sum(self.ledger.spent.values()) - self.ledger.spent["prove"]
        owed = spent - self.ledger.saved
        return owed <= max(_SHARE * self.in_method, _CALLS * self.plain)

    def allows_noting(self) -> bool:
        """Whether a call may be noted, which takes as long as a plain one besides."""
        self._notings += 1
        return self._notings <= _NOTINGS or self.allows()

    def traced(self) -> None:
        """Something new has been traced."""
        self.traces += 1
        self._granted = False

    def allows_proof(self) -> bool:
        """Whether a call may be read, to go without its Python later."""
        spent = self.ledger.spent["prove"]
        return spent <= max(_SHARE / 2 * self.in_method, _CALLS / 4 * self.plain)

    def grant(self) -> None:
        """Allow the next trace, where something has been learned that ends retracing."""
        self._granted = self._grants > 0
        self._grants -= 1

    def distrust(self, piece: Piece, what: str) -> None:
        """A program gave other numbers than define-by-run."""
        piece.dropped = True
        self.ledger.add(
            "distrusted",
            f"a compiled program gave another value than define-by-run for {what}; this part of "
            "the method stays define-by-run. Please report it",
        )

    def called_without_python(self, seconds: float, programs: int, gain: float) -> bool:
        """Likewise for a call that has gone without its Python."""
        self.in_method += seconds
        self.ledger.without_python += 1
        self.ledger.sample()
        return self.pays(gain + programs * _FOLLOWING)

    def called(self, seconds: float, programs: int, gain: float) -> bool:
        """A call has ended, ``gain`` seconds before a plain one; whether programs pay."""
        ledger = self.ledger
        self.in_method += seconds
        ledger.sample()
        if not programs:
            ledger.eager_calls += 1
            self.plain = seconds if not self.plain else 0.8 * self.plain + 0.2 * seconds
            return True
        ledger.with_python += 1
        return self.pays(gain - programs * _FOLLOWING - _CALL)

    def pays(self, gain: float) -> bool:
        """Whether programs pay, after a call in which they have saved ``gain`` seconds."""
        self._losses = self._losses + 1 if gain < 0 else 0
        if self._losses < _LOSSES:
            return True
        self._losses = 0
        return False
