"""Whether steps are slower with programs, for whatever reason.

In: when calls begin, and how many there have been. Out: which calls go plainly, to be compared with
those around them: from one call to the next, with backward, the update, and what it takes to look
for programs, also where none serves the call. What may not happen: programs that are given up, or
kept, by what noise has decided; or plain calls that take more time than they can save.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from threading import Lock, get_ident
from typing import NamedTuple

from ._account import clock
from ._chance import Chance

# Calls in a row that are compared with as many: backward may come behind some of them only. Fewer
# where they take long, or where programs seem to gain: then a look is enough.
_CALLS, _FEW, _LONG = 16, 8, 1e-3
_FIRST = 192  # calls before the first comparison
_PAIRS, _MOST = 6, 32  # pairs of such windows until they tell something, and at most
_MOST_OF = 80  # per cent of them tell of a gain of which the account does not know
_OF_LATE = 10  # the last of them
_CHANCE = 0.016  # of a verdict that is none
# Of these, the logarithm of the ratio: what matters, what is likely if nobody can be sure of it by
# the most pairs, and what is taken for a gain: at a glance, and by the fewest pairs.
_MATTERS, _LIKELY, _GAIN, _SEEMS = 0.02, 0.03, -0.2, -0.1
_COST = 0.01  # of the time of calls may go into plain ones, where programs gain
# Calls between two comparisons, and at most where it is not sure that programs gain.
_SOONEST, _LATEST, _DOUBTED = 256, 1 << 16, 1 << 12
# Calls before a comparison of what has not been asked for a while, and so many: it has rested.
_WARM, _AWHILE = 32, 128
# Windows become twice as long where bounds are as far apart in the end, up to so many times.
_WIDE, _LONGEST = 0.1, 8
_RARELY = 8  # times as many calls as plain ones, until what has told nothing is done again
_GONE = 4096  # calls of other threads after which the one that has begun a window has gone


class _Window(NamedTuple):
    """Some calls in a row."""

    thread: int
    calls: int  # that there were before
    began: float
    spent: float
    plainly: bool


@functools.cache
def _outside(n: int) -> int:
    """How many of ``n`` numbers lie above their distribution's median, at least, but by chance."""
    left, k = _CHANCE * 2**n, 0
    while (left := left - math.comb(n, k)) >= 0.0:
        k += 1
    return k


class Verdict(NamedTuple):
    """How many times as long steps take, as a logarithm: at least, about, and at most.

    Whatever else falls into a window (an evaluation, what another model does): bounds of a median
    by order statistics know nothing of how the pairs are distributed.
    """

    least: float
    about: float
    most: float

    @classmethod
    def of(cls, pairs: Sequence[float]) -> Verdict:
        pairs, k = sorted(pairs), _outside(len(pairs)) - 1
        return cls(pairs[k], statistics.median(pairs), pairs[-1 - k])


class Comparison:
    """Pairs of windows: of calls as they are, and of plain ones.

    Which comes first, and how long they are, is by chance: other methods are compared at the same
    time.
    """

    _made = 0

    def __init__(self) -> None:
        #: With so many calls there is something to be done.
        self.due = _FIRST
        #: How many times as long steps take, at least, as a logarithm: if that has just turned out.
        self.slower_by = 0.0
        #: Seconds that they take less for each call: likewise.
        self.saves_each = 0.0
        self._window: _Window | None = None
        self._pairs: list[float] = []
        self._plain: list[float] = []  # seconds of a call in the plain window of each
        self._took: list[tuple[bool, float]] = []  # the windows of a pair: seconds of a call
        self._least = self._size = _CALLS  # calls of a window: of all, and of this one
        self._longer = 1  # how many times as long they are, as shorter ones have told nothing
        self._seems_to_gain = False
        Comparison._made += 1
        self._chance = Chance(Comparison._made)
        self._lock = Lock()  # of threads that come at the same time, one counts
        # Whether several threads call: those of one are counted, each as it comes.
        self._each, self._own = False, 0

    def comes(self, calls: int, spent: float, seconds: float, gains: bool) -> int:
        """A call begins, after so many: how many are to go plainly, with this one.

        ``spent`` are the seconds that went into programs. A plain call takes so many ``seconds``,
        and programs seem to gain or not. Asked when it is due.
        """
        if not self._lock.acquire(blocking=False):
            return 0
        try:
            window = self._window
            if window is not None:
                return self._goes_on_in(window, calls, spent)
            if calls - self.due > _AWHILE:
                self.due = calls + _WARM
                return 0
            self._least = _FEW if gains or seconds >= _LONG else _CALLS
            self._least *= self._longer
            self._seems_to_gain = gains
            return self._begins_pair(calls, spent)
        finally:
            self._lock.release()

    def _goes_on_in(self, window: _Window, calls: int, spent: float) -> int:
        if window.thread != get_ident():
            if not self._each or calls - window.calls > _GONE:
                self._each = True
                self.begins_anew(calls + 1)
            return 0
        if self._each:
            self._own += 1
            if self._own < self._size:
                return int(window.plainly)
        return self._ends(window, calls, self._own if self._each else calls - window.calls, spent)

    def _ends(self, window: _Window, calls: int, n: int, spent: float) -> int:
        if n <= 0:
            self.begins_anew(calls + self._size)
            return 0
        took = self._took  # others may begin anew
        # What is spent has a budget, and is to come back later on.
        seconds = clock() - window.began - (spent - window.spent)
        took.append((window.plainly, max(seconds, 1e-9) / n))
        if len(took) == 2:
            (_, plain), (_, usual) = sorted(took, reverse=True)
            self._pairs.append(math.log(usual / plain))
            self._plain.append(plain)
            self._took = []
            return self._begins_pair(calls, spent) if self._goes_on(calls) else 0
        return self._begin(calls, spent, not window.plainly)

    def _begins_pair(self, calls: int, spent: float) -> int:
        self._size = self._least + self._chance.below(self._least // 2)
        return self._begin(calls, spent, plainly=bool(self._chance.below(2)))

    def _begin(self, calls: int, spent: float, plainly: bool) -> int:
        self.due, self._own = calls + (1 if self._each else self._size), 0
        self._window = _Window(get_ident(), calls, clock(), spent, plainly)
        return (1 if self._each else self._size) if plainly else 0

    def begins_anew(self, due: int) -> None:
        """With such a call, whatever is known so far."""
        self._window, self._took, self._pairs, self.due = None, [], [], due
        self._plain, self.slower_by, self.saves_each = [], 0.0, 0.0

    def _goes_on(self, calls: int) -> bool:
        """Whether another pair is needed; else it is decided."""
        pairs = self._pairs
        if self._seems_to_gain and len(pairs) > 1 and max(pairs) < _GAIN:
            self._gains(calls, max(pairs))
            return False
        if len(pairs) < _PAIRS:
            return True
        found, of_late = Verdict.of(pairs), Verdict.of(pairs[-_OF_LATE:])  # programs may be new
        at_last = len(pairs) >= _MOST
        least = max(found.least, of_late.least)
        if least > _MATTERS or at_last and found.about > _LIKELY:
            self.begins_anew(calls + _SOONEST)
            self.slower_by = max(least, _MATTERS)
            return False
        # To be sure of a gain takes plain calls, and there is no harm in keeping on. But where the
        # account sees none, half of the pairs are not enough: those of which other work has come
        # into the plain window.
        gain = found.about
        if not self._seems_to_gain:
            gain = sorted(pairs)[_MOST_OF * len(pairs) // 100]
        seems = gain < (_SEEMS if len(pairs) < 2 * _PAIRS else -_LIKELY)
        if found.most < 0.0 or seems or at_last:
            if at_last and found.most - found.least > _WIDE:
                self._longer = min(2 * self._longer, _LONGEST)
            self._gains(calls, min(gain, 0.0))
            if found.most >= 0.0 and not self._seems_to_gain:
                self.due = min(self.due, calls + _DOUBTED)
            if at_last:  # it took that many, half of them plain
                self.due = max(self.due, calls + _RARELY * self._size * len(pairs))
            return False
        return True

    def _gains(self, calls: int, ratio: float) -> None:
        """Programs gain, or it does not matter: it is asked again when that has paid for it."""
        gap = self._size * len(self._pairs) * (math.exp(-ratio) - 1.0) / _COST
        each = (1.0 - math.exp(ratio)) * statistics.median(self._plain)
        self.begins_anew(calls + int(min(max(gap, _SOONEST), _LATEST)))
        self.saves_each = each
