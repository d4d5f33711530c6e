"""What a compiled method costs and gains: when something may be traced."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chainwright.runtime import Ledger

if TYPE_CHECKING:
    from ._piece import Piece

_SHARE = 0.1  # of the time spent in the method that traces may take, besides what they save
_CALLS = 20.0  # plain calls' time that may be owed to begin with


class Account:
    """Seconds spent on one method, and saved by its programs."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.in_method = 0.0
        self.new_backwards: list[Piece] = []  # for which a new kind of backward has come
        self.plain = 0.0  # seconds of a call without programs, lately
        self._granted, self._grants = False, 2

    def spend(self, what: str, since: float) -> None:
        """The seconds since ``since`` went into ``what``."""
        self.ledger.spent[what] += time.perf_counter() - since

    def allows(self) -> bool:
        """Whether something new may be traced now.

        The first trace is always allowed; more of them as they pay, and as the time spent in the
        method grows.
        """
        if self._granted:
            self._granted = False
            return True
        spent = sum(self.ledger.spent.values())
        owed = spent - self.ledger.saved
        return not spent or owed <= max(_SHARE * self.in_method, _CALLS * self.plain)

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

    def called(self, seconds: float, plain: float, programs: int) -> None:
        """A call has ended; ``plain`` is what it takes without programs, where that is known."""
        ledger = self.ledger
        self.in_method += seconds
        if programs:
            ledger.with_python += 1
            if plain:
                ledger.saved += plain - seconds
        else:
            ledger.eager_calls += 1
            self.plain = seconds if not self.plain else 0.8 * self.plain + 0.2 * seconds
