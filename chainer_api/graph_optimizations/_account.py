"""What a compiled method costs and gains, and what it tells about that."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from chainwright.runtime import Ledger

if TYPE_CHECKING:
    from ._piece import Piece

_SHARE = 0.1  # of the time spent in the method that later traces may take
_CALLS = 20.0  # plain calls' time that may be owed to begin with


class Account:
    """Seconds spent and saved by one method; decides when something may be traced."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.spent = Counter[str]()
        self.saved = 0.0
        self.in_method = 0.0
        self.plain = 0.0  # seconds of a call without programs, lately
        self.backward_seconds = 0.0
        self.with_python = self.without_python = 0
        self.checks = self.dissolved = 0
        self.stops: Counter[tuple[str, str]] = Counter()
        self.details: Counter[str] = Counter()  # why pending functions were applied for real

    def note(self, kind: str, reason: str, where: str) -> None:
        """Write an event down."""
        self.ledger.add(kind, reason, where)

    def spend(self, what: str, since: float) -> None:
        """Seconds since ``since`` went into ``what``."""
        seconds = time.perf_counter() - since
        self.spent[what] += seconds

    @property
    def total_spent(self) -> float:
        return sum(self.spent.values())

    def allows(self) -> bool:
        """Whether something new may be traced now.

        The first trace is always allowed; more of them as they pay, and as the time spent in the
        method grows.
        """
        unpaid = self.total_spent - self.saved
        return self.total_spent == 0.0 or unpaid <= max(
            _SHARE * self.in_method, _CALLS * self.plain
        )

    def distrust(self, piece: Piece, what: str) -> None:
        """A program gave other numbers than define-by-run."""
        piece.dropped = True
        self.ledger.add(
            "distrusted",
            f"a compiled program gave another value than define-by-run for {what}; this part of "
            "the method stays define-by-run. Please report it",
            "",
        )

    def called(self, seconds: float, plain: float, programs: int) -> None:
        """A call has ended; ``plain`` is what it takes without programs, where that is known."""
        self.in_method += seconds
        if programs:
            self.with_python += 1
            self.ledger.hits += 1
            if plain:
                self.saved += plain - seconds
        else:
            self.ledger.eager_calls += 1
            self.plain = seconds if not self.plain else 0.8 * self.plain + 0.2 * seconds

    def stopped(self, settled: Any) -> None:
        """Sync points of a call, with the user's lines."""
        if len(self.stops) < 100:
            self.stops.update(settled)
