"""One call of a compiled method: the user's Python runs, its arrays are a program's.

In: the functions that the method applies. Out: for each either its outputs, computed at once (the
run *notes* what is new), or promises (the run *follows* a known way), which are kept at the next
sync point: the end of the call, a look at values or at the graph, a function that cannot be part
of a program. What may not happen: anything that define-by-run would have done otherwise.
"""

from __future__ import annotations

import functools
import logging
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from chainer import _tracing
from chainer.function_node import FunctionNode
from chainer.variable import Variable
from chainwright.runtime import is_asynchronous, pass_on

from ._account import clock
from ._device import ARRAYS, gpu_of, is_writeable
from ._errors import NO_ROOM, error_state, errors, errors_are_raised
from ._frames import is_caught, tell_where, user_line
from ._held import LARGE, references
from ._matching import undo
from ._python import LOCAL, refs
from ._random import generator_state, set_generator_state, whole_generator_state
from ._report import line_of
from ._settings import Settings, settings_now
from ._specs import Spec, unknown_dtype
from ._tree import (
    Application,
    any_attributes,
    leaves_more,
    matches_nothing,
    of_the_library,
    opaque_reason,
    reads,
)
from ._values import Incomparable, Snapshot, copied, same_bytes
from ._warned import Warns

if TYPE_CHECKING:
    from ._phrases import Phrases
    from ._piece import Piece
    from ._site import Site

Method = TypeVar("Method", bound=Callable[..., Any])
logger = logging.getLogger("chainwright")
_Promise = _tracing.Promise
_new = object.__new__
HELD_FUNCTION = 2 + LOCAL  # of a pending function that nobody else holds, as counted below
NEW = "arguments of these shapes have not come before, or nothing new may be traced now"
_NOTHING = object()
_IN_TRY = "it may raise, and its value is read where that would be caught"
_VARIANTS = 6  # attributes at one place until they count as different in every call


def _alone(method: Method) -> Method:
    """A method in which the thread of the call goes on with its run: others do not look meanwhile.

    :meth:`chainer.FunctionNode.apply` does the same.
    """

    @functools.wraps(method)
    def call(self: Run, *args: Any) -> Any:
        if self.busy or threading.get_ident() != self.thread:
            return method(self, *args)
        self.busy = True
        try:
            if self.halted:
                self.wait()
            return method(self, *args)
        finally:
            self.busy = False

    return call  # type: ignore[return-value]


class Sync(NamedTuple):
    """A sync point that has no program (yet): what was pending there, and what somebody held."""

    app: Application
    first: int
    alive: frozenset[int]
    guessed: bool = False  # whether nobody has seen what is alive there: see _split

    def has_program(self) -> bool:
        """Whether there is a program that gives all that is held here."""
        plan = self.app.plans.get(self.first)
        return plan is not None and plan.ready() and self.alive <= plan.wanted


class _Set(NamedTuple):
    """An attribute of a link that was set: what it was before."""

    depth: int  # of the function that was applied before
    attributes: dict[str, Any]
    name: str
    before: Any  # where it was a promise of the call: its id, as the call tells who else holds it
    is_promise: bool


class Run:
    """One call of a decorated method."""

    is_late = False  # whether it is about what comes after a call

    __slots__ = (
        "_keeps", "_noted_aliases", "_seen", "_sets", "_way", "aliases", "any_size", "app",
        "arguments", "began", "between", "bound", "busy", "checking", "computes", "count",
        "counts", "drawn", "ended", "errors", "first", "form", "funcs", "given", "guards",
        "halted", "handed", "has_raised", "has_strayed", "left", "lock", "looked", "missed",
        "noted", "noting", "outside", "phrase_syncs", "phrases", "pieces", "places",
        "programs", "raises", "realized", "settings", "site", "sizes", "started", "states",
        "statistics", "step", "stopped", "stops", "syncs", "thread", "values", "warns",
    )

    def __init__(
        self, site: Site, settings: Settings, arguments: Any, form: int | None = None
    ) -> None:
        self.start(site, settings, arguments, form)
        self.started = clock() if site.phrases.is_there else 0.0
        if site.phrases.counts:
            self.counts, self.step = True, _count
            return
        follows = form is None or not site.forms.differ or site.forms.follows(form)
        if form is not None and (site.any_sizes.is_there or site.loops_are_open):
            follows = site.forms.is_hot(form)
        root = site.root
        if not follows or root.go is matches_nothing and not any(
                [child.hot for child in root.all_children()]):
            self._note_from_here()

    def start(
        self, site: Site, settings: Settings, arguments: Any = None, form: int | None = None
    ) -> None:
        """Nothing has been applied yet."""
        self.site, self.app, self.settings = site, site.root, settings
        self.arguments = arguments
        self.form = form  # of the arguments
        self.values: list[Any] = []  # while following: every leaf and output so far, by slot
        self.funcs: list[FunctionNode] = []  # the pending functions, as the method made them
        self.first = 1  # depth of the first of them
        self.places: list[int] = []  # the numbers that they would have got in the graph
        self.bound: dict[int, Any] = {}  # the leaves, by id
        self.given: set[int] = set()  # ids of outputs that have values: they are no new leaves
        self.drawn: list[Any] = []  # random numbers for the pending functions
        self.states: dict[Application, Any] = {}  # the generator before each of these draws
        #: Arrays that pending functions have used, which somebody may write to, as they were.
        self.guards: dict[int, tuple[np.ndarray, Snapshot]] = {}
        #: Ids of what owns the memory of arrays that somebody has got, and may write to later on.
        self.handed: set[int] = set()
        self.aliases: list[tuple[int, Variable]] = []  # detached Variables of pending outputs
        self._noted_aliases = set[int]()  # results of which a call that is noted has made such
        self._sets: list[_Set] = []  # attributes of links, while something was pending
        self.errors, self.warns = errors(), Warns()
        self.raises = errors_are_raised()
        self.syncs: list[Sync] = []
        self.stopped: str | None = None  # why the rest of the call is define-by-run
        self.programs = self.realized = self.noted = 0
        self.pieces: list[Piece] = []  # whose programs have run
        self.checking = 0.0  # seconds that went into checks of them
        self.stops: list[tuple[str, str]] = []  # sync points: why, and the user's line
        self.statistics: set[int] = set()  # ids of arrays of the library's links; see WrittenArray
        self.looked: set[int] = set()  # ids of arrays that are written, and that the user knows
        # While noting: slots of what has been seen, by id.
        self._seen: dict[int, tuple[int, Any]] | None = None
        self.count = 0
        self.busy = self.halted = self.ended = False
        self.computes = 0  # the thread that computes what is pending
        self.lock = threading.RLock()
        self.thread = threading.get_ident()
        #: ``step(run, func, inputs)``: the outputs, or None; then :meth:`other` is asked.
        self.step = site.root.go
        self.left = False  # whether it has left a way that it has followed
        self.any_size = False  # whether it follows a way of any sizes
        self.sizes: dict[int, int] = {}  # that attributes of its functions have
        self.outside = False  # whether it has been found to go none of these
        self.has_raised = False  # whether a function has, applied at once
        self.has_strayed = False  # whether it has left one in the middle
        self.phrases: Phrases | None = None  # that it follows, where it knows no way
        self.phrase_syncs: list[Sync] = []
        self.missed = 0  # functions that were no part of one
        self.counts = False  # whether it only counts functions
        # Seconds that went into noting, and of functions that are no part of programs: of the
        # machine, until the call has ended.
        self.noting = self.between = 0.0
        self.began, self.started = perf_counter(), 0.0

    @property
    def is_of_parts(self) -> bool:
        """Whether it follows something else than a way that calls of its very sizes have gone."""
        return self.any_size or self.phrases is not None

    # -- the ways of a function

    def other(self, func: FunctionNode, inputs: Any) -> Any:
        """The expected application did not match: another way, or a new one."""
        if self.stopped is not None:
            return self.plainly(func, inputs)
        if self.phrases is not None:
            return self._other_phrase(func, inputs)
        if self.any_size:
            outs = self._other_of_any_size(func, inputs)
            if outs is not None:
                return outs
        if self._seen is None:
            if errors() is not self.errors:
                self._errors_change()
                outs = self.app.go(self, func, inputs)
                if outs is not None:
                    return outs
            for child in self._candidates(func, inputs):
                outs = child.match(self, func, inputs)
                if outs is not None:
                    assert child.parent is not None
                    child.parent.predict(child)
                    return outs
            if self.stopped is not None:
                return self.plainly(func, inputs)
            if is_asynchronous():  # it is none of the method's: a finalizer, a handler of signals
                return self.in_the_middle(func, inputs)
            first = self.first
            self.site.forms.differ = self.left = True
            self._realize("mismatch", "another way than before", noted=False)
            self.first = first  # all of it is pending in calls that follow the new way
            self._note_from_here()
            if self.stopped is not None:
                return self.plainly(func, inputs)
            if self.phrases is not None or self.any_size:
                return self.other(func, inputs)
        return self._note(func, inputs)

    def _errors_change(self) -> None:
        self.sync("numpy.errstate")
        self.errors, self.raises = errors(), errors_are_raised()

    def _other_of_any_size(self, func: FunctionNode, inputs: Any) -> Any:
        """Another way of any sizes than the last call's; None if the call is to be noted."""
        if errors() is not self.errors:
            self._errors_change()
        for child in self.app.all_children():
            outs = child.match(self, func, inputs) if child.hot else None
            if outs is not None:
                assert child.parent is not None
                child.parent.predict(child)
                return outs
        if self.stopped is None and self.app.depth:
            self.has_strayed = True
            self._realize("mismatch", "another way than before", noted=False)
            self.stopped, self.step = NEW, matches_nothing
        if self.stopped is not None:
            return self.plainly(func, inputs)
        self.any_size, self.outside, self.app = False, True, self.site.root
        self._note_from_here()
        return None if self._seen is not None else self.other(func, inputs)

    def _other_phrase(self, func: FunctionNode, inputs: Any) -> Any:
        """A phrase goes on in another way than expected, or ends."""
        phrases = self.phrases
        assert phrases is not None
        outs = None
        if self.app is not phrases.root:
            outs = phrases.find(self, self.app, func, inputs)
            if outs is None:
                self.sync("end")
                self.begin_phrase()
        if outs is None and self.stopped is None:
            self.errors, self.raises = errors(), errors_are_raised()
            outs = phrases.find(self, self.app, func, inputs)
        if outs is None:
            self.missed += 1
            outs = self.plainly(func, inputs)
        return outs

    def begin_phrase(self) -> None:
        """What comes begins a phrase, or is none; nothing is pending."""
        assert self.phrases is not None
        self.app, self.first = self.phrases.root, 1
        self.values, self.bound, self.given = [], {}, set()
        self.guards, self.handed = {}, set()
        self.step = self.app.go

    def plainly(self, func: FunctionNode, inputs: Any) -> Any:
        """Apply a function as always, with this run put aside; nothing is pending.

        Other threads may look meanwhile: the function may be the user's, and wait for them.
        """
        self.busy = False
        try:
            return self.in_the_middle(func, inputs)
        finally:
            self.busy = True
            if self.halted:
                self.wait()

    def in_the_middle(self, func: FunctionNode, inputs: Any) -> Any:
        """Likewise what a handler of signals applies, in the middle of something."""
        try:
            with _tracing.aside():
                return func._apply(inputs)
        except BaseException:
            self.has_raised = True  # the method may catch it
            raise

    def _candidates(self, func: FunctionNode, inputs: Any) -> list[Application]:
        slots = {id(v): k for k, v in enumerate(self.values)}
        found = self._description(func, inputs, slots, len(self.values))
        if found is None:
            return []
        return [child for child in self.app.child(found[0]) or () if child.hot]

    def _description(self, func: Any, inputs: Any, slots: Any, count: int) -> Any:
        made = Application(self.app)
        new: list[Any] = []

        def slot_of(x: Any) -> int:
            slot = slots.get(id(x))
            if type(slot) is tuple:
                slot = slot[0] if slot[1]() is x else None
            if slot is None:
                spec = Spec.of(x)
                slot = slots[id(x)] = count + len(new)
                new.append(x)
                made.leaves[slot] = spec
            return slot

        try:
            key = made.describe(func, inputs, self.settings, slot_of, count)
        except (Incomparable, RecursionError):
            for x in new:
                slots.pop(id(x), None)
            return None
        return made, key, new

    # -- noting

    def _note_from_here(self) -> None:
        """What comes is applied at once, and added to the tree, if calls like this come again."""
        if self.form is None:
            self.form = self.site.forms.of(self.arguments)
        site = self.site
        if self.app is site.root and not self.outside and site.any_sizes.is_there:
            self.outside = not site.any_sizes.expects(self.arguments)
        if not site.phrases.notes and not site.is_worth_noting(self.form, self.outside):
            if self.app is site.root and site.any_sizes.is_there and not self.outside:
                self.any_size, self.app = True, site.any_sizes.root
                self.step = self.app.go
            elif site.phrases.is_there:
                self.phrases, self._way = site.phrases, self.app
                self.begin_phrase()
            else:
                self.stopped, self.step = NEW, matches_nothing
            return
        self.count = len(self.values)
        self._keeps = site.any_sizes.listens  # what programs need of functions that are new
        self._seen = {id(v): (k, weakref.ref(v)) for k, v in enumerate(self.values)}
        self.values, self.bound = [], {}
        self.step = matches_nothing

    def _note(self, func: FunctionNode, inputs: Any) -> Any:
        started = perf_counter()  # for each function: to ask for this thread's takes microseconds
        settings = settings_now()
        if settings is None or settings.debug:
            self.stop("a configuration that cannot be compared, or debug mode")
            return self.plainly(func, inputs)
        self.settings = settings
        seen = self._seen
        assert seen is not None
        found = self._description(func, inputs, seen, self.count)
        if found is None:
            found = self._opaque_description(func, inputs, seen)
        if found is None:
            why = f"an input of {func.label} is no NumPy array"
            self.site.ledger.add_once("define-by-run", why, line_of(self.site.method))
            self.stop(why)
            return self.plainly(func, inputs)
        made, key, new = found
        for x in new:
            seen[id(x)] = (seen[id(x)], weakref.ref(x))
        self.count += len(new)
        known = self.app.child(made)
        here = known[0] if known else made
        learn = not here.kept and (known is not None or self._keeps)
        if learn:
            here.keep(func)
        elif not here.kept and self.site.phrases.notes:
            self.site.phrases.keep(here, func, inputs)
        if known is None:
            here.eager = opaque_reason(func) or here.eager
        if warnings.filters is not self.warns.filters:
            self._warns_by_filters_of_its_own(here, known)
        if self.app.depth >= self.first and here.eager:
            self._noted_sync()
        before = set(vars(func)) if learn and here.direct and here.eager is None else None
        applied = perf_counter()
        self.noting += applied - started
        try:
            outs = self.plainly(func, inputs)
        except BaseException:  # its leaves have not been used: they are new to what comes
            for x in new:
                del seen[id(x)]
            self.count -= len(new)
            raise
        started = perf_counter()
        if before is not None and leaves_more(func, before):
            here.eager = "the user's code may look at what it leaves on itself"
        if known is None and any([type(y._array) not in ARRAYS for y in outs]):
            here.eager = "a result of it is no array"
        elif known is None:
            here.eager = here.eager or unknown_dtype([y._array for y in outs])
        child = next((c for c in known or () if c.gives(outs)), None)
        if child is None:
            child = self._grow(made, key, known, outs, inputs)
            if child is None:  # the next call goes on from there
                self.stopped, self.step = NEW, matches_nothing
                self.noting += perf_counter() - started
                return outs
        self.noted += 1
        first = self.count
        for k, y in enumerate(outs):
            seen[id(y)] = (first + k, weakref.ref(y))
        self.count += len(outs)
        self.app.predict(child)
        self.app = child
        if child.eager:
            self.first = child.depth + 1
            self.between += started - applied
        if settings.backprop:
            self.site.account.follows(func)
        self.noting += perf_counter() - started
        return outs

    def _warns_by_filters_of_its_own(self, here: Application, known: Any) -> None:
        """Programs run late, by the filters of warnings with which the call has begun."""
        for app in known or (here,):
            if app.eager is None:
                app.eager = "the filters of warnings are changed around it"
                app.renew()
                if known:
                    self.site.forget_programs()

    def _grow(
        self, made: Application, key: Any, known: Any, outs: Any, inputs: Any
    ) -> Application | None:
        """A new child; None where another thread has added what fits meanwhile."""
        with self.site.lock:
            if not known and self.app.child(made) is not None:
                return None
            child = self._grown(made, key, known, outs)
            if any([y._array.base is not None for y in outs if type(y._array) is np.ndarray]):
                child.views = self._views(child, inputs, outs)
            return child

    def _views(self, child: Application, inputs: Any, outs: Any) -> dict[int, int]:
        """Which results show the memory of what was there before the call: slots of both."""
        path = child.path(1)
        known = {slot: leaf for app in path[:-1] for slot, leaf in app.views.items()}
        leaves = {slot for app in path for slot in app.leaves}
        found = {}
        for slot, y in zip(child.output_slots, outs, strict=True):
            for x, s in zip(inputs, child.inputs, strict=True):
                leaf = s if s in leaves else known.get(s)
                array = x if type(x) in ARRAYS else x._array
                if leaf is not None and y._array.base is not None and (
                        _owner(array) is _owner(y._array)):
                    found[slot] = leaf
        return found

    def _grown(self, made: Application, key: Any, known: Any, outs: Any) -> Application:
        parent = self.app
        if known:  # its results have another form this time
            made.take_over(known[0])
            for other in (*known, made):
                other.eager = other.eager or "the form of its results depends on values"
                other.renew()
            self.site.forget_programs()
        else:
            key = self._key_of_variant(made, key)
        made.made(outs, self.count)
        made.renew()
        parent.children[key] = (*parent.children.get(key, ()), made)
        return made

    def _key_of_variant(self, made: Application, key: Any) -> Any:
        """The key of a new child; where only numbers differ from a sibling's they become inputs."""
        parent, place = self.app, made.place
        same = [k for k in list(parent.children) if k[0] == place and len(k) == 2]
        if made.arrays or made.eager is not None or not same:
            return key
        for k in same if place not in parent.constants_at else ():
            sibling = next(iter(parent.children.get(k, ())), None)
            numbers = None if sibling is None else made.differing_numbers(sibling)
            if numbers and sibling.eager is None and of_the_library(made.kind):
                self.site.forget(parent, k)
                parent.numbers_at.setdefault(place, []).append(numbers)
                images = made.without(numbers)
                made.take_numbers(numbers)
                return (place, numbers, images)
        if len(same) >= _VARIANTS:
            for k in same:
                self.site.forget(parent, k)
            any_attributes(made, "its attributes differ from call to call")
            return (place, "varies")
        return key

    def _opaque_description(self, func: Any, inputs: Any, seen: Any) -> Any:
        """That of a function with attributes nobody can compare: any such function matches."""
        made = Application(self.app)
        bare = _new(FunctionNode)
        found = self._description(bare, inputs, seen, self.count)
        if found is None:
            return None
        made, _, new = found
        made.kind = type(func)
        made.place, made.images = (type(func), *made.place[1:]), None
        any_attributes(made, "an attribute of it cannot be compared")
        return made, (made.place, "varies"), new

    def _noted_sync(self) -> None:
        """A sync point of calls that follow this way."""
        if self._seen is None or self.app.depth < self.first or self.stopped:
            return
        if is_caught():
            for app in self.app.path(self.first):
                app.read_in_try = True
        self.syncs.append(Sync(self.app, self.first, self._noted_alive()))
        self.first = self.app.depth + 1

    def _is_computed(self, slot: int) -> bool:
        """Whether calls that follow this way have a result of a function before it is read."""
        path = self.app.path(1)
        return any([slot in app.output_slots for app in path[: self.first - 1]])

    def _noted_alive(self) -> frozenset[int]:
        assert self._seen is not None
        by_slot = {slot: ref for slot, ref in self._seen.values()}
        slots = [s for app in self.app.path(self.first) for s in app.output_slots]
        held = self._noted_aliases
        return frozenset(
            s for s in slots if s in held or s in by_slot and by_slot[s]() is not None)

    # -- following

    def apply_between(self, func: FunctionNode, inputs: Any, app: Application, why: str) -> Any:
        """A function that is applied for real: what is pending is computed before."""
        if self.phrases is not None:
            undo(self, app.first_slot)
            self.sync(why)
            self.begin_phrase()
            return self.plainly(func, inputs)
        n = len(self.values)
        self.sync(why)
        try:
            outs = self.plainly(func, inputs)
        except BaseException:
            undo(self, app.first_slot)
            raise
        self.realized += 1
        values = self.values
        if self._seen is not None or len(values) != n:
            raise AssertionError("a run has lost its place")
        self._lapse()
        if not of_the_library(type(func)):  # the user's code may have kept what it was given
            for x in (*inputs, *outs):
                self._hand_out(x if type(x) in ARRAYS else x._array)
        self.app, self.step = app, app.go
        self.first = app.depth + 1
        known = [*values, *outs], self.sizes
        if not app.gives(outs, *known):
            other = self._sibling(app, outs, *known)
            if other is None:
                self.stop("the form of results depends on values")
                return outs
            self.app, self.step = other, other.go
        values.extend(outs)
        self.given.update(map(id, outs))
        return outs

    @staticmethod
    def _sibling(app: Application, outs: Any, values: Any, sizes: Any) -> Application | None:
        assert app.parent is not None
        for found in list(app.parent.children.values()):
            if app in found:
                return next((c for c in found if c.gives(outs, values, sizes) and c.hot), None)
        return None

    def number(self, app: Application, name: str) -> Any:
        """A number among the attributes of a pending function."""
        return self.funcs[app.depth - self.first].__dict__[name]

    def guard(self, slot: int) -> None:
        """Somebody else holds the array of a leaf: it may be written before the program runs."""
        x = self.values[slot]
        array = x if type(x) in ARRAYS else x._array
        if array.base is None and type(x) not in ARRAYS:
            node = x.__dict__.get("_node")
            mine = 3 + LOCAL + (node is not None and node._data is array)
            n = refs(array)
            if n <= mine or array.nbytes >= LARGE and n <= mine + references(array):
                return
        self.guards[slot] = (array, Snapshot(array))

    def guard_again(self, slot: int) -> None:
        """A guarded value is used again: what was pending has used it as it was."""
        array, before = self.guards[slot]
        if not before.is_of(array):
            guards = self.guards
            if self.funcs:
                self.sync("an array was written after its use")
            # Some are of the function that is being compared, which is not pending yet.
            self.guards = {k: (a, Snapshot(a)) for k, (a, _) in guards.items()}

    def guard_handed(self, slot: int) -> None:
        """A known value is used: guard it, if somebody has got its array, or a view of it."""
        x = self.values[slot]
        array = x if type(x) in ARRAYS else x._array
        if type(array) is not _Promise and id(_owner(array)) in self.handed:
            self.guard(slot)

    def _hand_out(self, array: Any) -> None:
        if type(array) is not _Promise:
            self.handed.add(id(_owner(array)))

    @_alone
    def looked_at(self, x: Any, array: Any) -> None:
        """The array of a Variable (or its node) was read, which is no promise; None is no array."""
        if self.stopped is not None or array is None:
            return
        if self._seen is not None:
            found = self._seen.get(id(x))
            if found is not None and found[1]() is x and not self._is_computed(found[0]):
                self._noted_sync()
            return
        if self.funcs and id(x) in self.bound:
            self.sync("the array of a parameter or argument, used before")
        if self.funcs:
            self._guard_pending(array)
        self._hand_out(array)

    def _guard_pending(self, array: Any) -> None:
        """Somebody gets an array, and may write to it at once: pending functions have read it."""
        owner = _owner(array)
        for slot in {slot for app in self.app.path(self.first) for slot in reads(app)}:
            x = self.values[slot]
            if x is None:  # a result of a call that is computed later
                continue
            found = x if type(x) in ARRAYS else x._array
            if type(found) is not _Promise and _owner(found) is owner and slot not in self.guards:
                self.guards[slot] = (found, Snapshot(found))

    @_alone
    def looked_at_array(self, array: Any) -> None:
        """An array that functions write to (running statistics) was read."""
        if self.stopped is not None:
            return
        if self._seen is not None:
            found = self._seen.get(id(array))
            if found is not None and found[1]() is array:
                self._noted_sync()
            return
        if self.funcs and id(array) in self.bound:
            self.sync("an array that functions write to")
        self.looked.add(id(array))

    @_alone
    def rebinds(self, x: Variable, array: Any) -> None:
        """A Variable gets another array."""
        if x._array is array or self.stopped is not None:
            return
        if type(x._array) is _Promise:
            self.look(x, "a Variable got another array")
        if self._seen is not None:
            found = self._seen.get(id(x))
            known = found is not None and found[1]() is x
        else:
            known = any([v is x for v in self.values])
        if known and self.phrases is not None:
            self.sync("a Variable that was used got another array")
        elif known:
            self.stop("a Variable that was used got another array")

    @_alone
    def config_changes(self, name: str) -> None:
        """An entry of the configuration is about to change."""
        if self._seen is None and self.stopped is None:
            self.step = _check_settings

    def check_settings(self) -> None:
        """Look at the configuration again."""
        settings = settings_now()
        if settings is None or settings.debug:
            self.stop("a configuration that cannot be compared, or debug mode")
            return
        self.settings = settings
        self._go_on()

    def _go_on(self) -> None:
        """The next function is the next one on this way, or begins a phrase."""
        over = self.phrases is not None and not self.funcs
        self.step = _begin_phrase if over else self.app.go

    @_alone
    def sets_attribute(self, attributes: dict[str, Any], name: str) -> None:
        """An attribute of a link is set while functions are pending, which may raise."""
        before = attributes.get(name, _NOTHING)
        is_promise = isinstance(before, Variable) and type(before._array) is _Promise
        self._sets.append(
            _Set(self.app.depth, attributes, name, id(before) if is_promise else before, is_promise)
        )

    def _take_back(self, app: Application) -> None:
        """The function of ``app`` has raised: what was set after it define-by-run would not set."""
        values = {id(v): v for v in self.values}
        for depth, attributes, name, before, is_promise in reversed(self._sets):
            if depth < app.depth:
                break
            if before is _NOTHING:
                attributes.pop(name, None)
            else:
                attributes[name] = values[before] if is_promise else before
        self._sets = []

    def values_by_slot(self) -> list[tuple[int, Any]]:
        """What of the call is still there."""
        if self._seen is None:
            return [*enumerate(self.values)]
        return [(slot, ref()) for slot, ref in self._seen.values()]

    def owns(self, x: Variable) -> bool:
        """Whether a promise was handed out by this run."""
        return any([v is x for v in tuple(self.values)]) or any([v is x for _, v in self.aliases])

    @_alone
    def detached(self, x: Variable) -> Variable | None:
        """A Variable with the array of a pending one, outside of the graph; None if it is none.

        A call that is noted shows where others read a value: this does not.
        """
        if self._seen is not None:
            slot, there = self._seen.get(id(x), (0, None))
            if there is None or there() is not x or self._is_computed(slot):
                return None
            self._noted_aliases.add(slot)
            return Variable(x._array, name=x.name, requires_grad=x.requires_grad)
        if type(x._array) is not _Promise:
            return None
        made = _new(Variable)
        made._array, made._requires_grad = x._array, x._requires_grad
        slot = next(k for k, v in enumerate(self.values) if v is x)
        self.aliases.append((slot, made))
        return made

    # -- sync points

    @_alone
    def stop(self, why: str) -> None:
        """The rest of the call is define-by-run."""
        if self.stopped is None:
            self.settle(why)
            self.stopped = why
            self.step = matches_nothing

    @_alone
    def settle(self, why: str) -> None:
        """Compute what is pending."""
        if self._seen is not None:
            self._noted_sync()
        else:
            self.sync(why)

    def look(self, x: Variable, why: str) -> None:
        """Keep the promise of a Variable."""
        if threading.get_ident() == self.thread:
            self._look(x, why)
            return
        with self.lock:
            self.halted = True
            try:
                while self.busy:
                    threading.Event().wait(1e-5)
                self._look(x, why)
            finally:
                self.halted = False

    @_alone
    def _look(self, x: Variable, why: str) -> None:
        was, _tracing.state.run = _tracing.state.run, self  # some code may have put it aside
        try:
            self.sync(why)
            self._hand_out(x._array)
        finally:
            _tracing.state.run = was

    def wait(self) -> None:
        """Another thread looks at a promise: let it finish."""
        while self.halted:
            self.busy = False
            with self.lock:
                self.busy = True

    def sync(self, why: str) -> None:
        """Give every pending promise that somebody can reach its value."""
        if not self.funcs or self.computes == threading.get_ident():  # else in the middle of that
            return
        self.computes = threading.get_ident()
        try:
            self._compute(why)
        finally:
            self.computes = 0

    def _compute(self, why: str) -> None:
        app, first = self.app, self.first
        plan = app.plans.get(first)
        if why != "end":
            self.stops.append((why, user_line(2)))
            if is_caught():
                self._is_read_in_try()
        if plan is None or not plan.ready():
            if self.phrases is not None:
                self._compute_beginning()
            self._realize(why, "no program")
            return
        values, results = self.values, plan.results
        for slot in plan.slots:
            # Held here: by ``values`` and getrefcount's argument.
            if slot not in results and refs(values[slot]) > 2:
                self._realize(why, "more results")
                return
        if any([slot not in results for slot, _ in self.aliases]):
            self._realize(why, "more results")
            return
        if any([refs(f) > HELD_FUNCTION for f in self.funcs]):
            self._realize(why, "a function object is held")
            return
        if self._changed_guards():
            for slot in self._changed_guards():
                self._apply_at_once_from_now_on(slot)
            self._realize(why, "an array was written after its use", noted=False)
            return
        if (error := self._failure_of(plan)) is not None:
            self._after_failure(plan, why, error)
            return
        self.programs += len(self.funcs)
        if why != "end":
            self.given.update([id(values[slot]) for slot in plan.slots])
        self._done()

    def _is_read_in_try(self) -> None:
        """What pending functions raise meets a handler here: next time they raise at once."""
        for app in self.app.path(self.first):
            app.read_in_try = True
            if app.fails and app.eager is None:
                if self.any_size:
                    self.site.any_sizes.give_up(self.app)
                    return
                app.eager = _IN_TRY
                app.renew()
                if not app.anywhere:
                    self.site.forget_programs()

    def _compute_beginning(self) -> None:
        """Of a phrase that was left, compute the longest beginning that has a program."""
        app, first = self.app.parent, self.first
        while app is not None and app.depth >= first:
            plan = app.plans.get(first)
            if plan is not None and plan.ready():
                break
            app = app.parent
        else:
            return
        n = app.depth + 1 - first
        rest = self.app.path(app.depth + 1)
        needed = {s for a in rest for s in reads(a)} | {slot for slot, _ in self.aliases}
        values, results = self.values, plan.results
        for slot in plan.slots:
            if slot not in results and (slot in needed or refs(values[slot]) > 2):
                return
        if any([refs(f) > HELD_FUNCTION for f in self.funcs]) or self._changed_guards():
            return
        if (error := self._failure_of(plan)) is not None:
            self._after_failure(plan, "end", error)
            return
        self.programs += n
        self.given.update([id(values[slot]) for slot in plan.slots])
        self.drawn = self.drawn[sum([len(a.draws) for a in plan.apps]) :]
        self.funcs, self.places = self.funcs[n:], self.places[n:]
        self.first = app.depth + 1

    def _failure_of(self, plan: Any, carrier: Any = None) -> Exception | None:
        """Run programs; gives what they have raised, which is no context of what comes next."""
        try:
            if errors() is self.errors and warnings.filters is self.warns.filters:
                with _tracing.aside():  # as in most calls: contexts take microseconds
                    plan.run(carrier or self)
            else:
                with _tracing.aside(), error_state(self.errors), self.warns.again():
                    plan.run(carrier or self)
        except Exception as e:
            pass_on(e)
            # Its frames hold the call's values, and the caller's frame, which holds it.
            return e.with_traceback(None)
        return None

    def _after_failure(self, plan: Any, why: str, error: Exception) -> None:
        """The functions themselves raise what define-by-run would, or show the program wrong."""
        for y in [y for slot in plan.slots if (y := self.values[slot]) is not None]:
            y._array = _tracing.promise(y._array.shape, y._array.dtype, gpu_of(y._array))
            for name in ("_node", "_made_by"):
                y.__dict__.pop(name, None)
        told = isinstance(error, FloatingPointError)
        self._realize(why, "floating-point errors" if told else "a program failed", noted=False)
        if told or isinstance(error, NO_ROOM):
            return
        plan.dropped = True
        self.site.ledger.add(
            "distrusted", f"a program raised {type(error).__name__}: {error}. Please report it"
        )

    def _changed_guards(self) -> list[int]:
        """The guarded leaves that have been written since they were used."""
        return [
            s for s, (array, before) in self.guards.items()
            # On a GPU programs take the copy: to compare them would mean to wait.
            if type(array) is np.ndarray and not before.is_of(array)
        ]

    def _apply_at_once_from_now_on(self, slot: int) -> None:
        if self.any_size:
            self.site.any_sizes.give_up(self.app)
            return
        for app in self.app.path(self.first):
            if slot in app.inputs or slot in app.arrays.values():
                app.eager = app.eager or "an array is written after the function has used it"
                app.renew()
                self.site.forget_programs()

    def _done(self) -> None:
        """Nothing is pending any more."""
        for slot, made in self.aliases:
            made._array = self.values[slot]._array
        self.aliases, self.drawn, self.funcs, self.states = [], [], [], {}
        self.places, self._sets = [], []
        self.first = self.app.depth + 1
        self._lapse()
        if self.phrases is not None and self.step is not _check_settings:
            self.step = _begin_phrase

    def _lapse(self) -> None:
        """Nothing is pending: leaves may change, and are guarded when they are used again."""
        if self.guards:
            for array, _ in self.guards.values():
                self._hand_out(array)
            self.guards = {}

    def _alive(self) -> frozenset[int]:
        values = self.values
        held = {slot for slot, _ in self.aliases}
        slots = [s for a in self.app.path(self.first) for s in a.output_slots]
        return frozenset([s for s in slots if s in held or refs(values[s]) > 2])

    def _realize(self, why: str, detail: str, noted: bool = True) -> None:
        """Apply what is pending for real, with the random numbers that it drew."""
        funcs = self.funcs
        if not funcs:
            return
        if detail != "no program":
            self.stops.append((detail, user_line(3)))
        if noted:
            syncs = self.syncs if self.phrases is None else self.phrase_syncs
            syncs.append(Sync(self.app, self.first, self._alive()))
        apps = self.app.path(self.first)
        self.realized += len(funcs)
        now = None
        if self.states:
            plain = all([type(s) is bytes for s in self.states.values()])
            now = generator_state() if plain else whole_generator_state()
        guards = _written(self.guards)
        after = [(array, copied(array)) for array, _ in guards.values()]
        settings = Settings.now()
        k, app = -1, apps[0]
        try:
            with _tracing.aside(), error_state(self.errors), self.warns.again():
                for k, (app, func) in enumerate(zip(apps, funcs, strict=True)):
                    for slot in reads(app) if guards else ():
                        if slot in guards:
                            _write(*guards[slot])
                    if app in self.states:
                        set_generator_state(self.states[app])
                    self._apply_now(app, func, settings)
                    func.number = self.places[k]
                    funcs[k] = None  # type: ignore[call-overload]
        except BaseException as error:
            tell_where(error, app.origin)
            self.stopped, self.step = "an exception", matches_nothing
            self.funcs = []
            self._take_back(app)
            # What came after the function has not drawn anything.
            later = [self.states[a] for a in apps[k + 1 :] if a in self.states]
            set_generator_state(later[0] if later else now)
            raise
        finally:
            for array, values in after:
                _write(array, values)
        set_generator_state(now)
        self._done()

    def _apply_now(self, app: Application, func: FunctionNode, settings: Any) -> None:
        values = self.values
        inputs = tuple([values[s] for s in app.inputs])
        own = app.settings is not settings
        outs = app.settings.call(func._apply, inputs) if own else func._apply(inputs)
        for slot, y in zip(app.output_slots, outs, strict=True):
            given = values[slot]
            given._array = y._array
            self.given.add(id(given))
            node = y.__dict__.get("_node")
            if node is not None:
                given._node = node
                node._variable = weakref.ref(given)

    @_alone
    def finish(self) -> None:
        """The method has returned (or raised)."""
        self.ended = True
        if self._seen is not None:
            self._noted_sync()
        elif self.stopped is None:
            self.sync("end")
        if self.phrases is not None:
            self.app = self._way

    def took(self, seconds: float) -> None:
        """The call has ended, after so many seconds of its thread."""
        if self.noted:
            share = min(seconds / max(perf_counter() - self.began, 1e-9), 1.0)
            self.noting, self.between = share * self.noting, share * self.between

    def failure_to_finish(self) -> BaseException | None:
        """The method has raised; gives what functions raise that it had applied before."""
        try:
            self.finish()
        except BaseException as e:
            e.__context__ = None
            return e
        return None


def _owner(array: Any) -> Any:
    """What owns the memory that an array shows."""
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


def _written(guards: dict[int, tuple[Any, Snapshot]]) -> dict[int, tuple[Any, Any]]:
    """Arrays that were written since functions have got them, and other views of their memory.

    Of several views each function is to find what stood there when it was applied. What functions
    write themselves, statistics, is none of these.
    """
    changed = [a for a, before in guards.values() if not before.is_of(a)]
    return {
        slot: (a, before.array) for slot, (a, before) in guards.items()
        if any([a is b or _may_share(a, b) for b in changed])
    }


@contextmanager
def as_they_were(guards: dict[int, tuple[Any, Snapshot]], slots: Iterable[int]) -> Iterator[None]:
    """Context in which arrays hold what they held when a call has got them, in these slots.

    What came later may have got other views of their memory, with something else in it.
    """
    written = _written(guards)
    after = [(array, copied(array)) for array, _ in written.values()]
    try:
        for slot in slots:
            if slot in written:
                _write(*written[slot])
        yield
    finally:
        for array, values in after:
            _write(array, values)


def _may_share(a: Any, b: Any) -> bool:
    return type(a) is type(b) is np.ndarray and np.may_share_memory(a, b)


def _write(array: Any, values: Any) -> None:
    """Write to an array, also to a view that only others may write to."""
    if same_bytes(array, values):
        return
    if locked := type(array) is np.ndarray and not is_writeable(array):
        array.flags.writeable = True
    array[...] = values
    if locked:
        array.flags.writeable = False


def _begin_phrase(run: Run, func: FunctionNode, inputs: Any) -> Any:
    run.begin_phrase()
    return run.step(run, func, inputs)


def _count(run: Run, func: FunctionNode, inputs: Any) -> Any:
    run.missed += 1
    return run.plainly(func, inputs)


def _check_settings(run: Run, func: FunctionNode, inputs: Any) -> Any:
    run.check_settings()
    return None if run.stopped else run.step(run, func, inputs)

