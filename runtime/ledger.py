"""The ledger: why each trace happened, where, and what it cost.

Always on and bounded. Events are rare (hits and define-by-run calls are only counted).
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from .interrupts import pass_on


class _Logger(logging.Logger):
    """A call does not fail because somebody's handler does: without programs nothing is logged."""

    def callHandlers(self, record: logging.LogRecord) -> None:
        try:
            super().callHandlers(record)
        except Exception as e:
            pass_on(e)


logger = logging.getLogger("chainwright")
logger.__class__ = _Logger  # somebody may have set its level before this is imported
_LONG = 200  # letters of a reason in a table


class Event(NamedTuple):
    """Something that happened to a compiled method.

    ``kind`` is 'compile', 'opaque' (a function cannot be part of a program), 'with Python' (why
    calls need their Python), 'define-by-run', 'waits' (to compile it would not pay yet), 'slower'
    (programs do not pay: the method is left alone for a while) or 'distrusted' (a program gave
    another value than define-by-run, or raised what it does not raise; or a call did something
    else than was proved): that alone is a warning in the log.
    """

    kind: str
    reason: str
    where: str
    seconds: float

    def __str__(self) -> str:
        return self.line(self.reason)

    def line(self, text: str) -> str:
        """A line of a table, with a text in the place of the reason."""
        took = f"{self.seconds * 1e3:9.2f} ms" if self.seconds else " " * 12
        line = f"{self.kind:<13} {took}  {text}"
        return f"{line}  [{self.where}]" if self.where else line


def _lines_of(events: Sequence[Event]) -> list[str]:
    """What a person can read: a line for events of one kind and place, and of long texts a part."""
    together: dict[tuple[str, str, str], list[Event]] = {}
    compiled = max([k for k, e in enumerate(events) if e.kind == "compile"], default=-1)
    for k, event in enumerate(events):
        what = event.reason.partition(": ")[0]
        kind = "waited" if event.kind == "waits" and k < compiled else event.kind
        together.setdefault((kind, what, event.where), []).append(event)
    lines = []
    for (kind, what, where), same in together.items():
        if len(same) == 1:
            text = same[0].reason
            if len(text) > _LONG and kind != "distrusted":
                text = f"{text[:_LONG].rpartition(' ')[0]} ..."
        else:
            text = f"{len(same)} x  {what}"
        lines.append(Event(kind, what, where, sum([e.seconds for e in same])).line(text))
    return lines


class Stop(NamedTuple):
    """A place where what was put off had to be computed, and how often that was so."""

    reason: str
    where: str
    count: int


class Sample(NamedTuple):
    """How matters stood after some seconds and calls: seconds spent and saved until then."""

    seconds: float
    calls: int
    spent: float
    saved: float


#: What to do, by words in a reason.
_SHAPES = "if shapes differ from call to call: pad or bucket what comes in"
_MORE = (
    "if most of a step's time is elsewhere, decorate the method that computes the loss, or hand "
    "the loss function to optimizer.update(lossfun, ...)"
)
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
    (
        "old-style function",
        "make the Function a FunctionNode that declares itself (docs/writing-functions.md) to have "
        "it compiled, too",
    ),
    ("written after its use", "an array is changed after a function has used it: make a new one"),
    (
        "functions write to",
        "running statistics are read in the method, or somebody has kept the array: keep a copy, "
        "and read them after it",
    ),
    (
        "compute with the dtype",
        "numbers in the byte order of another machine, complex ones and long doubles stay NumPy's: "
        "convert what comes in, x.astype(x.dtype.newbyteorder('='))",
    ),
    (
        "floating-point errors",
        "the functions tell of them: numpy.errstate(all='ignore') around what means nothing",
    ),
    (
        "is no NumPy array",
        "other arrays (numpy.memmap, numpy.matrix, masked ones) are left to NumPy: hand over "
        "numpy.asarray(x)",
    ),
    ("another way", "the calls go different ways, or shapes differ: pad or bucket them"),
    (
        "would take too long",
        "nothing: it is compiled when that pays; chainer.config.static_budget = None compiles at "
        "once",
    ),
    (
        "function hooks",
        "hooks see each function, so that nothing compiled runs: to measure what is compiled, use "
        "TimerHook(compiled=True), or set chainer.config.static_profile = True, and look at the "
        "report",
    ),
    ("debug mode", "chainer.config.debug is on, for which functions run one by one"),
    (
        "gradients that are differentiated",
        "decorate the method that computes the whole loss: gradients that are differentiated are a "
        "part of its program then",
    ),
    (
        "applied one by one",
        "hand the loss function to optimizer.update(lossfun, ...), or decorate the method that "
        "computes the loss: one program computes all of it then",
    ),
    ("none has paid", _MORE),
    ("no program was found", _SHAPES),
)


def advice_for(reasons: str) -> list[str]:
    """What to do about reasons."""
    return [what for words, what in _ADVICE if words in reasons]


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
    plainly: dict[str, int]  # whole calls that went define-by-run, by the reason
    is_part: bool = False  # whether its calls are parts of those of another method

    @property
    def traces(self) -> int:
        """How often something was traced and compiled."""
        return sum(event.kind == "compile" for event in self.events)

    @property
    def failed_checks(self) -> int:
        """Programs and proofs that were wrong, and are not used any more."""
        return sum(event.kind == "distrusted" for event in self.events)

    @property
    def spent_seconds(self) -> float:
        """Everything that was spent on compiling and checking."""
        return sum(self.spent.values())

    @property
    def hits(self) -> int:
        """Calls that ran programs."""
        return self.without_python + self.with_python

    @property
    def advice(self) -> list[str]:
        """What would make the method faster."""
        few = (self.hits + self.eager_calls) / 20
        met = Counter(self.plainly)
        for stop in self.stops:  # which calls without Python do not have
            met[stop.reason] += stop.count
        often = [reason for reason, n in met.items() if n >= few]
        reasons = [*often, *(e.reason for e in self.events)]
        if self.traces:  # it has paid in the meantime
            reasons = [reason for reason in reasons if "would take too long" not in reason]
        found = advice_for(" ".join(reasons))
        # These are guesses, for where nothing else is known.
        return [what for what in found if what not in (_MORE, _SHAPES)] or found

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        spent = ", ".join(f"{what} {s * 1e3:.1f} ms" for what, s in self.spent.items())
        name = f"{self.name}: {self.hits} replayed, {self.eager_calls} define-by-run"
        name += ", a part of calls" * self.is_part
        if self.is_part and not (self.hits or self.traces or self.failed_checks):
            why = max(self.plainly, key=self.plainly.__getitem__, default="")
            return f"{name}: {why}" if why else name
        lines = [
            name,
            f"  calls     programs without Python {self.without_python}, "
            f"programs with Python {self.with_python}, define-by-run {self.eager_calls}",
            f"  seconds   spent: {spent or 'none'}; saved by programs: {self.saved * 1e3:.1f} ms",
            f"  checks    {self.checks} against define-by-run",
        ]
        lines += [f"  stop      {s.count} x  {s.reason}  [{s.where}]" for s in self.stops]
        lines += [f"  plainly   {n} x  {reason}" for reason, n in self.plainly.items()]
        lines += [f"  {line}" for line in _lines_of(self.events)]
        lines += [f"  to do     {what}" for what in self.advice]
        return "\n".join(lines)


class Ledger:
    """Events and counts of one compiled method."""

    def __init__(self, name: str, size: int = 200, is_part: bool = False) -> None:
        self.name, self.is_part = name, is_part
        self.without_python = self.with_python = self.checks = 0
        self.plain_calls = 0  # define-by-run, with those that are to pass
        #: How many of the next calls are to pass define-by-run: nobody looks at them.
        self.to_pass = 0
        self._pass_since = ""
        self.spent: Counter[str] = Counter()  # seconds, by what they went into
        self.saved = self.in_method = 0.0  # seconds; in calls of the method, programs or not
        self._stops: Counter[tuple[str, str]] = Counter()
        self.plainly: Counter[str] = Counter()  # whole calls define-by-run, by the reason
        self.history: list[Sample] = [Sample(0.0, 0, 0.0, 0.0)]
        self._started = time.perf_counter()
        self._stride = self._until_sample = 1
        self._said: set[tuple[str, str, str]] = set()
        self._events: deque[Event] = deque(maxlen=size)

    @property
    def hits(self) -> int:
        """Calls that ran programs."""
        return self.without_python + self.with_python

    @property
    def calls(self) -> int:
        """All calls, with those that are to pass."""
        return self.without_python + self.with_python + self.plain_calls

    @property
    def eager_calls(self) -> int:
        """Calls that went define-by-run."""
        return self.plain_calls - self.to_pass

    @property
    def spent_on_programs(self) -> float:
        """Seconds that went into programs; calls are noted from a budget of their own."""
        return sum(self.spent.values()) - self.spent["noting"]

    @property
    def owed(self) -> float:
        """Seconds that were spent on programs, and have not been saved yet."""
        return self.spent_on_programs - self.saved

    def let_pass(self, calls: int, reason: str) -> None:
        """The next calls go define-by-run, and are counted now: whoever lets one pass says so."""
        self.plain_calls += calls - self.to_pass
        self.plainly[self._pass_since] -= self.to_pass
        self.plainly[reason] += calls
        self.to_pass, self._pass_since = calls, reason

    def add(self, kind: str, reason: str, where: str = "", seconds: float = 0.0) -> None:
        """Write an event down, and log it: once, with what to do; what is wrong as a warning."""
        event = Event(kind, reason, where, seconds)
        self._events.append(event)
        said = (kind, reason, where)
        new = kind in ("compile", "distrusted") or said not in self._said
        if kind != "compile" and len(self._said) < 100:
            self._said.add(said)
        loud = kind == "distrusted"
        level = logging.DEBUG if not new else logging.WARNING if loud else logging.INFO
        text = "; ".join([str(event), *(f"to do: {what}" for what in advice_for(reason))])
        logger.log(level, "%s: %s", self.name, text)

    def add_once(self, kind: str, reason: str, where: str) -> None:
        """Write down what is likely to come in many calls."""
        if (kind, reason, where) not in self._said:
            self.add(kind, reason, where)

    def sample(self) -> None:
        """A call has ended: note, at ever larger distances, how matters stand."""
        self._until_sample -= 1
        if self._until_sample > 0:
            return
        self.history.append(self._now())
        if len(self.history) > 100:
            del self.history[1::2]
            self._stride *= 2
        self._until_sample = self._stride

    def _now(self) -> Sample:
        calls = self.without_python + self.with_python + self.eager_calls
        seconds = time.perf_counter() - self._started
        return Sample(seconds, calls, sum(self.spent.values()), self.saved)

    def went_plainly(self, reason: str) -> None:
        """A whole call goes define-by-run; the first for a reason is logged."""
        known = list(self._said)  # other threads add some
        if reason not in self.plainly and all(reason != said for _, said, _ in known):
            text = "; ".join([reason, *(f"to do: {what}" for what in advice_for(reason))])
            logger.info("%s: whole calls are define-by-run: %s", self.name, text)
        self.plainly[reason] += 1

    def stopped(self, reason: str, where: str) -> None:
        """What was put off had to be computed."""
        if (reason, where) in self._stops or len(self._stops) < 100:
            self._stops[reason, where] += 1

    def report(self) -> Report:
        """Everything so far."""
        # Copied at once, for other threads go on.
        stops = [Stop(*key, count) for key, count in self._stops.copy().most_common(8)]
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
            dict(self.plainly.copy() - Counter({self._pass_since: self.to_pass})),
            self.is_part,
        )
