"""The ledger: why each trace happened, where, and what it cost.

Always on and bounded. Events are rare (hits and define-by-run calls are only counted).
"""

from __future__ import annotations

import logging
from collections import deque
from typing import NamedTuple

logger = logging.getLogger("chainwright")


class Event(NamedTuple):
    """Something that happened to a schedule.

    ``kind`` is 'trace', 'backward trace', 'compile', 'define-by-run', 'recomputed' or 'evicted'.
    """

    kind: str
    reason: str
    where: str
    seconds: float

    def __str__(self) -> str:
        line = f"{self.kind:<15} {self.seconds * 1e3:9.2f} ms  {self.reason}"
        return f"{line}  [{self.where}]" if self.where else line


class Report(NamedTuple):
    """What :meth:`Ledger.report` returns; ``str()`` of it is a table for people."""

    name: str
    hits: int
    eager_calls: int
    events: tuple[Event, ...]

    def __str__(self) -> str:
        head = f"{self.name}: {self.hits} replayed, {self.eager_calls} define-by-run"
        return "\n".join([head, *(f"  {event}" for event in self.events)])


class Ledger:
    """Events and counts of one compiled method."""

    def __init__(self, name: str, verbosity: int = 0, size: int = 200) -> None:
        self.name = name
        self.hits = 0
        self.eager_calls = 0
        self._verbosity = verbosity
        self._events: deque[Event] = deque(maxlen=size)

    def add(self, kind: str, reason: str, where: str = "", seconds: float = 0.0) -> None:
        """Write an event down; what keeps a call from being compiled is also logged."""
        event = Event(kind, reason, where, seconds)
        self._events.append(event)
        loud = kind == "define-by-run"
        level = logging.WARNING if loud else logging.INFO if self._verbosity else logging.DEBUG
        logger.log(level, "%s: %s", self.name, event)

    def report(self) -> Report:
        """Everything so far."""
        return Report(self.name, self.hits, self.eager_calls, tuple(self._events))
