"""How long work of one kind takes here."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

_MANY = 16  # items, beside which the time that any number takes is small
# Seconds that the work of measure_pace() takes where the rates were measured, between calls of a
# model: on one core of an AMD EPYC of family 25, model 17, at some 3 GHz, with Python 3.11.
_THERE = 70e-6
_measured: deque[float] = deque(maxlen=5)
_LEAST = 1e-2  # of the pace: no machine is that fast
_AGAIN = 0.05  # seconds after which it is measured again
_last = -math.inf


def measure_pace() -> None:
    """Look how long Python takes here now: other work of the machine comes and goes."""
    if time.perf_counter() - _last >= _AGAIN:
        _measure()


def _measure() -> None:
    global _last
    # Of this thread alone, where it has to wait for others; the clock for that may be slow itself.
    in_thread, started = time.thread_time(), time.perf_counter()
    _work()
    _last = time.perf_counter()
    _measured.append(min(_last - started, time.thread_time() - in_thread) or _last - started)


def pace() -> float:
    """How many times as long Python takes here, of late, as where rates were measured."""
    while len(_measured) < 3:
        _measure()
    # The second least: a collection of garbage, or other work of the machine, only adds to some.
    # Clocks may stand still, or stand in for others, in somebody's tests.
    return max(sorted(_measured)[1] / _THERE, _LEAST)


def _work() -> list[tuple[int, str]]:
    """Some of what compiling does: tuples, dictionaries, attributes, texts, calls."""
    found: dict[int, tuple[int, str]] = {}
    for k in range(100):
        found[k % 17] = (len(found), f"{k}, {found.get(k - 1)}"[:9])
    return sorted(found.values())


def _same() -> float:
    return 1.0


class Rate:
    """Seconds for each item of some work, as measured so far, and once for the first time.

    >>> from chainwright.runtime.rate import Rate
    >>> compiling = Rate(1e-3, 0.02)
    >>> compiling.of(10)
    0.03
    >>> for _ in range(40):
    ...     compiling.learn(0.05, 10)
    >>> round(compiling.of(20), 3)
    0.1
    """

    def __init__(self, seconds: float, once: float, pace: Callable[[], float] = _same) -> None:
        self.seconds, self._once, self._pace = seconds, once, pace

    @classmethod
    def elsewhere(cls, seconds: float, once: float) -> Rate:
        """Of what was measured on another machine: here it depends on the pace."""
        return cls(seconds, once, pace)

    def learn(self, seconds: float, items: int) -> None:
        """So long did some items take: the fewer, the less it tells what each of many takes."""
        seconds = max(seconds / self._pace() - self._once, 0.0)
        self._once = 0.0
        weight = 0.3 * min(items / _MANY, 1.0)
        self.seconds += weight * (seconds / max(items, 1) - self.seconds)

    def of(self, items: int) -> float:
        """How long some items are going to take."""
        return self._pace() * (self._once + self.seconds * max(items, 1))
