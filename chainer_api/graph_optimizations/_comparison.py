"""Whether steps are slower with programs: those of loops, or of calls that gain little.

In: when calls begin, and how much of what differs between them each has. Out: whether the steps
from one call to the next take longer than those of some calls in a row that go plainly. What may
not happen: programs that are given up, or kept, by what noise has decided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from threading import get_ident
from typing import NamedTuple

from ._account import clock


class _Window(NamedTuple):
    """Steps that are compared, and those of them that go plainly.

    These are in a row, since a method may be called several times before one backward, which only
    the last of these steps has.
    """

    steps: int
    plainly: range


_WINDOW = _Window(96, range(36, 60))
_GLANCE = _Window(24, range(9, 15))  # where programs seem to gain: whether to look more closely
_FIRST, _SELDOM = 288, 1024  # call with which the first comparison ends; calls between later ones
_SLOWER, _SLOWER_LATER = 1.1, 1.06  # times as long: while programs come, and later
_TWICE = 2  # comparisons in a row: by the first one, not all programs are there
# Times as long, without regard to how different steps are, in so many comparisons in a row: what is
# too little to be told from noise by one of them is told by all.
_ABOVE, _EACH_TIME = 1.04, 4
_AGAIN = 128  # calls after which it is seen again whether they are slower, once they have rested


_Took = tuple[float, list[int]]  # seconds of a step, and its turns of each loop


class _Step(NamedTuple):
    """From the beginning of a call to that of the next one: with its backward, and the update."""

    thread: int
    began: float
    spent: float
    turns: list[int]
    plainly: bool


class _Pace(NamedTuple):
    """Seconds of steps for each second that their turns take plainly; and how far it may be off.

    ``error`` is that of as many steps as go plainly, as a part of the ratio.
    """

    ratio: float
    error: float

    @classmethod
    def of(cls, steps: Sequence[_Took], plain: Sequence[float], n: int) -> _Pace | None:
        """None where no step had turns of which it is known what they take; ``n`` go plainly."""
        expected = [
            sum([n * each for n, each in zip(turns, plain, strict=False)]) for _, turns in steps]
        seconds = [took for took, _ in steps]
        if sum(expected) <= 0.0:
            return None
        ratio = sum(seconds) / sum(expected)
        # Steps differ in more than turns, and a backward may come behind some of them only.
        off = [took - ratio * e for took, e in zip(seconds, expected, strict=True)]
        together = [sum(off[k : k + n]) for k in range(0, len(off), n)]
        each = sum(seconds) / len(together)
        error = math.hypot(*together) / max(len(together) - 1, 1) ** 0.5 / max(each, 1e-9)
        return cls(ratio, error)


class Comparison:
    """Some steps in a row, of which some go plainly: seconds, and the turns that they had.

    How long a step takes depends on how often loops go. So seconds are compared with what the same
    turns take plainly, as it was measured in each loop. Where no loops are open, calls are counted
    as such turns.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._window, self._starts = _WINDOW, _FIRST - _WINDOW.steps  # with this call
        self._step: _Step | None = None
        self._clear()
        self._slower = self._above = 0  # comparisons in a row
        self._doubts = False  # whether a glance says that all is slower

    def _clear(self) -> None:
        self._took = list[_Took](), list[_Took]()  # those that go as usual, and plainly

    def comes(self) -> bool:
        """A call begins; whether it, or the one before, is one of those that are compared."""
        self.calls += 1
        return self.is_near

    @property
    def is_near(self) -> bool:
        """Whether calls are being compared."""
        return self.calls >= self._starts

    def glances(self) -> None:
        """Calls seem to gain: fewer are compared, and the first ones not at all."""
        if self.calls != self._starts or self._above or self._doubts:
            return
        if self.calls < _FIRST:
            self._starts *= 2
        else:
            self._window = _GLANCE

    def begins(self, turns: list[int], spent: float) -> bool:
        """One that is compared begins, after so many ``turns`` of each loop; is it a plain one?

        What is ``spent`` on programs does not count.
        """
        thread, now = get_ident(), clock()
        if (step := self._step) is not None and step.thread == thread:
            pairs = zip_longest(turns, step.turns, fillvalue=0)
            made = [after - before for after, before in pairs]
            self._took[step.plainly].append(((now - step.began) - (spent - step.spent), made))
        plainly = self.calls - self._starts in self._window.plainly
        self._step = _Step(thread, now, spent, turns, plainly)
        return plainly

    def is_interrupted(self) -> None:
        """A call comes that is none of these: what the step before has taken is not known."""
        self._step = None

    def ends(self, plain: Sequence[float]) -> bool:
        """Whether the comparison has ended, and calls are slower.

        ``plain`` are the seconds that a turn of each loop takes without programs.
        """
        window, ends = self._window, self._starts + self._window.steps
        if self.calls < ends:
            return False
        found, self._doubts = self._ratio(plain), False
        if found is not None and window is _GLANCE:
            self._doubts = found.ratio > 1.0
        elif found is not None:
            self._above = self._above + 1 if found.ratio > _ABOVE else 0
            # By how much it is slower at least: steps do not take the same time each.
            least = found.ratio * math.exp(-found.error)
            slower = least > (_SLOWER if ends <= _SELDOM else _SLOWER_LATER)
            self._slower = self._slower + 1 if slower else 0
        self._window, self._step = _WINDOW, None
        self._clear()
        if self._doubts:
            self._starts = ends + 1
            return False
        # What was slower is not left so for long; what gains is hardly disturbed.
        later = ends if window is _GLANCE else min(ends, _SELDOM)
        is_slower = self._slower >= _TWICE or self._above >= _EACH_TIME
        if self._above:
            later = _AGAIN if is_slower else _FIRST
        self._starts = ends + later - _WINDOW.steps
        return is_slower

    def _ratio(self, plain: Sequence[float]) -> _Pace | None:
        """How many times as long steps take as those that go plainly; None: nobody knows."""
        n = len(self._window.plainly)
        usual, plainly = [_Pace.of(took, plain, n) for took in self._took]
        # Of those that were interrupted it is not known what they have taken.
        if usual is None or plainly is None or not all([2 * len(took) >= n for took in self._took]):
            return None
        return _Pace(usual.ratio / max(plainly.ratio, 1e-9), usual.error)
