"""The ledger: why each trace happened, where, and what it cost.

Always on and bounded. Events are rare (hits and define-by-run calls are only counted).
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from typing import NamedTuple

logger = logging.getLogger("chainwright")


class Event(NamedTuple):
    """Something that happened to a compiled method.

    ``kind`` is 'compile', 'opaque' (a function cannot be part of a program), 'with Python' (why
    calls need their Python), 'define-by-run', 'slower' (programs do not pay: the method is left
    alone for a while) or 'distrusted' (a program gave another value than define-by-run, or a call
    did something else than was proved).
    """

    kind: str
    reason: str
    where: str
    seconds: float

    def __str__(self) -> str:
        line = f"{self.kind:<13} {self.seconds * 1e3:9.2f} ms  {self.reason}"
        return f"{line}  [{self.where}]" if self.where else line


class Stop(NamedTuple):
    """A place where what was put off had to be computed, and how often that was so."""

    reason: str
    where: str
    count: int


#: What to do, by words in a reason.
_ADVICE = (
    (
        "array of a Variable",
        "values are read inside of the method: read them after it, if you can",
    ),
    ("attributes differ", "a number changes in every call: hand it over as a 0-dimensional array"),
    (
        "a function of the user's",
        "a FunctionNode of yours lies between programs: see docs/writing-functions.md to have it "
        "compiled, too",
    ),
    ("old-style function", "make the Function a FunctionNode to have it compiled"),
    ("written after its use", "an array is changed after a function has used it: make a new one"),
    ("another way", "the calls go different ways, or shapes differ: pad or bucket them"),
    ("no program", "the calls differ: pad or bucket what comes in"),
)


class Report(NamedTuple):
    """What :meth:`Ledger.report` returns; ``str()`` of it is a table for people."""

    name: str
    without_python: int
    with_python: int
    eager_calls: int
    events: tuple[Event, ...]
    stops: tuple[Stop, ...]
    checks: int
    spent: dict[str, float]
    saved: float

    @property
    def hits(self) -> int:
        """Calls that ran programs."""
        return self.without_python + self.with_python

    @property
    def advice(self) -> list[str]:
        """What would make the method faster."""
        reasons = " ".join([s.reason for s in self.stops] + [e.reason for e in self.events])
        return [what for words, what in _ADVICE if words in reasons]

    def __str__(self) -> str:
        spent = ", ".join(f"{what} {s * 1e3:.1f} ms" for what, s in self.spent.items())
        lines = [
            f"{self.name}: {self.hits} replayed, {self.eager_calls} define-by-run",
            f"  calls     programs without Python {self.without_python}, "
            f"programs with Python {self.with_python}, define-by-run {self.eager_calls}",
            f"  seconds   spent: {spent or 'none'}; saved by programs: {self.saved * 1e3:.1f} ms",
            f"  checks    {self.checks} against define-by-run",
        ]
        lines += [f"  stop      {s.count} x  {s.reason}  [{s.where}]" for s in self.stops]
        lines += [f"  {event}" for event in self.events]
        lines += [f"  to do     {what}" for what in self.advice]
        return "\n".join(lines)


class Ledger:
    """Events and counts of one compiled method."""

    def __init__(self, name: str, verbosity: int = 0, size: int = 200) -> None:
        self.name = name
        self.without_python = self.with_python = self.eager_calls = self.checks = 0
        self.spent: Counter[str] = Counter()  # seconds, by what they went into
        self.saved = 0.0
        self._stops: Counter[tuple[str, str]] = Counter()
        self._verbosity = verbosity
        self._events: deque[Event] = deque(maxlen=size)

    def add(self, kind: str, reason: str, where: str = "", seconds: float = 0.0) -> None:
        """Write an event down; what is wrong is also logged as a warning."""
        event = Event(kind, reason, where, seconds)
        self._events.append(event)
        loud = kind in ("distrusted", "define-by-run")
        level = logging.WARNING if loud else logging.INFO if self._verbosity else logging.DEBUG
        logger.log(level, "%s: %s", self.name, event)

    def stopped(self, reason: str, where: str) -> None:
        """What was put off had to be computed."""
        if (reason, where) in self._stops or len(self._stops) < 100:
            self._stops[reason, where] += 1

    def report(self) -> Report:
        """Everything so far."""
        stops = [Stop(*key, count) for key, count in self._stops.most_common(8)]
        return Report(
            self.name,
            self.without_python,
            self.with_python,
            self.eager_calls,
            tuple(self._events),
            tuple(stops),
            self.checks,
            dict(self.spent),
            self.saved,
        )
