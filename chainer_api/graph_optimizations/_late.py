"""Calls whose program runs late: with the functions that the caller applies to their results.

In: calls that go without their Python, and what is done with their results outside of them, up to
the first look at values, or backward: further calls, and the loss, mostly. Out: where that is the
same again and again, such a call computes nothing, and gives promises; at the first look one
program computes it together with what has been done since. What may not happen: a number or an
exception that another moment would make another one of; and calls that take longer since nothing
comes of it.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chainer import _tracing, configuration
from chainer.function_node import next_number
from chainer.variable import Parameter, Variable

from ._carrier import Carrier
from ._device import ARRAYS
from ._direct import Direct
from ._errors import errors_are_raised
from ._held import LARGE
from ._joined import has_some, joint_of
from ._lean import Need, Ran, ends_of, some_leaf_comes_again
from ._limits import Limit, are_within
from ._python import LOCAL, refs
from ._residual import MISS
from ._run import HELD_FUNCTION, NEW, Run, Sync, as_they_were
from ._tree import matches_nothing, reads, specs_of
from ._values import Snapshot

if TYPE_CHECKING:
    from chainer.function_node import FunctionNode

    from ._plan import Plan
    from ._settings import Settings
    from ._site import Site
    from ._specs import Spec
    from ._tree import Application

_FIRST, _FIRST_AT_ONCE = 96, 8  # uses of a proof until it is seen what comes after its calls
_SEEN = 2  # times that the same has come, until it gets a program
# Calls that are looked at; times, each so many times as late as the last.
_IN_A_ROW, _TRIES, _LATER = 4, 4, 4
_CALLS = 4  # of those that come after one, at first; later four times as many each time
_WAITED = 8  # times that the next call was one that did not go without its Python yet
_NOTHING_CAME = 0.25  # so much of one counts one that may not be the last call of its step
_IN_VAIN = 3  # steps in a row in whose calls nothing came: it is tried again later
# Functions that may come after a call; and how many small ones they are worth at least: to put a
# call off takes as long as to apply two (30 us; forward and backward of 36 losses).
_MOST, _LEAST = 64, 3
_MOST_JOINED = 768  # where further calls are among them
_PIECES_OF_FUNCTION = 2  # fewer, in the account's eyes, for each of these functions
_COUNTED, _SELDOM = 8, 64
_OVER = "values were looked at"
_NEXT = "the next call"
_WHY = "the same functions have come after calls"
_ONE_BY_ONE = "functions of its results are applied one by one"
_WATCHED = "what comes after other calls was looked at"
_NOTHING = (), {}  # what is drawn
_state = _tracing.state
#: What may stand behind the program in the code of a call: nothing that reads an array.
_HARMLESS = re.compile(
    r"\s*(\w+ = (tuple\()?\[[\w, ]*\]\)?|\w+ = \{[\w', :]*\}|\w+\.\w+ = \w+|holds\(carrier\)"
    r"|pass|return \(?[\w, ]*\)?)")


class Late:
    """What comes after the calls of a proof.

    It holds neither that nor its code: the parameters that these hold go with the chain, at once.
    """

    def __init__(self, app: Application, settings: Settings, undoes: bool) -> None:
        self.app, self.settings, self._undoes = app, settings, undoes
        at_once = configuration.peek("static_budget") is None
        self.at: float = _FIRST_AT_ONCE if at_once else _FIRST  # the use that is looked at
        self._seen = self._tries = self._in_vain = 0
        self._in_a_row = 0.0
        self._end: Application | None = None  # where the last call that was noted has ended
        self._end_at = 0  # its use
        self._noted = 0, 0  # the use of the last one at all, and plain calls until it has ended
        #: Of how many calls the last is put off, and how many come before the next that is.
        self._period, self._before = 1, 0
        self.own = 0  # calls of the proof that are computed together with one, at most
        self._others: list[Any] = []  # methods of which there are such calls
        #: Of so many calls the account looks at one.
        self.counted = _COUNTED
        #: Whether the next calls are to be computed together with one, and whether that may be.
        self.joins, self._may_join, self._waited = False, True, 0
        self.most_calls = _CALLS  # that are looked at after one
        #: The program of calls, and the code in which it stands.
        self._direct: Callable[[], Direct | None] = _nothing
        self._replay: Callable[[], Any] = _nothing
        self.name = ""  # of the program, there
        self.plan: Any = None  # of that program
        self._draws = False
        self.limits: list[Limit] = []  # of what the call takes
        self.else_rests = False  # whether calls are left alone otherwise
        #: By where a call ends: what computes it with all that has come, what runs that, and the
        #: specs of what its pieces give, by slot.
        self._programs: dict[Application, tuple[Plan, Any, dict[int, Spec]]] = {}
        self.leaves: list[int] = []  # slots of what functions of the call take
        #: Those of small parameters, of which nothing that comes after the call takes any.
        self.small: list[int] = []
        self.others: list[int] = []
        self.promises: list[tuple[int, Any]] = []  # slots of the results, and what they get
        self.places: list[float] = []  # of the functions, among the numbers of all

    # -- when

    def after_call(self, site: Site, use: int, carrier: Carrier, replay: Any) -> None:
        """A call has gone without its Python, which was the proof's so many-th ``use``."""
        if carrier.late is not None:
            Following(site, self, carrier, use).begin()
        elif use >= self.at:
            self._is_due(site, use, carrier, replay)

    def _is_due(self, site: Site, use: int, carrier: Carrier, replay: Any) -> None:
        """See what comes after this call, or what it takes to have those to come be late."""
        self.at = use + 1
        if not _may_wait():
            return
        if not self.may_be_joined(replay):
            self.at = use + _FIRST
        elif self._programs:
            self.at, self._in_vain, self.counted = math.inf, 0, _SELDOM
            self._before = (self._end_at - use - 1) % self._period
            self._goes_late(True)
        else:
            Noting(site, self, carrier, use).begin()

    def may_be_joined(self, replay: Any) -> bool:
        """Whether calls by this code may be computed with others."""
        return self._replay() is replay or self._may_be_late(replay)

    def _may_be_late(self, replay: Any) -> bool:
        """Whether a call's code does nothing behind its program that needs values."""
        self._goes_late(False)
        lines = replay.text.splitlines()
        runs = [k for k, line in enumerate(lines) if ".run(carrier)" in line]
        if len(runs) != 1 or not self._may_be_put_off():
            return False
        self.name = lines[runs[0]].partition(".run(carrier)")[0].strip()
        direct = replay.names.get(self.name)
        behind = [line for line in lines[runs[0] + 1 :] if line.strip()]
        end = next((k for k, line in enumerate(behind) if line.lstrip().startswith("return")), -1)
        if type(direct) is not Direct or end < 0:
            return False
        if not all(map(_HARMLESS.fullmatch, behind[: end + 1])):
            return False
        path = self.app.path(1)
        if list(direct.plan.apps) != path or direct.plan.same:
            return False  # arrays of results come in between
        if any([piece.written or piece.gpu is not None for piece in direct.plan.pieces]):
            return False
        specs, made = specs_of(path), {slot for app in path for slot in app.output_slots}
        self._direct, self._replay = weakref.ref(direct), weakref.ref(replay)
        self.plan = direct.plan
        self._draws = any([app.draws for app in path])
        self.limits = [limit for app in path for limit in app.limits or ()]
        self.leaves = [slot for slot in specs if slot not in made]
        self.promises = [
            (slot, _tracing.promise(specs[slot].shape, specs[slot].dtype))
            for slot in direct.plan.results]
        n = self.app.depth
        self.places = [(k + 1 - n) / n for k in range(n)]
        return True

    def may_help(self, use: int) -> bool:
        """See at once what comes after calls, which are slow; whether that may help."""
        if self._tries or self._programs or self.else_rests or not self._may_be_put_off():
            return False
        self.at, self.else_rests = use + 1, True
        return True

    def has_other_code(self, use: int) -> None:
        """Guards of the calls are left out anew, by code that knows nothing of this."""
        if self._programs and self._in_vain < _IN_VAIN:
            self.at = use + 1

    def _may_be_put_off(self) -> bool:
        """Whether the functions do nothing but to compute their results."""
        if self._undoes or self.app.sizes is not None:
            return False
        return not any([
            app.numbers or app.writes or app.may_raise or app.eager is not None
            for app in self.app.path(1)])

    def _goes_late(self, late: bool) -> None:
        if (direct := self._direct()) is not None:
            direct.put_off = self._put_off if late else None
            direct.goes()

    def _put_off(self, carrier: Carrier) -> bool:
        """Have promises in the place of the results; False if the call is to be computed now."""
        if self._before:
            self._before -= 1
            return False
        self._before = self._period - 1
        if not carrier.rests or not _may_wait() or not self._others_go_on():
            self._before += self.own
            return False
        values = carrier.values
        if self.limits and not are_within(values, self.limits):
            return False
        for slot, promise in self.promises:
            values[slot]._array = promise
        carrier.late = (carrier.drawn, carrier.states) if self._draws else _NOTHING
        return True

    def _others_go_on(self) -> bool:
        """Whether calls of other methods, which are to come, may be computed with this one."""
        sites = [other() for other in self._others]
        if None in sites:  # gone with its object; there may be another one by now
            self._others = [other for other in self._others if other() is not None]
        return all([site.goes_on_briefly() for site in sites if site is not None])

    # -- what comes

    def has_come(self, site: Site, run: Noting) -> None:
        """It was noted what comes after a call."""
        end, use = run.app, run.use
        sync = run.syncs[0] if run.syncs else None
        begins = (use - 1, run.plain_before) == self._noted
        self._noted = use, site.ledger.plain_calls
        if run.is_in_call:  # that is read in the middle
            self._tries_later(use)
        elif len(run.calls) == self.most_calls and run.has_met_call:
            self.most_calls *= _LATER
            self._tries_later(use, likewise=True)
        elif run.has_met_other and self._waited < _WAITED:
            self._waited += 1
            self.at = use + _FIRST // 4 * self._waited
        elif run.has_met_call and self._may_join:
            self._tries_with_calls(use)
        elif sync is None:
            self._tries_later(use)
        elif end is self.app:  # perhaps the next one is the last of its step
            self._goes_on(use, _NOTHING_CAME)
        elif self.joins and not begins:  # perhaps others have come before it in its step
            self._goes_on(use)
        elif end is not self._end:
            self._end, self._end_at, self._seen = end, use, 1
            self._goes_on(use)
        else:
            self._seen += 1
            # Of threads that call at once, two may have the same use.
            self._period = 1 if run.calls else max(use - self._end_at, 1)
            self._end_at = use
            if self._seen < _SEEN or not self._is_compiled(site, sync, run):
                self._goes_on(use)
        if self._tries and not self._programs:
            self._tell(site, end)

    def _tell(self, site: Site, end: Application) -> None:
        """Say that somebody takes gradients through functions that no program computes."""
        for app in end.path(self.app.depth + 1):
            if any([spec.requires_grad for spec in app.outputs]):
                site.ledger.add_once("outside", _ONE_BY_ONE, app.origin.place)
                return

    def _goes_on(self, use: int, share: float = 1.0) -> None:
        """The next call is looked at, too, but for some."""
        self._in_a_row += share
        if self._in_a_row >= _IN_A_ROW * (1 + self.joins):
            self._tries_later(use)

    def _tries_with_calls(self, use: int) -> None:
        """What comes after the next call is looked at with the calls among it."""
        self._in_a_row, self._seen, self._end = 0.0, 0, None
        self.joins, self._may_join, self.at = True, False, use + 1

    def _tries_later(self, use: int, likewise: bool = False) -> None:
        """What has come was no good; or it may be, ``likewise``, later on."""
        self._in_a_row, self._seen, self._end = 0.0, 0, None
        if likewise:
            self.joins, self._may_join = False, True
        elif self.joins and not self._programs:  # perhaps the last call of a step goes by itself
            self.joins, self.at = False, use + 1
            return
        self._tries += 1
        self.at = use + _FIRST * _LATER**self._tries if self._tries < _TRIES else math.inf

    def was_in_vain(self, use: int, to_come: int) -> None:
        """A call was late, and no program has served it together with what came after it.

        So many calls of the proof are likely ``to_come`` in the same step, which are no better.
        """
        self._in_vain, self._before = self._in_vain + 1, to_come
        if self._in_vain >= _IN_VAIN * max(self._period, 1 + self.own):
            self._goes_late(False)
            self.counted = _COUNTED
            self._tries_later(use)

    def has_served(self) -> None:
        self._in_vain = 0

    def program(self, end: Application) -> tuple[Plan, Any, dict[int, Spec]] | None:
        """What computes a call with all that has come after it; None if there is no such."""
        found = self._programs.get(end)
        if found is not None and end.plans.get(-1) is found[0] and found[0].ready():
            return found
        return None

    def _is_compiled(self, site: Site, sync: Sync, run: Noting) -> bool:
        """Make the program, if that pays by now; whether there is one, or is to be none."""
        app, path, depth = sync.app, sync.app.path(1), self.app.depth
        worth = sum([a.weight for a in path[depth:]])
        if run.has_met_call and not run.calls:  # each of several calls would be put off by itself
            worth = len(path) - depth
        # Who applies a function himself may look at what it leaves on itself.
        if worth < _LEAST or any([a.eager is not None for a in path]) or any(
                [a.direct for a in path[depth:]]):
            self._tries_later(run.use)
            return True
        wanted = sync.alive
        ends = None if some_leaf_comes_again(path) else ends_of(app, 1)
        need = Need([Ran(app, 1, None, 0, [], {}, 0, 0, "")], wanted, frozenset(), {}, ends)
        more = _PIECES_OF_FUNCTION * (app.depth - depth)
        if site.account.wait_for_lean(len(path), more, run.use, self.else_rests, 0):
            self._tries_later(run.use, likewise=True)
            return True
        for a in path[depth:]:
            a.asks_limits = True
        plans = site.compile_lean([need], site.names_of(run), _WHY)
        pieces = () if plans is None else plans[0].pieces
        # Pieces that draw take their time: several of them more than they save.
        slow = any([p.written for p in pieces]) or pieces[1:] and any([a.draws for a in path])
        if plans is None or slow or any([a.may_raise for a in path]):
            self._tries_later(run.use)
            return True
        joints = [joint_of(*call) for call in run.calls]
        if not all(joints):  # some such calls do not go without their Python yet
            self._tries_later(run.use, likewise=True)
            return True
        for (_, begin, _), joint in zip(run.calls, joints, strict=True):
            begin.joints = (*[j for j in begin.joints if not j.is_like(joint)], joint)
        for a in path[depth:]:
            a.anywhere = True
            a.renew()
        for a in path:
            a.becomes(hot=True)
        self.own = max(self.own, sum([joint.is_of_calls_like(self) for joint in joints]))
        self._others += [
            weakref.ref(other) for other, *_ in run.calls
            if other is not site and other not in [known() for known in self._others]]
        self.counted = _SELDOM
        plan, specs = plans[0], specs_of(path)
        given = {slot: specs[slot] for slot in plan.given}
        self._programs[app] = plan, plan if pieces[1:] else Direct(plan), given
        ends = [*self._programs]
        later = {slot for end in ends for a in end.path(depth + 1) for slot in reads(a)}
        self.small = [
            slot for slot in self.leaves if slot not in later
            and specs[slot].kind is Parameter and _bytes_of(specs[slot]) < LARGE]
        self.others = [slot for slot in self.leaves if slot not in self.small]
        self.at = run.use + 1
        return True


def _nothing() -> None:
    """What is not there."""


def _bytes_of(spec: Spec) -> int:
    return math.prod(spec.shape) * spec.dtype.itemsize


def _may_wait() -> bool:
    """Whether a call is its caller's own, and may be computed later."""
    if _state.site is not None or _state.inside or _state.trace is not None:
        return False
    return not errors_are_raised() and bool(configuration.peek("static_step"))


def _ends(door: Callable[..., Any]) -> Callable[..., Any]:
    """A door of runs: after the first look nothing more comes."""

    @functools.wraps(door)
    def call(self: AfterCall, *args: Any) -> Any:
        try:
            return door(self, *args)
        finally:
            if self.is_over():
                self.ends()

    return call


class AfterCall(Run):
    """From the end of a call up to the first look."""

    __slots__ = ("_inside", "late", "use")

    is_late = True

    def joined(self, site: Site, chain: Any, args: Any, kw: Any) -> Any:
        """The result of the call that comes next, if it is computed with this one.

        Else MISS, and nothing is heard of it.
        """
        raise NotImplementedError

    def __init__(self, site: Site, late: Late, carrier: Carrier, use: int) -> None:
        self.start(site, late.settings)
        self.late, self.use, self.app = late, use, late.app
        self._inside = 0

    def begin(self) -> None:
        """Hear of all that is applied, and looked at, from now on."""
        _tracing.begin(self)
        _tracing.late_runs[id(self)] = self

    def uses(self, x: Variable) -> bool:
        """Whether a Variable is one of those that were there before the call."""
        return id(x) in self.bound

    def is_over(self) -> bool:
        """Whether somebody has looked."""
        return self.stopped is not None

    def plainly(self, func: FunctionNode, inputs: Any) -> Any:
        self._inside += 1  # the function may be the user's, and look at something
        try:
            return super().plainly(func, inputs)
        finally:
            self._inside -= 1

    look = _ends(Run.look)
    looked_at_array = _ends(Run.looked_at_array)
    rebinds = _ends(Run.rebinds)
    stop = _ends(Run.stop)

    @_ends
    def looked_at(self, x: Any, array: Any) -> None:
        if array is None and self.stopped is None:
            self.settle("what a function retains")  # it is to be there, in a node
        else:
            Run.looked_at(self, x, array)

    def settle(self, why: str) -> None:
        try:
            if threading.get_ident() == self.thread:
                super().settle(why)
            else:
                self.settle_from_outside(why)
        finally:
            self.ends()

    def settle_from_outside(self, why: str) -> None:
        """Another thread has something to do that the call is to come before."""
        with self.lock:
            self.halted = True
            try:
                while self.busy:
                    threading.Event().wait(1e-5)
                super().settle(why)
            finally:
                self.halted = False

    def ends(self) -> None:
        """Nothing more is heard of."""
        self.stopped, self.step = self.stopped or _OVER, _goes_plainly
        _tracing.end(self)
        _tracing.late_runs.pop(id(self), None)
        if self._inside or self.busy or threading.get_ident() != self.thread:
            return  # it is going to hear of the next function
        if _state.run is self:
            _state.run = None


def _goes_plainly(run: AfterCall, func: FunctionNode, inputs: Any) -> Any:
    """It is over."""
    outs = run.plainly(func, inputs)
    if _state.run is run:
        _state.run = None
    return outs


class Noting(AfterCall):
    """Sees what comes after a call that was computed."""

    __slots__ = (
        "_has_told", "calls", "has_met_call", "has_met_other", "is_in_call", "plain_before")

    def __init__(self, site: Site, late: Late, carrier: Carrier, use: int) -> None:
        super().__init__(site, late, carrier, use)
        values = carrier.values
        self.count, self._keeps = len(values), True
        self._seen = {id(v): (k, weakref.ref(v)) for k, v in enumerate(values) if v is not None}
        self.step, self._has_told = matches_nothing, False
        self.plain_before = site.ledger.plain_calls
        #: The calls among it: of which methods, and where on the tree they begin and end.
        self.calls: list[tuple[Site, Application, Application]] = []
        #: Whether another call has come which is not looked at, or not yet, and whether in one.
        self.has_met_call = self.has_met_other = self.is_in_call = False

    def joined(self, site: Site, chain: Any, args: Any, kw: Any) -> Any:
        """Goes with its Python, as a part of what comes."""
        if self.is_in_call or self.stopped is not None:
            pass
        elif not has_some(site):
            self.has_met_other = True
        elif self.late.joins and len(self.calls) < self.late.most_calls:
            site.ledger.went_plainly(_WATCHED)
            site.account.called_asleep()
            begin, self.is_in_call = self.app, True
            try:
                result = site.method(chain, *args, **kw)
            finally:
                self.is_in_call = False
            self.calls.append((site, begin, self.app))
            return result
        else:
            self.has_met_call = True
        if not self.is_in_call:
            self.settle(_NEXT)
        return MISS

    def _note(self, func: FunctionNode, inputs: Any) -> Any:
        if self.app.depth >= self.late.app.depth + (_MOST_JOINED if self.calls else _MOST):
            self.stopped = NEW
            self.ends()
            return self.plainly(func, inputs)
        return super()._note(func, inputs)

    def _noted_sync(self) -> None:
        """The first look ends it."""
        if self.stopped is None:
            self.syncs.append(Sync(self.app, 1, self._noted_alive()))
            self.stopped = _OVER

    def ends(self) -> None:
        if not self._has_told:  # who stops a run has it settled before
            self._has_told = True
            self.late.has_come(self.site, self)
        super().ends()


class _Alone(Carrier):
    """Of a call that is computed later than others have been applied."""

    places: list[float] = []  # noqa: RUF012 - set for each


class Following(AfterCall):
    """Computes a call together with what comes after it."""

    __slots__ = ("_bytes", "_own", "_small", "joint", "rests")

    def __init__(self, site: Site, late: Late, carrier: Carrier, use: int) -> None:
        super().__init__(site, late, carrier, use)
        self.rests = True  # the account does not look at this call
        self._own = 0  # calls of the same proof among what has come
        drawn, self.states = carrier.late
        self.drawn = [*drawn]
        self.values = values = carrier.values
        self.step = self.app.go
        self.funcs = [None] * self.app.depth
        number = next_number()
        self.places = [number + place for place in late.places]
        self.bound = {id(values[slot]): values[slot] for slot in late.leaves}
        for slot in late.others:
            self.guard_leaf(slot)
        self._small = [values[slot]._array for slot in late.small]
        self._bytes = [array.tobytes() for array in self._small]

    def guard_leaf(self, slot: int) -> None:
        """Guard what a call has taken from outside, if somebody else may write to it."""
        x = self.values[slot]
        array = x if type(x) in ARRAYS else x._array
        if array is x or refs(array) > 2 + LOCAL or array.base is not None:
            self.guard(slot)

    def joined(self, site: Site, chain: Any, args: Any, kw: Any) -> Any:
        """Gives promises, and computes nothing yet."""
        for joint in self.app.joints:
            if joint.is_of(site) and self.first == 1 and site.goes_on_briefly(self.site):
                self.busy = True  # other threads do not look meanwhile
                try:
                    if self.halted:
                        self.wait()
                    result = joint.call(self, site, chain, args, kw)
                finally:
                    self.busy = False
                if result is not MISS:
                    self._own += joint.is_of_calls_like(self.late)
                    return result
        self.settle(_NEXT)
        return MISS

    def settle(self, why: str) -> None:
        if self.busy or not self.funcs or threading.get_ident() != self.thread or self.halted:
            super().settle(why)
            return
        self.busy, self.computes = True, self.thread
        try:
            self._compute(why)
        finally:
            self.busy, self.computes = False, 0
            self.ends()

    def other(self, func: FunctionNode, inputs: Any) -> Any:
        for child in self._candidates(func, inputs):
            outs = child.match(self, func, inputs)
            if outs is not None:
                self.app.predict(child)
                return outs
        if self.funcs:
            self._compute("another way than before")
        self.ends()
        return self.plainly(func, inputs)

    def is_over(self) -> bool:
        return not self.funcs

    def _compute(self, why: str) -> None:
        late = self.late
        if self.first > late.app.depth:  # the call has been computed before
            super()._compute(why)
            return
        if [array.tobytes() for array in self._small] != self._bytes:
            self._guard_small()
        found = late.program(self.app)
        if found is None or not self._fits(found[0]):
            late.was_in_vain(self.use, late.own - self._own if why == _NEXT else 0)
            self._compute_call()
            return
        plan, program, given = found
        for slot, spec in given.items():
            if self.values[slot] is None:
                self.values[slot] = _promised(spec)
        if (error := self._failure_of(program)) is not None:
            self._after_failure(plan, why, error)
        else:
            late.has_served()
            self._done()

    def _guard_small(self) -> None:
        """A parameter was written since."""
        for slot, array, before in zip(self.late.small, self._small, self._bytes, strict=True):
            self.guards[slot] = array, Snapshot(array, before)

    def _fits(self, plan: Plan) -> bool:
        """Whether a program gives all that somebody holds, of what is as it was."""
        values, results, n = self.values, plan.results, self.late.app.depth
        for slot in plan.slots:
            # Held here: by ``values`` and getrefcount's argument.
            if slot not in results and values[slot] is not None and refs(values[slot]) > 2:
                return False
        if any([slot not in results for slot, _ in self.aliases]):
            return False
        if any([
                refs(f) > HELD_FUNCTION and f is not None
                for f in itertools.islice(self.funcs, n, None)]):
            return False
        return not self._changed_guards()

    def _compute_call(self) -> None:
        """Compute the call alone, and apply what has come since."""
        path = self.late.app.path(1)
        n, draws = len(path), sum([len(app.draws) for app in path])
        alone = _Alone()
        alone.values, alone.places = self.values, self.places[:n]
        if draws:
            alone.drawn = self.drawn[:draws]
            alone.states = {app: s for app, s in self.states.items() if app in path}
        with as_they_were(self.guards, self.late.leaves):
            error = self._failure_of(self.late.plan, alone)
        if error is not None:
            self._after_failure(self.late.plan, "end", error)
            return
        self.given.update([id(self.values[slot]) for slot in self.late.plan.results])
        self.funcs, self.places, self.drawn = self.funcs[n:], self.places[n:], self.drawn[draws:]
        self.states = {app: s for app, s in self.states.items() if app not in path}
        self.first = n + 1
        if self.funcs:
            self._realize("end", "no program", noted=False)
        else:
            self._done()

    def _realize(self, why: str, detail: str, noted: bool = True) -> None:
        """Apply all functions, those of calls as well."""
        self._make_functions()
        super()._realize(why, detail, noted)

    def _make_functions(self) -> None:
        """Have the functions of calls, and Variables for their results, as their Python has."""
        values = self.values
        for app, func in zip(self.app.path(self.first), self.funcs, strict=True):
            if func is not None:
                continue
            self.funcs[app.depth - self.first] = app.with_arrays(values.__getitem__)
            for slot, spec in zip(app.output_slots, app.outputs, strict=True):
                if values[slot] is None:
                    values[slot] = _promised(spec)


def _promised(spec: Spec) -> Variable:
    """The Variable of a result that is to be computed."""
    array = _tracing.promise(spec.shape, spec.dtype)
    return Variable(array, requires_grad=bool(spec.requires_grad))
