"""Calls whose program runs late: with the functions that the caller applies to their results.

In: calls that go without their Python, and what is done with their results outside of them, up to
the first look at values, or backward: the loss, mostly. Out: where that is the same again and
again, such a call computes nothing, and gives promises; at the first look one program computes it
together with what has been done since. What may not happen: a number or an exception that another
moment would make another one of; and calls that take longer since nothing comes of it.
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
from ._lean import Need, Ran, ends_of, some_leaf_comes_again
from ._python import LOCAL, refs
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
_IN_A_ROW, _TRIES = 4, 4  # calls that are looked at; times, each four times as late as the last
_NOTHING_CAME = 0.25  # so much of one counts one that may not be the last call of its step
_IN_VAIN = 3  # calls in a row of which nothing came: it is tried again later
# Functions that may come after a call; and how many small ones they are worth at least: to put a
# call off takes as long as to apply two (30 us; forward and backward of 36 losses).
_MOST, _LEAST = 64, 3
_PIECES_OF_FUNCTION = 2  # fewer, in the account's eyes, for each of these functions
_OVER = "values were looked at"
_WHY = "the same functions have come after calls"
_ONE_BY_ONE = "functions of its results are applied one by one"
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
        #: Of how many calls the last is put off, and how many come before the next that is.
        self._period, self._before = 1, 0
        #: The program of calls, and the code in which it stands.
        self._direct: Callable[[], Direct | None] = _nothing
        self._replay: Callable[[], Any] = _nothing
        self.plan: Any = None  # of that program
        self._draws = False
        self.else_rests = False  # whether calls are left alone otherwise
        self._programs: dict[Application, Direct] = {}  # by where a call ends
        self.leaves: list[int] = []  # slots of what functions of the call take
        #: Those of small parameters, of which nothing that comes after the call takes any.
        self.small: list[int] = []
        self.others: list[int] = []
        self._promises: list[tuple[int, Any]] = []
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
        if self._replay() is not replay and not self._may_be_late(replay):
            self.at = use + _FIRST
        elif self._programs:
            self.at, self._in_vain = math.inf, 0
            self._before = (self._end_at - use - 1) % self._period
            self._goes_late(True)
        else:
            Noting(site, self, carrier, use).begin()

    def _may_be_late(self, replay: Any) -> bool:
        """Whether a call's code does nothing behind its program that needs values."""
        self._goes_late(False)
        names, lines = replay.names, replay.text.splitlines()
        runs = [k for k, line in enumerate(lines) if ".run(carrier)" in line]
        if len(runs) != 1 or not self._may_be_put_off():
            return False
        direct = names.get(lines[runs[0]].partition(".run(carrier)")[0].strip())
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
        self.leaves = [slot for slot in specs if slot not in made]
        self._promises = [
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
            app.numbers or app.writes or app.fails or app.eager is not None
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
        if not carrier.rests or not _may_wait():
            return False
        values = carrier.values
        for slot, promise in self._promises:
            values[slot]._array = promise
        carrier.late = (carrier.drawn, carrier.states) if self._draws else _NOTHING
        return True

    # -- what comes

    def has_come(self, site: Site, run: Noting) -> None:
        """It was noted what comes after a call."""
        end, use = run.app, run.use
        sync = run.syncs[0] if run.syncs else None
        if sync is None:
            self._tries_later(use)
        elif end is self.app:  # perhaps the next one is the last of its step
            self._goes_on(use, _NOTHING_CAME)
        elif end is not self._end:
            self._end, self._end_at, self._seen = end, use, 1
            self._goes_on(use)
        else:
            self._seen += 1
            # Of threads that call at once, two may have the same use.
            self._period, self._end_at = max(use - self._end_at, 1), use
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
        if self._in_a_row >= _IN_A_ROW:
            self._tries_later(use)

    def _tries_later(self, use: int) -> None:
        self._in_a_row, self._seen, self._end = 0.0, 0, None
        self._tries += 1
        self.at = use + _FIRST * 4**self._tries if self._tries < _TRIES else math.inf

    def was_in_vain(self, use: int) -> None:
        """A call was late, and no program has served it together with what came after it."""
        self._in_vain, self._before = self._in_vain + 1, 0  # it was not the last of its step
        if self._in_vain >= _IN_VAIN * self._period:
            self._goes_late(False)
            self._tries_later(use)

    def has_served(self) -> None:
        self._in_vain = 0

    def program(self, end: Application) -> Direct | None:
        """What computes a call with all that has come after it; None if there is no such."""
        found = self._programs.get(end)
        if found is not None and end.plans.get(-1) is found.plan and found.plan.ready():
            return found
        return None

    def _is_compiled(self, site: Site, sync: Sync, run: Noting) -> bool:
        """Make the program, if that pays by now; whether there is one, or is to be none."""
        app, path, depth = sync.app, sync.app.path(1), self.app.depth
        worth = sum([a.weight for a in path[depth:]])
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
            self._tries_later(run.use)
            return True
        plans = site.compile_lean([need], site.names_of(run), _WHY)
        # What raises exceptions is to do so before anything else is done.
        if plans is None or len(plans[0].pieces) > 1 or plans[0].pieces[0].written or any(
                [a.fails for a in path]):
            self._tries_later(run.use)
            return True
        for a in path[depth:]:
            a.anywhere = True
            a.renew()
        for a in path:
            a.becomes(hot=True)
        self._programs[app] = Direct(plans[0])
        specs, ends = specs_of(path), [*self._programs]
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

    __slots__ = ("_has_told",)

    def __init__(self, site: Site, late: Late, carrier: Carrier, use: int) -> None:
        super().__init__(site, late, carrier, use)
        values = carrier.values
        self.count, self._keeps = len(values), True
        self._seen = {id(v): (k, weakref.ref(v)) for k, v in enumerate(values) if v is not None}
        self.step, self._has_told = matches_nothing, False

    def _note(self, func: FunctionNode, inputs: Any) -> Any:
        if self.app.depth >= self.late.app.depth + _MOST:
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


class Following(AfterCall):
    """Computes a call together with what comes after it."""

    __slots__ = ("_bytes", "_small", "rests")

    def __init__(self, site: Site, late: Late, carrier: Carrier, use: int) -> None:
        super().__init__(site, late, carrier, use)
        self.rests = True  # the account does not look at this call
        drawn, self.states = carrier.late
        self.drawn = [*drawn]
        self.values = values = carrier.values
        self.step = self.app.go
        self.funcs = [None] * self.app.depth
        number = next_number()
        self.places = [number + place for place in late.places]
        self.bound = {id(values[slot]): values[slot] for slot in late.leaves}
        for slot in late.others:
            x = values[slot]
            array = x if type(x) in ARRAYS else x._array
            if array is x or refs(array) > 2 + LOCAL or array.base is not None:
                self.guard(slot)
        self._small = [values[slot]._array for slot in late.small]
        self._bytes = [array.tobytes() for array in self._small]

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
        if found is None or not self._fits(found.plan):
            late.was_in_vain(self.use)
            self._compute_call()
        elif (error := self._failure_of(found)) is not None:
            self._after_failure(found.plan, why, error)
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
        if any([refs(f) > HELD_FUNCTION for f in itertools.islice(self.funcs, n, None)]):
            return False
        return not self._changed_guards()

    def _compute_call(self) -> None:
        """Compute the call alone, and apply what has come since."""
        path = self.late.app.path(1)
        n, draws = len(path), sum([len(app.draws) for app in path])
        alone = Carrier()
        alone.values = self.values
        if draws:
            alone.drawn = self.drawn[:draws]
            alone.states = {app: s for app, s in self.states.items() if app in path}
        with as_they_were(self.guards):
            error = self._failure_of(self.late.plan, alone)
        if error is not None:
            self._after_failure(self.late.plan, "end", error)
            return
        self.given.update([id(self.values[slot]) for slot in self.late.plan.results])
        self.funcs, self.places, self.drawn = self.funcs[n:], self.places[n:], self.drawn[draws:]
        self.states = {app: s for app, s in self.states.items() if app not in path}
        self.first = n + 1
        if self.funcs:
            super()._realize("end", "no program", noted=False)
        else:
            self._done()

    def _realize(self, why: str, detail: str, noted: bool = True) -> None:
        """Apply all functions, those of the call as well."""
        values = self.values
        for app, func in zip(self.late.app.path(1), self.funcs, strict=False):
            if func is not None:
                continue
            self.funcs[app.depth - 1] = app.with_arrays(values.__getitem__)
            for slot, spec in zip(app.output_slots, app.outputs, strict=True):
                if values[slot] is None:
                    values[slot] = Variable(_tracing.promise(spec.shape, spec.dtype))
        super()._realize(why, detail, noted)

