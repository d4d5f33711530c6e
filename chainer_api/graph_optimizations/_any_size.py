"""Ways through a method that programs of any sizes compute, for shapes that hardly come again.

In: ways that calls have gone which differ in nothing but lengths: sentences as long as they are,
graphs with any number of edges. Out: one way with lengths as parameters (*symbols*), traced at a
few sizes of its own choice (*probes*), and pieces with one program for all sizes between these.
What may not happen: a program for sizes at which the functions would compute something else. So a
call matches only where all its lengths, and all attributes of functions, are what the expressions
say, and between the least and the largest probe.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from chainwright.ir import Graph
from chainwright.ir import size as lengths
from chainwright.ir.layout import dense_strides, is_contiguous, is_dense, order_of
from chainwright.ir.size import at, function_of, symbol, symbols_in
from chainwright.ir.unify import FEW, Different, Unified, fit, fit_value
from chainwright.runtime import Schedule
from chainwright.runtime.any_size import AnySizeSchedule, NotAnySize
from chainwright.runtime.kernels import recording

from ._device import ARRAYS
from ._piece import Piece
from ._plan import Plan
from ._run import Sync
from ._specs import Size, Sizes, Spec, form_of_output, strides_of_rows, usual_strides
from ._trace import Backward, Traced, Untraceable
from ._tree import Application, Draw, of_the_library, reads, specs_of
from ._values import Incomparable, form_of, image

if TYPE_CHECKING:
    from ._run import Run

FEWEST, _MOST = 5, 16  # ways of one kind that are noted, until one of any sizes is tried
_KINDS = 16  # that are remembered
_PLACES = 4  # where calls of a kind stop, at least, and twice as many as one: they stop anywhere
_SYMBOLS = 128  # of one way, at most
_SEEN = 3  # sizes of calls among the probes of many lengths
_WIDER, _WIDE = 8, 2  # times as long as those that were seen, lengths may be: at most, at least
_LARGE = 1 << 24  # bytes of all results that a trace for such lengths takes, beyond the least
_STEPS = 4  # by which windows may move
_TO_BE_SURE = 2  # sizes of calls at which native code is looked at, besides the probes
_LEFT = 16  # calls that leave a way in the middle, until it is given up
_FAILURES = 3  # until a kind is given up
_ARGUMENTS = 64  # forms of them, but for lengths, of which it is known which way calls go
Probe = tuple[int, ...]


class TooFew(Different):
    """So many more ways have to be known until it can be told what depends on what."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"{missing} more have to be known")
        self.missing = missing


#: What says that functions do not allow a program of any sizes.
Refused = (Untraceable, Different)


class Kind:
    """Ways that apply the same functions to values of the same ranks and dtypes."""

    def __init__(self) -> None:
        self.samples: list[list[Application]] = []
        self.calls = 0  # that were noted, of lengths that had come before, too
        self.lengths = 1  # that differ from way to way
        self.syncs: dict[tuple[int, int], frozenset[int]] = {}  # by depth and first: what is alive
        self.seconds = math.inf  # of a call without programs
        self.way: Application | None = None  # of any sizes: where it ends
        self.ways = weakref.WeakSet[Application]()  # that one, and those that it has taken over
        self.failures = 0
        self.names: dict[int, str] = {}  # of parameters, by slot
        self._missing = FEWEST  # ways that are still to be noted until it is compiled (anew)
        self._made = 0  # how often it was
        self._stops = 0  # sync points of a call, at most
        self._has_grown = False  # by ways that are not known to the one of any sizes
        self.left = 0  # calls that have left it in the middle, besides the others

    def add(
        self, app: Application, syncs: Sequence[Sync], names: Callable[[], dict[int, str]]
    ) -> None:
        """A call was noted that has gone this way."""
        if self.failures >= _FAILURES:
            return
        path = app.path(1)
        if _lengths(path) in map(_lengths, self.samples):
            return
        if len(self.samples) >= _MOST:
            del self.samples[0]
        self.samples.append(path)
        self._has_grown = True
        self._missing -= 1
        self.lengths = max(_different(self.samples), 1)
        if self.way is None:
            # Sums of lengths can be told from others by more ways than there are lengths, or of
            # those that follow each other by as many as there are of few.
            least = min(self.lengths, FEW) + 2
            self._missing = max(self._missing, least - len(self.samples))
        if self.waits and not self.names:
            self.names = names()
        self.seconds = min(self.seconds, app.plain or math.inf)
        self._stops = max(self._stops, len(syncs))
        for sync in syncs:
            key = sync.app.depth, sync.first
            self.syncs[key] = self.syncs.get(key, frozenset()) | sync.alive

    @property
    def stops_anywhere(self) -> bool:
        """Whether values are read at other places in each call: each takes other programs."""
        return len(self.syncs) >= max(_PLACES, 2 * self._stops)

    def syncs_on(self, app: Application) -> list[Sync]:
        """The sync points of calls that follow the way to ``app``."""
        path = app.path(1)
        return [Sync(path[depth - 1], first, alive) for (depth, first), alive in self.syncs.items()]

    def without_ones(self) -> list[list[Application]]:
        """The ways on which no length is one that is another one elsewhere."""
        lengths = [_flat(path) for path in self.samples]
        other = [k for k, column in enumerate(zip(*lengths, strict=True)) if len(set(column)) > 1]
        return [
            path for path, found in zip(self.samples, lengths, strict=True)
            if 1 not in [found[k] for k in other]]

    @property
    def have_ones(self) -> bool:
        """Whether lengths have been one on some ways, and more on others."""
        return len(self.without_ones()) < len(self.samples)

    @property
    def waits(self) -> bool:
        """Whether enough is known to compile it, and it may be tried."""
        return self.failures < _FAILURES and self._missing <= 0

    @property
    def listens(self) -> bool:
        """Whether more calls are to be noted for it."""
        return self.failures < _FAILURES and len(self.samples) > 1 and self._missing > 0

    @property
    def is_likely(self) -> bool:
        """Whether it may be compiled now, or soon: most of the ways are known that this takes."""
        return self.waits or self.listens and len(self.samples) >= self._missing

    @property
    def functions(self) -> int:
        """How many small functions what is to be compiled is worth."""
        if self.lacks_programs_only:
            missing = [s for s in self.syncs_on(self.way) if not s.has_program()]
            return sum([app.weight for s in missing for app in s.app.path(s.first)])
        return sum([app.weight for app in self.samples[0]])

    @property
    def lacks_programs_only(self) -> bool:
        """Whether the way that is there holds, and calls have had other sync points on it."""
        return self.way is not None and not self._has_grown

    @property
    def path(self) -> list[Application]:
        """The functions of the way of any sizes."""
        return [] if self.way is None else self.way.path(1)

    def has(self, app: Application) -> None:
        """The way ends at ``app`` now; the more often there was one, the longer it stays."""
        self._made += 1
        self.ways.add(app)
        self.way, self._missing, self.left = app, 2**self._made, 0
        self._has_grown = False
        app.plain = self.seconds if self.seconds < math.inf else 0.0

    def failed(self, missing: int) -> None:
        """No program is to be had: with so many more ways that are known, perhaps; 0: with none."""
        if missing and len(self.samples) + missing <= _MOST:
            self._missing = missing
            return
        self.failures += 1
        self._missing = 3

    def wants(self, sync: Sync) -> None:
        """Somebody has held more results at a sync point than programs give."""
        key = sync.app.depth, sync.first
        self.syncs[key] = self.syncs.get(key, frozenset()) | sync.alive
        self._missing = 0


class AnySizes:
    """Those of one decorated method."""

    def __init__(self) -> None:
        self.root = Application(None)
        self._kinds: dict[Any, Kind] = {}
        #: Where the ways end that were noted, with the kind of each.
        self._added = weakref.WeakKeyDictionary[Application, Callable[[], Kind | None]]()
        #: By the form of arguments but for lengths: the way that calls go, and how often, since
        #: one has gone it, they have gone none. Ways may begin alike.
        self._expected: dict[Any, tuple[Application, int]] = {}

    @property
    def kinds(self) -> list[Kind]:
        """All that are known at this time: threads that are not locked out ask, and others add."""
        return list(self._kinds.values())

    @property
    def is_there(self) -> bool:
        """Whether calls may follow one of these ways."""
        return any([child.hot for child in self.root.all_children()])

    @property
    def listens(self) -> bool:
        """Whether calls of arguments that have not come before are to be noted."""
        return any([kind.listens for kind in self.kinds])

    @property
    def are_likely(self) -> bool:
        """Whether there are programs for any sizes, or are likely to be."""
        return self.is_there or any([kind.is_likely for kind in self.kinds])

    @property
    def come_soon(self) -> bool:
        """Whether there are none yet of a kind of ways of which most is known that they take."""
        return any([kind.way is None and kind.is_likely for kind in self.kinds])

    @property
    def stop_anywhere(self) -> bool:
        """Whether there is a kind of which calls are read at other places each time."""
        return any([kind.stops_anywhere for kind in self.kinds])

    @property
    def are_native(self) -> bool:
        """Whether programs of one of these ways have become native code."""
        return any([piece.schedule.has_native for plan in self.plans() for piece in plan.pieces])

    def add(
        self, app: Application, syncs: Sequence[Sync], names: Callable[[], dict[int, str]],
        outside: bool,
    ) -> None:
        """A call was noted from its first function on, which has gone the way to ``app``.

        ``outside``: whether it does not go the ways of any sizes that are there.
        """
        if app in self._added:
            if (known := self._added[app]()) is not None:
                known.calls += 1
            return
        kind = Kind()
        self._added[app] = weakref.ref(kind)
        try:
            key = _key_of(app.path(1))
            kind = self._kinds.setdefault(key, kind)
        except (Incomparable, TypeError):
            return
        self._added[app] = weakref.ref(kind)
        kind.calls += 1
        self._kinds[key] = self._kinds.pop(key)  # the last one is the one that was seen last
        if len(self._kinds) > _KINDS:
            del self._kinds[next(iter(self._kinds))]
        if kind.way is None or outside:
            kind.add(app, syncs, names)

    def may_serve(self, app: Application) -> bool:
        """Whether there are likely to be programs for any sizes for the way to ``app``."""
        try:
            kind = self._kinds.get(_key_of(app.path(1)))
        except (Incomparable, TypeError):
            return False
        return kind is not None and len(kind.samples) > 1 and not kind.failures

    def waiting(self) -> Kind | None:
        """What is to be compiled, as soon as it pays: what would serve most calls comes first."""
        return max([k for k in self.kinds if k.waits], key=lambda kind: kind.calls, default=None)

    def way(self, kind: Kind, widely: bool, shortest: int) -> Application:
        """The way of any sizes of a kind: where it ends.

        For wide or for narrow bounds, and lengths that are no less than ``shortest``: one, with
        which arrays are broadcast, or two.

        Raises:
            Different: If the ways that were noted differ in more than lengths.
        """
        return _way_of(kind, self.root, widely, shortest)

    def has(self, kind: Kind, app: Application) -> None:
        """Programs are there for the way to ``app``, instead of those from before, or more."""
        known = kind.way
        kind.has(app)
        if app is known:
            return
        if known is not None:
            self._forget(known)
        first = app.path(1)[0]
        self.root.children[id(first)] = (first,)
        self._expected.clear()
        for a in app.path(1):
            a.becomes(hot=True)

    def expects(self, arguments: Any) -> bool:
        """Predict which way a call goes; whether it may be one of these."""
        if not self._expected:
            return True
        form = form_of(arguments, of_any_size=True)
        first, in_vain = self._expected.get(form, (None, 0))
        if first is None or not first.hot:
            return True
        if in_vain > len(self.root.children):  # each was tried: again later, and later again
            self._expected[form] = first, in_vain + 1
            if in_vain & (in_vain - 1):
                return False
        self.root.predict(first)
        return True

    def _has_gone(self, run: Run) -> None:
        """Learn which way calls of such arguments go: the next one of those that there are."""
        form = form_of(run.arguments, of_any_size=True)
        first, in_vain = run.app.path(1)[0], 0
        if run.has_strayed:
            found = self.root.all_children()
            if first in found:
                first = found[(found.index(first) + 1) % len(found)]
            in_vain = self._expected.get(form, (first, 0))[1] + 1
        if len(self._expected) >= _ARGUMENTS:
            self._expected.clear()
        self._expected[form] = first, in_vain

    def was_followed(self, run: Run) -> None:
        """A call has followed one of these ways, to its end or not."""
        app = run.app
        if run.has_strayed or len(self.root.children) > 1:
            self._has_gone(run)
        kind = next((k for k in self.kinds if k.way is not None and app in k.path), None)
        if kind is None:  # another thread has dropped it
            return
        kind.left = kind.left + 2 if run.has_strayed else max(kind.left - 1, 0)
        for sync in run.syncs:
            plan = sync.app.plans.get(sync.first)
            if plan is None or plan.ready():
                kind.wants(sync)
        # Those of calls without Python (below 0) are tried besides: the others go on without them.
        plans = [plan for a in kind.path for first, plan in list(a.plans.items()) if first > 0]
        if kind.left > _LEFT or not all([plan.ready() for plan in plans]):
            # A program has shown itself wrong, or calls go other ways in the middle.
            self._give_up(kind)

    def was_served(self, app: Application) -> None:
        """A call has gone the way to ``app``, without its Python."""
        for kind in self.kinds:
            if kind.left and app in kind.ways:
                kind.left -= 1

    def give_up(self, app: Application) -> None:
        """Calls do what programs on the way to ``app`` are not for."""
        for kind in self.kinds:
            if app in kind.path:
                self._give_up(kind)

    def _give_up(self, kind: Kind) -> None:
        assert kind.way is not None
        self._forget(kind.way)
        kind.way, kind.failures, kind.samples = None, _FAILURES, []

    def _forget(self, app: Application) -> None:
        first = app.path(1)[0]
        self.root.children.pop(id(first), None)
        for a in app.path(1):
            a.becomes(hot=False)
        if self.root.next is first:
            self.root.predict(None)

    def forget(self) -> None:
        """What was known of functions does not hold any more."""
        self.root, self._kinds = Application(None), {}
        self._added.clear()
        self._expected.clear()

    def ends(self) -> list[Application]:
        """Where these ways end."""
        return [kind.way for kind in self.kinds if kind.way is not None]

    def plans(self) -> list[Plan]:
        """The programs of all these ways."""
        apps = [app for end in self.ends() for app in end.path(1)]
        return [plan for app in apps for plan in list(app.plans.values())]


# -- kinds


def _lengths(path: Sequence[Application]) -> list[tuple[int, ...]]:
    return [spec.shape for app in path for spec in (*app.leaves.values(), *app.outputs)]


def _flat(path: Sequence[Application]) -> list[int]:
    return [n for shape in _lengths(path) for n in shape]


def _key_of(path: Sequence[Application]) -> Any:
    """Equal for ways that differ in lengths and other numbers only."""
    specs = specs_of([*path]).values()
    if not path or any([spec.gpu is not None or 0 in spec.shape for spec in specs]):
        raise Incomparable("only what NumPy computes, and what is not empty, has any sizes")
    return tuple([
        (
            app.kind, app.settings, app.inputs, app.eager, app.any_attributes, app.numbers,
            tuple([(slot, _rank(spec)) for slot, spec in app.leaves.items()]),
            tuple(app.arrays.items()), tuple(map(_rank, app.outputs)),
            tuple([(name, _form_of(value)) for name, value in app.attributes.items()]),
        )
        for app in path
    ])


def _different(samples: Sequence[Sequence[Application]]) -> int:
    """How many lengths differ from way to way, but for those that are equal in each."""
    columns = {
        column for shapes in zip(*map(_lengths, samples), strict=True)
        for column in zip(*shapes, strict=True)}
    return sum([len(set(column)) > 1 for column in columns])


def _rank(spec: Spec) -> Any:
    return spec.kind, len(spec.shape), spec.dtype, spec.requires_grad


def _form_of(value: Any) -> Any:
    """The image of an attribute, with any number in the place of a number."""
    kind = type(value)
    if kind is int or kind is float:
        return kind
    if kind is tuple or kind is list:
        return kind, tuple([_form_of(v) for v in value])
    if kind is slice:
        return kind, _form_of(value.start), _form_of(value.stop), _form_of(value.step)
    return image(value)


# -- ways


class AnySize(Application):
    """An application on a way of any sizes."""

    sizes: Sizes
    _with_sizes: tuple[str, ...] = ()  # names of the attributes that depend on them

    def at(self, probe: Probe) -> Application:
        """The application at certain sizes, to be traced."""
        made = object.__new__(Application)
        made.__dict__.update(self.__dict__)
        made.sizes = None
        made.attributes = {name: at(value, probe) for name, value in self.attributes.items()}
        made.leaves = {slot: spec_at(spec, probe) for slot, spec in self.leaves.items()}
        made.outputs = tuple([spec_at(spec, probe) for spec in self.outputs])
        made.template = self.template._copied()
        for name in self._with_sizes:
            made.template.__dict__[name] = made.attributes[name]
        return made

    def gives(self, outputs: Any, values: Any = (), sizes: Any = ()) -> bool:
        """Whether outputs are of the form that is to be expected of the sizes of a call."""
        now = _reader(self.sizes.text(self.depth))(values, sizes)
        for n, size in zip(now, self.sizes.all, strict=True):
            if n is not None and not size.formula and not size.least <= n <= size.largest:
                return False
        expected = [spec_at(spec, now) for spec in self.outputs]
        are_long = _are_long(self.outputs, now, self.sizes.shortest)
        return are_long and expected == [form_of_output(y) for y in outputs]

    def with_arrays(self, array_of: Callable[[int], Any], sizes: Any = ()) -> Any:
        """The function as it is at certain sizes."""
        return self.at(sizes).with_arrays(array_of)


def spec_at(spec: Spec, probe: Probe) -> Spec:
    return spec._replace(shape=at(spec.shape, probe), strides=at(spec.strides, probe))


@functools.lru_cache(256)
def _reader(text: str) -> Callable[[Any, Any], tuple[Any, ...]]:
    """A function of the values of a call, and sizes among attributes, that gives all sizes."""
    return eval(f"lambda values, sizes: {text}")


class _Fit:
    """What the ways of a kind have in common: lengths that differ, and expressions of these."""

    def __init__(self, kind: Kind, shortest: int) -> None:
        self.samples = sorted(kind.without_ones() if shortest > 1 else kind.samples,
                              key=_lengths, reverse=True)
        if len(self.samples) < min(FEWEST, len(kind.samples)):
            raise TooFew(FEWEST - len(self.samples))
        self._shortest = shortest
        self.columns: list[tuple[int, ...]] = []
        self.sizes: list[Size] = []
        self._forms: list[Any] = []  # lengths of one form have the same bounds
        self._fitted: dict[tuple[int, ...], int] = {}  # expressions by what they are in the ways

    @property
    def probes(self) -> list[Probe]:
        """The sizes of the ways."""
        return [*zip(*self.columns, strict=True)]

    def _add(self, column: Sequence[int], form: Any, size: Size) -> None:
        if len(self.columns) >= _SYMBOLS:
            raise Different("too many lengths differ")
        self.columns.append(tuple(column))
        self.sizes.append(size)
        self._forms.append(form)

    def _fit(self, column: Sequence[int]) -> int | None:
        """A number, or an expression of the lengths that are known so far."""
        if len(set(column)) == 1:
            return column[0]
        made = self._fitted.get(tuple(column))
        if made is None and self.columns:
            made = fit(column, self.probes)
            if made is not None:
                self._fitted[tuple(column)] = made
        return made

    def see(self, specs: Sequence[Spec], slot: int, depth: int) -> None:
        """Have symbols for the lengths of a value, as far as there are no expressions for them."""
        array = f"values[{slot}]" if specs[0].kind in ARRAYS else f"values[{slot}]._array"
        for axis, column in enumerate(zip(*[spec.shape for spec in specs], strict=True)):
            if self._fit(column) is None:
                text = f"{array}.shape[{axis}]"
                size = Size(depth, text, 0, 0, slot=slot, axis=axis)
                self._add(column, (specs[0].dtype, len(specs[0].shape), axis), size)

    def see_attribute(self, values: Sequence[Any], place: tuple[Any, ...], depth: int) -> None:
        """Likewise for the numbers in an attribute of a function."""
        kind = type(values[0])
        if kind is int and self._fit(values) is None:
            size = Size(depth, f"sizes[{len(self.sizes)}]", 0, 0, attribute=place)
            self._add(values, place[0], size)
        elif kind is tuple or kind is list:
            for i, items in enumerate(zip(*values, strict=True)):
                self.see_attribute(items, (*place, i), depth)
        elif kind is slice:
            for name in ("start", "stop"):
                self.see_attribute([getattr(v, name) for v in values], (*place, name), depth)

    def _compute(self, column: Sequence[int], group: Sequence[int], depth: int) -> int | None:
        """An expression with a length that is computed from those of a group."""
        for formula, computed in _formulas(group, self.columns):
            # One whose values are none of a length that is known, and that tell the column.
            if computed not in self.columns and (
                    fit(column, [(n,) for n in computed]) is not None):
                text = re.sub(r"size(\d+)", self._text_of, formula)
                self._add(computed, None, Size(depth, f"({text})", 0, 0, formula=formula))
                return self._fit(column)
        return None

    def _text_of(self, match: re.Match[str]) -> str:
        return self.sizes[int(match[1])].text

    def value(self, values: Sequence[Any], group: Sequence[int] = (), depth: int = 0) -> Any:
        """An expression for values of the ways; it may be computed from a group of lengths.

        Raises:
            Different: If there is none.
        """
        if all([v is values[0] for v in values]):
            return values[0]

        def fit_or_compute(column: Sequence[int], probes: Sequence[Probe]) -> int | None:
            made = self._fit(column)
            return made if made is not None else self._compute(column, group, depth)

        return fit_value(values, self.probes, fit_or_compute)

    def spec(self, specs: Sequence[Spec], group: Sequence[int] = (), depth: int = 0) -> Spec:
        """The description of a value."""
        shape = self.value([s.shape for s in specs], group, depth)
        return specs[0]._replace(shape=shape, strides=self.value([s.strides for s in specs]))

    def _wider(self) -> int:
        """How many times as long lengths may be: to trace what is large takes long."""
        largest = max([
            sum([math.prod(y.shape) * y.dtype.itemsize for app in path for y in app.outputs])
            for path in self.samples])
        return min(max(_LARGE // max(largest, 1), _WIDE), _WIDER)

    def found(self, widely: bool) -> Sizes:
        """The lengths, with the bounds between which they are to be."""
        bounds: dict[Any, list[int]] = {}
        for form, column in zip(self._forms, self.columns, strict=True):
            bounds.setdefault(form, []).extend(column)
        found = []
        for form, size in zip(self._forms, self.sizes, strict=True):
            least, largest = min(bounds[form]), max(bounds[form])
            if widely:
                least, largest = min(least, self._shortest), self._wider() * largest
            found.append(size._replace(least=least, largest=largest))
        if not found:
            raise Different("nothing of it has another length at other sizes")
        return Sizes(tuple(found), tuple(self.probes), self._shortest)


def _formulas(
    group: Sequence[int], columns: Sequence[tuple[int, ...]]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What else than sums and products functions compute of lengths: the largest, and parts.

    With the values that it has in the ways.
    """
    if len(group) > 1:
        names = ", ".join([symbol(k) for k in group])
        yield f"max({names})", tuple(map(max, *[columns[k] for k in group]))
    for k in group:
        for step in range(2, _STEPS + 1):
            for more in range(step):
                computed = tuple([(n + more) // step for n in columns[k]])
                yield f"({symbol(k)} + {more}) // {step}", computed


def _way_of(kind: Kind, root: Application, widely: bool, shortest: int) -> Application:
    """The last application of the way of any sizes."""
    found = _Fit(kind, shortest)
    specs: dict[int, Spec] = {}
    app = root
    for apps in zip(*found.samples, strict=True):
        app = _application(app, apps, found, specs)
    sizes = found.found(widely)
    for made in app.path(1):
        made.sizes = sizes
    return app


def _application(
    parent: Application, apps: Sequence[Application], found: _Fit, specs: dict[int, Spec]
) -> AnySize:
    """What functions at one place of several ways have in common; ``specs`` are those so far."""
    first, made = apps[0], AnySize(parent)
    for name in ("kind", "settings", "first_slot", "first_output", "inputs", "arrays", "weight",
                 "eager", "any_attributes", "place", "images"):
        setattr(made, name, getattr(first, name))
    made.leaves = {}
    for slot in first.leaves:
        forms = [app.leaves[slot] for app in apps]
        found.see(forms, slot, made.depth)
        made.leaves[slot] = specs[slot] = found.spec(forms)
    # What is padded is as long as the longest; windows that move by two give half.
    group = sorted(symbols_in([specs[slot].shape for slot in made.inputs]))
    made.outputs = _outputs(made, apps, found, group)
    specs.update(zip(made.output_slots, made.outputs, strict=True))
    made.attributes, numbers = {}, [*first.numbers]
    for name in first.attributes:
        values = [app.attributes[name] for app in apps]
        try:
            made.attributes[name] = found.value(values, group, made.depth)
        except Different:
            if type(values[0]) in (int, float) and not made.arrays:
                numbers.append((name, type(values[0])))
                continue
            found.see_attribute(values, (name,), made.depth)
            made.attributes[name] = found.value(values)
    made.numbers = tuple(numbers)
    made._with_sizes = tuple([n for n, value in made.attributes.items() if symbols_in(value)])
    if (made.numbers or made._with_sizes) and not of_the_library(made.kind):
        raise Different(f"{made.kind.__name__} is the user's, and has a length as an attribute")
    kept = next((app for app in reversed(apps) if app.kept), None)
    if kept is None:
        raise TooFew(1)  # of none is known what a program needs
    reason = made.eager
    made.take_over(kept)
    made.eager = reason
    made.renew()
    if parent.parent is not None:  # the root learns of it when there are programs
        parent.children = {made.place: (made,)}
    return made


def _outputs(
    made: AnySize, apps: Sequence[Application], found: _Fit, group: Sequence[int]
) -> tuple[Spec, ...]:
    """What the results have in common."""
    outputs = [*zip(*[app.outputs for app in apps], strict=True)]
    try:
        return tuple([found.spec(forms, group, made.depth) for forms in outputs])
    except Different:  # their lengths are attributes, maybe
        before = len(found.columns)
        for name in apps[0].attributes:
            found.see_attribute([app.attributes[name] for app in apps], (name,), made.depth)
        attributes = len(found.columns) > before
    try:
        return tuple([found.spec(forms) for forms in outputs])
    except Different as e:  # else they depend on values
        if attributes and len(apps) < len(found.columns) + 2:
            raise TooFew(len(found.columns) + 2 - len(apps)) from e
        made.eager = "the form of its results depends on values"
        for slot, forms in zip(apps[0].output_slots, outputs, strict=True):
            found.see(forms, slot, made.depth)
        return tuple([found.spec(forms) for forms in outputs])


# -- pieces

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83)


def _probes(sizes: Sizes, specs: dict[int, Spec]) -> list[Probe]:
    """Sizes at which functions are traced: two between the bounds, and the corners.

    Where all lengths are the least, or the largest, or one of them is, or half of many are: what is
    decided by comparing lengths with numbers shows there. Where lengths are what others have left,
    some of these are none; the sizes that were seen always are.

    Raises:
        Different: If there are too few to tell what depends on what.
    """
    least, largest = [s.least for s in sizes.all], [s.largest for s in sizes.all]
    seen = [[*probe] for probe in sizes.seen[: _seen_among(len(least))]]
    probes = [_inner(sizes), *seen, least, largest]
    for some in _corners(len(least)):
        probes.append([m if k in some else n for k, (n, m) in enumerate(
            zip(least, largest, strict=True))])
    for k, size in enumerate(sizes.all):
        for probe in probes if size.formula else ():
            probe[k] = eval(size.formula, {"max": max}, _named(probe))
    all_of_them = dict.fromkeys([*map(tuple, probes), *sizes.seen])
    found = [p for p in all_of_them if _are_long(specs.values(), p, sizes.shortest)]
    if len(found) < min(len(least), FEW) + 2:
        raise Different("too few sizes are possible")
    return found[: len(probes)]


def probes_for(lengths: int) -> int:
    """At how many sizes functions are traced of which so many lengths may differ."""
    return 3 + _seen_among(lengths) + len(_corners(lengths))


def _seen_among(lengths: int) -> int:
    """How many of the probes are sizes that calls have had."""
    return 1 if lengths <= FEW else _SEEN


def _corners(n: int) -> list[set[int]]:
    """Which of ``n`` lengths are the largest at probes: each alone; of many, sets of half of them,
    such that of any two there is one without the other."""
    if n <= FEW:
        return [{k} for k in range(n - 1)]
    count = next(c for c in itertools.count() if math.comb(c, c // 2) >= n)
    members = itertools.combinations(range(count), count // 2)  # no one is part of another
    found = [set[int]() for _ in range(count)]
    for k, sets in zip(range(n), members, strict=False):
        for j in sets:
            found[j].add(k)
    return found


def _named(probe: Sequence[int]) -> dict[str, int]:
    return {symbol(k): n for k, n in enumerate(probe)}


def _inner(sizes: Sizes) -> list[int]:
    """Lengths in the middle that are multiples of little, and all different if that is possible."""
    found: list[int] = []
    for size in sizes.all:
        low, high = max(size.least, 2), max(size.largest, 2)
        near = [n for n in _PRIMES if low <= n <= high and n not in found]
        near = near or [n for n in range(low, high + 1) if n not in found]
        middle = (low + high) // 2
        found.append(min(near, key=lambda n: abs(n - middle), default=middle))
    return found


class _TracedAtProbes:
    """What :class:`._trace.Traced` is, of functions that were traced at several probes."""

    def __init__(self, traced: Sequence[Traced], probes: Sequence[Probe]) -> None:
        self._all, self._unified = traced, Unified(probes)
        self._probes = probes
        _check_the_same([_facts(t) for t in traced])
        self.forward: Graph = self._unified.graph([t.forward for t in traced])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all[0], name)

    def backward(self, key: Any) -> Backward:
        """Record it at all probes."""
        with recording(for_any_sizes=True):
            found = [t.backward(_at_shapes(key, t)) for t in self._all]
        _check_the_same([
            (b.present, b.requires_grad, [late[1:] for late in b.late], b.same, b.shared)
            for b in found])
        graph = self._unified.graph([b.graph for b in found])
        forms = fit_value([b.forms for b in found], self._probes)
        return found[0]._replace(graph=graph, forms=function_of(forms, len(self._probes[0])))


def _check_the_same(facts: Sequence[Any]) -> None:
    if any([fact != facts[0] for fact in facts]):
        raise Different("the graph of the functions is another one at other sizes")


def _facts(traced: Traced) -> Any:
    return (
        [(i.slot, i.number) for i in traced.inputs], [use[1:] for use in traced.uses],
        traced.passive, traced.same_leaf, traced.chained, traced.retained, traced.written,
        traced.numbers, traced.shown,
        [(app.fails, app.writes, [draw.name for draw in app.draws]) for app in traced.apps],
    )


def _at_shapes(key: Any, traced: Traced) -> Any:
    """The kind of a backward, for gradients of the shapes that results have in a trace."""
    ranks, alone, *forms = key
    return (ranks, alone, *[
        form and (form[0], _strides(form[1], traced._values[slot]._array), form[2])
        for slot, form in zip(traced.chained, forms, strict=True)])


# Layouts of gradients: without gaps, the same all over, rows that do not follow each other.
DENSE, CONSTANT, ROWS = "dense", "constant", "rows"


class Permuted(NamedTuple):
    """The layout of an array without gaps whose axes lie in another order: a transposed one."""

    order: tuple[int, ...]  # of the axes, from outermost to innermost


def _layout(array: Any) -> Any:
    form = array.shape, array.strides, array.itemsize
    if is_contiguous(*form):
        return DENSE
    if not any(array.strides):
        return CONSTANT
    if usual_strides(array) is not None:
        return ROWS
    return Permuted(order_of(array.strides)) if is_dense(*form) else array.strides


def _strides(layout: Any, like: Any) -> Any:
    if layout == CONSTANT:
        return (0,) * like.ndim
    if layout == ROWS:
        return strides_of_rows(like.shape, like.itemsize)
    if isinstance(layout, Permuted):
        return dense_strides(like.shape, like.itemsize, layout.order)
    return dense_strides(like.shape, like.itemsize) if layout == DENSE else layout


class AnySizePiece(Piece):
    """A piece with one program for all sizes between bounds."""

    layout = _layout_in_turns = staticmethod(_layout)
    lays_out = True
    may_wait = False

    def __init__(
        self, name: str, apps: Sequence[AnySize], specs: dict[int, Spec], *args: Any
    ) -> None:
        sizes = apps[0].sizes
        slots = {slot for app in apps for slot in (*reads(app), *app.output_slots)}
        specs = {slot: specs[slot] for slot in slots}
        self.sizes_of = _reader(sizes.text(apps[-1].depth))
        self._at_any, self._odd = specs, 0
        self._probes = _probes(sizes, specs)
        self.programs = len(self._probes)
        usual = {slot: spec_at(spec, [*map(max, *sizes.seen)]) for slot, spec in specs.items()}
        self._bytes = sum([
            math.prod(usual[slot].shape) * usual[slot].dtype.itemsize
            for app in apps for slot in app.output_slots])
        super().__init__(name, apps, usual, *args)

    def _intermediate_bytes(self) -> int:
        return self._bytes

    def _traced(self) -> Any:
        traced = []
        for probe in self._probes:
            apps = [app.at(probe) for app in self.apps]
            specs = {slot: spec_at(spec, probe) for slot, spec in self._at_any.items()}
            with recording(for_any_sizes=True):
                traced.append(Traced(
                    self.name, apps, specs, self.results, self._names, self._apart, self._arrays,
                    self._same))
        try:
            made = _TracedAtProbes(traced, self._probes)
            for app, *there in zip(self.apps, *[t.apps for t in traced], strict=True):
                _take_what_is_known(app, there, self._probes)
        except Different as e:
            raise Untraceable(self.apps[0], str(e)) from e
        return made

    def _probes_between(
        self, least: Sequence[int], largest: Sequence[int], seen: Sequence[Probe]
    ) -> list[Probe]:
        """Sizes for native code; lengths that come later are 0 here."""
        sizes = self.apps[0].sizes
        if sizes.shortest < 2:  # what native code does with one row is another matter
            dims = [n for s in self._at_any.values() for n in s.shape if type(n) is lengths.Size]
            if not all(map(sizes.are_long, dims)):
                raise Different("lengths may be one that are computed from others")
            sizes = sizes._replace(shortest=2)
        bounds = [
            size._replace(least=low, largest=high) if high else size
            for size, low, high in zip(sizes.all, least, largest, strict=True)]
        specs = {slot: spec for slot, spec in self._at_any.items() if all(
            [largest[k] for k in symbols_in(spec.shape)])}
        found = _probes(sizes._replace(all=tuple(bounds), seen=tuple(seen)), specs)
        more = [probe for probe in seen if probe not in found]
        return [*found, *more[-_TO_BE_SURE:]]

    def _is_of_any_size(self, layout: Any, slot: int) -> bool:
        """Whether gradients of a result are laid out like that at all sizes."""
        if layout in (DENSE, CONSTANT, ROWS) or isinstance(layout, Permuted):
            return True
        return not symbols_in(self._at_any[slot].shape)

    def wants(self, key: Any) -> None:
        """A backward has come that the node has no program for."""
        forms = zip(self.chained, key[2:], strict=True)
        if all([form is None or self._is_of_any_size(form[1], slot) for slot, form in forms]):
            super().wants(key)
            return
        self._odd += 1
        if self._odd >= max(4, self.uses_since_check // 2):
            self.dropped = True  # that takes longer than define-by-run

    def _schedule(self, forward: Graph, backwards: Any) -> Schedule:
        try:
            return AnySizeSchedule(
                forward, backwards, len(self._probes[0]), self.name, self._probes_between)
        except NotAnySize as e:
            raise Untraceable(self.apps[0], str(e)) from e


def _take_what_is_known(app: Application, there: Sequence[Application], probes: Any) -> None:
    """Know what traces have found out, as expressions of the sizes."""
    draws = tuple([
        Draw(same[0].name, *[fit_value([d[k] for d in same], probes) for k in (1, 2)])
        for same in zip(*[a.draws for a in there], strict=True)])
    known = draws, there[0].writes, there[0].fails
    if known != (app.draws, app.writes, app.fails):
        app.draws, app.writes, app.fails = known
        app.renew()


def _are_long(specs: Iterable[Spec], probe: Probe, shortest: int) -> bool:
    """Whether no length that is an expression is too short."""
    found = [n.at(probe) for spec in specs for n in spec.shape if type(n) is lengths.Size]
    return min(found, default=shortest) >= shortest
