"""Whether calls of a method are slower with the turns of its loops as calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from threading import get_ident
from typing import NamedTuple

from ._account import clock

# That are compared each time, and those of them that go plainly: in a row, since a method may be
# called several times before one backward, which only the last of these steps has.
_STEPS, _PLAINLY = 96, range(36, 60)
_FIRST, _SELDOM = 288, 1024  # call with which the first comparison ends; calls between later ones
_SLOWER, _SLOWER_LATER = 1.1, 1.06  # times as long: while programs come, and later
_TWICE = 2  # comparisons in a row: by the first one, not all programs are there


class _Step(NamedTuple):
    """From the beginning of a call to that of the next one: with its backward, and the update."""

    thread: int
    began: float
    spent: float
    turns: list[int]
    plainly: bool


class Comparison:
    """Some steps in a row, of which some go plainly: seconds, and the turns that they had.

    How long a step takes depends on how often loops go. So seconds are compared with what the same
    turns take plainly, as it was measured in each loop.
    """

    def __init__(self) -> None:
        self._calls, self._ends = 0, _FIRST
        self._step: _Step | None = None
        self._clear()
        self._slower = 0

    def _clear(self) -> None:
        self._seconds, self._turns = [0.0, 0.0], [list[int](), list[int]()]

    def comes(self) -> bool:
        """A call begins; whether it, or the one before, is one of those that are compared."""
        self._calls += 1
        return self.is_near

    @property
    def is_near(self) -> bool:
        """Whether calls are being compared."""
        return self._calls >= self._ends - _STEPS

    def begins(self, turns: list[int], spent: float) -> bool:
        """One that is compared begins, after so many ``turns`` of each loop; is it a plain one?

        What is ``spent`` on programs does not count.
        """
        thread, now = get_ident(), clock()
        if (step := self._step) is not None and step.thread == thread:
            self._seconds[step.plainly] += (now - step.began) - (spent - step.spent)
            pairs = zip_longest(self._turns[step.plainly], turns, step.turns, fillvalue=0)
            self._turns[step.plainly] = [n + after - before for n, after, before in pairs]
        plainly = self._calls - (self._ends - _STEPS) in _PLAINLY
        self._step = _Step(thread, now, spent, turns, plainly)
        return plainly

    def is_interrupted(self) -> None:
        """A call comes that is none of these: what the step before has taken is not known."""
        self._step = None

    def ends(self, plain: Sequence[float]) -> bool:
        """Whether the comparison has ended, and calls are slower.

        ``plain`` are the seconds that a turn of each loop takes without programs.
        """
        if self._calls < self._ends:
            return False
        seconds = self._seconds
        expected = [
            sum([n * each for n, each in zip(turns, plain, strict=False)]) for turns in self._turns
        ]
        if all(expected):
            ratio = seconds[False] / expected[False] * expected[True] / max(seconds[True], 1e-9)
            slower = ratio > (_SLOWER if self._ends <= _SELDOM else _SLOWER_LATER)
            self._slower = self._slower + 1 if slower else 0
        # What was slower is not left so for long.
        self._ends += _FIRST if self._slower else min(self._ends, _SELDOM)
        self._step = None
        self._clear()
        return self._slower >= _TWICE
