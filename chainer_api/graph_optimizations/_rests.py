"""Whether the programs of a method rest: where steps are slower with them, it is left alone.

In: the calls of one method, and what its account, its proofs and what waits say. Out: which calls
go plainly, to be compared with those around them, and for how long programs rest. What may not
happen: programs that make steps slower for good, or that rest although something that is on its
way would make them faster.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from chainer import configuration

from ._comparison import Comparison
from ._of_site import OfSite
from ._report import line_of, way_of

if TYPE_CHECKING:
    from ._site import Site

TIMED = "timed, to know what programs save"
_NOT_SERVED = 1024  # calls without any program, after which it is seen what it takes to look
# Calls after the first programs, at most and at least: native code and proofs come, and steps tell
# little yet. Where steps are long, that takes fewer of them: as many as come to so many seconds.
_LEARNS, _LEARNS_SOON, _COMES_IN = 192, 48, 1.0
_COMPARED_AGAIN = 64  # calls after which it is seen again whether steps are slower
# Calls, and seconds of steps, until which it may be that these are slower only since more is to be
# compiled, but not by so much, as a logarithm; and how many calls until it is seen again.
_TO_COME, _SECONDS, _MUCH, _WAITS = 2048, 3.0, 0.14, 128
# Calls, and later four times as many each time, up to 64 times; the first time, too, where steps
# are slower by so much, at least, as a logarithm.
_FIRST_REST, _BY_FAR = 512, 0.1
_KNOWN = 0.9  # of calls without programs of their own, of which it is known where they go
_TOLD = 3  # rests that a report tells of


class Rests(OfSite):
    """Those of one method."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.steps = Comparison()  # with programs, and without them
        self.plainly = 0  # calls that are still to go plainly, to be compared
        self._looked_at = -1  # what the count was when more was looked for
        self.count = 0  # how often programs have rested since steps were slower

    def is_compared(self, calls: int) -> bool:
        """Whether a call, after so many, is to go without programs, so that steps are compared.

        The account adds up what calls and backwards take, but not what happens around these.
        """
        if self.plainly > 0:
            self.plainly -= 1
            return True
        site, steps = self.site, self.steps
        ledger, account = site.ledger, site.account
        # What has to wait for its first programs would be kept from them by a rest.
        asked = ledger.hits or site.loops_are_open or (
            calls >= _NOT_SERVED and (ledger.spent["trace"] or not site.waits))
        if not asked or site.sleep.rests_now or configuration.peek("static_budget") is None:
            steps.begins_anew(calls + _COMPARED_AGAIN)
            return False
        learns = self._calls_until_it_comes(_LEARNS_SOON, _LEARNS)
        if calls < (due := account.first_traced_at + learns) < math.inf:
            steps.begins_anew(int(due))
            return False
        gains = bool(ledger.hits) and not all([s.account.gains_little for s in site.with_turns()])
        plainly = steps.comes(calls, site.spent, account.plain, gains)
        if each := steps.saves_each:
            steps.saves_each = 0.0
            account.has_saved(each)
        if slower_by := steps.slower_by:
            is_early = calls < _TO_COME and account.of_steps < _SECONDS
            is_early = is_early and any([s.waits for s in site.with_turns()])
            goes_on = site.completes() or is_early and slower_by < _MUCH or self._looks_for_more()
            steps.begins_anew(calls + (_WAITS if goes_on else _COMPARED_AGAIN))
            if not goes_on:
                self._are_slower(slower_by)
        if plainly and site.calls_itself:  # those inside of a call are no calls
            self.plainly = plainly - 1
        elif plainly:
            ledger.let_pass(plainly - 1, TIMED)
            account.let_pass(plainly - 1)
        return plainly > 0

    def _calls_until_it_comes(self, least: int, most: int) -> int:
        """In how many calls what makes programs faster is there, by how long steps are."""
        account = self.site.account
        step = account.of_steps / max(account.calls, 1)
        return min(max(int(_COMES_IN / max(step, 1e-9)), least), most)

    def _looks_for_more(self) -> bool:
        """Have calls be noted that have left all ways with programs, once before each rest.

        They may be what slows steps, and nobody knows how often they go the same way.
        """
        if self._looked_at == self.count:
            return False
        self._looked_at = self.count
        sites = [s for s in self.site.with_turns() if s.account.known_share < _KNOWN]
        return any([site.looks_again() for site in sites])

    def _are_slower(self, slower_by: float) -> None:
        """Steps are slower than without programs."""
        site = self.site
        if site.loops_are_open:
            reason = "calls were slower with the turns of loops as calls: loops are closed"
            site.ledger.add("slower", reason, line_of(site.method))
            site.close_loops()
        site.account.has_saved_nothing()
        self.rest(slower_by)

    def rest(self, slower_by: float = 0.0) -> None:
        """Leave the method alone for a while, unless programs become faster at once."""
        site = self.site
        if site.proofs.become_lean() or site.proofs.are_put_off():
            return
        before, self.count = self.count, self.count + 1
        longer = before + (slower_by > _BY_FAR)
        site.sleep.begins_to_rest(_FIRST_REST << 2 * min(longer, 3))
        if site.native_is_coming():
            if not before:
                comes_in = self._calls_until_it_comes(_WAITS, _FIRST_REST)
                site.sleep.calls = min(site.sleep.calls, comes_in)
            return
        if calls := site.proofs.are_tried_in():
            # Programs that take longer with the method's Python may be faster without it.
            site.sleep.calls = min(site.sleep.calls, calls)
            return
        site.phrases.gives_up()
        if before < _TOLD:
            reason = f"programs were slower than define-by-run{way_of(site.last)}"
            site.ledger.add("slower", reason, line_of(site.method))
