"""The generated comparisons of functions with applications on the tree.

In: an application. Out: its ``match``, straight-line code that compares a function with it, adds
what is new to the values of the call, and hands out promises. What may not happen: a match of a
function that would compute something else than the one that was recorded.
"""

from __future__ import annotations

import functools
import itertools
import re
import warnings
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import _tracing
from chainer.function_node import next_number
from chainer.variable import Variable
from chainwright.ir import size as lengths
from chainwright.ir.size import source_of, symbol, symbols_in

from ._device import ARRAYS, elsewhere
from ._errors import errors
from ._frames import by_user, may_be_caught
from ._limits import are_within
from ._python import LOCAL, refs
from ._random import PLAIN_DRAWS, draw_function, generator_state, whole_generator_state
from ._residual import defined
from ._specs import ArrayItem, Size, Sizes, other_gaps
from ._values import differs, image

if TYPE_CHECKING:
    from ._tree import Application, Match

_SLICE = ("start", "stop", "step")
# Why a function that programs may contain is applied between two of them in a call.
_BY_USER = "the user's code applies the function itself, or would catch what it raises"
_LOOKED_AT = "an array that functions write to was looked at, or is another one than before"


def match_of(app: Application) -> Match:
    """Generate the ``match`` of an application: straight-line code."""
    writer = _Writer(app)
    code = _compiled(writer.text())
    return defined(code, writer.names, "match")


@functools.lru_cache(2048)
def _compiled(text: str) -> CodeType:
    # Applications of one form share their text; what differs stands in the namespace.
    return compile(text, "<chainwright match>", "exec")


def _between(why: str) -> str:
    return f"return run.apply_between(func, inputs, app, {why!r})"


class _Writer:
    """Writes the code of one."""

    def __init__(self, app: Application) -> None:
        self.app, self.lines = app, list[str]()
        self.names: dict[str, Any] = dict(_NAMES, app=app)
        self.guards: list[str] = []

    def bind(self, value: Any) -> str:
        name = f"k{len(self.names) - len(_NAMES)}"
        self.names[name] = value
        return name

    def text(self) -> str:
        app, lines, k = self.app, self.lines, self.bind
        n = len(app.inputs)
        xs = [f"x{i}" for i in range(n)]
        lines.append(
            f"if type(func) is not {k(app.kind)} or run.settings is not {k(app.settings)} or "
            f"len(inputs) != {n} or errors() is not run.errors: return None"
        )
        if app.eager is None:
            lines.append("if warnings.filters is not run.warns.filters: return None")
        lines.append("values = run.values; append = values.append; bound = run.bound")
        if xs:
            lines.append(f"{', '.join(xs)}, = inputs")
        self.undo = f"return undo(run, {k(app.first_slot)})"
        if app.sizes is not None:
            self._known_sizes(app.sizes)
        new = set(app.leaves)
        for x, slot in zip(xs, app.inputs, strict=True):
            self._value(x, slot, new)
        lines.append("d = func.__dict__")
        self._sizes_of_attributes()
        self._new_sizes(lambda size: bool(size.formula), lambda size: size.formula)
        if not app.any_attributes:
            plain_arrays = [key for key in app.arrays if len(key) == 1]
            size = len(app.attributes) + len(app.numbers) + len(plain_arrays)
            lines.append(f"if len(d) != {size}: {self.undo}")
            lists = {key[0] for key in app.arrays if len(key) > 1}
            for name, value in app.attributes.items():
                if name in lists:
                    kind = type(value).__name__
                    lines.append(f"v = d.get({name!r})")
                    lines.append(
                        f"if type(v) is not {kind} or len(v) != {len(value)}: {self.undo}"
                    )
                    for i, item in enumerate(value):
                        if item is not ArrayItem:
                            self._attribute(f"d[{name!r}][{i}]", item)
                else:
                    self._attribute(f"d.get({name!r}, d)", value)
            for name, kind in app.numbers:
                lines.append(f"if type(d.get({name!r})) is not {kind.__name__}: {self.undo}")
            for name, *place in app.arrays:
                slot = app.arrays[name, *place]
                lines.append(f"x = d[{name!r}][{place[0]}]" if place else f"x = d.get({name!r})")
                self._value("x", slot, new)
        for spec in app.outputs if app.eager is None else ():
            self._check_lengths(spec.shape)
        # Late, an exception would not be caught, or by others. In parts that come anywhere, whoever
        # applies a function himself may look at what it leaves on itself, too.
        tests = ["by_user()"] * app.anywhere
        if app.eager is None and app.fails and app.asks_limits and not app.may_raise:
            tests.append(f"not are_within(values, {k(app.limits)})")
        elif app.eager is None:
            tests.append("may_be_caught()" if app.fails else "run.raises and may_be_caught()")
        if tests:
            self.guards.insert(0, f"if {' or '.join(tests)}: {_between(_BY_USER)}")
        lines += self.guards
        if app.eager is not None:
            lines.append(_between(app.eager))
        else:
            self._promises()
        return "def match(run, func, inputs):\n    " + "\n    ".join(lines) + "\n"

    def _value(self, x: str, slot: int, new: set[int]) -> None:
        if slot not in new:
            known = self.bind(slot)
            self.lines.append(f"if {x} is not values[{known}]: {self.undo}")
            if slot in self.app.writes:
                self._written(slot)
                return
            again = f"if {known} in run.guards: run.guard_again({known})"
            # An array may have been written only, so far.
            own = self._is_array(slot)
            late = f"else: run.guard({known})" if own else (
                f"elif run.handed: run.guard_handed({known})")
            self.guards.append(f"{again}\n    {late}")
            leaf = next((a.views[slot] for a in self.app.path(1) if slot in a.views), None)
            if leaf is not None:  # whatever has been written there since stands in it, too
                leaf = self.bind(leaf)
                self.guards.append(f"if {leaf} in run.guards: run.guard_again({leaf})")
            return
        new.discard(slot)
        spec, k = self.app.leaves[slot], self.bind
        array = x
        if spec.kind not in ARRAYS:
            self.lines.append(
                f"if type({x}) is not {k(spec.kind)} or "
                f"{x}._requires_grad is not {spec.requires_grad}: {self.undo}"
            )
            self.lines.append(f"a = {x}._array")
            array = "a"
        if spec.kind is Variable:
            # What a function of the call gives, and has its values since the last sync point,
            # is none: gradients of its uses would be added up in another order.
            self.lines.append(f"if id({x}) in run.given: {self.undo}")
        dtype, shape = k(spec.dtype), self._source(spec.shape)
        # Two leaves of the recording are two objects here, too.
        self.lines.append(
            f"if {elsewhere(array, spec.gpu, self.bind)} or {array}.ndim != {len(spec.shape)} or "
            f"{array}.dtype is not {dtype} and {array}.dtype != {dtype} or id({x}) in bound: "
            f"{self.undo}"
        )
        self._new_sizes(lambda size: size.slot == slot, lambda size: f"{array}.shape[{size.axis}]")
        self._check_lengths(spec.shape)
        written = slot in self.app.writes
        gaps = other_gaps(array, spec._replace(loose=spec.loose and not written), self._source)
        self.lines.append(f"if {array}.shape != {shape}{gaps}: {self.undo}")
        self.lines.append(f"bound[id({x})] = {x}; append({x})")
        if slot in self.app.writes:
            self._written(slot)
        elif spec.kind in ARRAYS:
            self.guards.append(f"run.guard({k(slot)})")
        else:
            # Who else holds the array may write into it before the program runs.
            self.guards.append(f"a = values[{k(slot)}]._array")
            self.guards.append(
                f"if refs(a) > {2 + LOCAL} or a.base is not None: run.guard({k(slot)})"
            )

    def _source(self, value: Any) -> str:
        """A value: an expression, where it depends on sizes."""
        return source_of(value, self.bind) if symbols_in(value) else self.bind(value)

    def _known_sizes(self, sizes: Sizes) -> None:
        """Read the lengths that leaves from before have."""
        app = self.app
        specs = [*app.leaves.values(), *(app.outputs if app.eager is None else ())]
        facts = [*app.attributes.values(), *[(s.shape, s.strides) for s in specs]]
        facts += [(draw.args, draw.kwargs) for draw in app.draws]
        own = {k for k, size in enumerate(sizes.all) if size.depth == app.depth}
        computed = re.findall(r"size(\d+)", " ".join([sizes.all[k].formula for k in own]))
        self._used = sorted(symbols_in(facts) | own | set(map(int, computed)))
        self.lines.append("sizes = run.sizes")
        for k in self._used:
            if k not in own:
                self.lines.append(f"{symbol(k)} = {sizes.all[k].text}")

    def _new_sizes(self, which: Callable[[Size], bool], source: Callable[[Size], str]) -> None:
        """Read lengths that are known with this function."""
        for k, size in enumerate(self.app.sizes.all if self.app.sizes is not None else ()):
            if size.depth == self.app.depth and which(size):
                self.lines.append(f"{symbol(k)} = {source(size)}")
                if size.attribute:
                    self.lines.append(f"if type({symbol(k)}) is not int: {self.undo}")
                    self.lines.append(f"sizes[{k}] = {symbol(k)}")
                if not size.formula:
                    inside = f"{size.least} <= {symbol(k)} <= {size.largest}"
                    self.lines.append(f"if not {inside}: {self.undo}")

    def _sizes_of_attributes(self) -> None:
        """Read the lengths that are attributes, or items of some."""
        own = self.app.sizes.all if self.app.sizes is not None else ()
        places = [size.attribute for size in own if size.depth == self.app.depth]
        for place in dict.fromkeys([p[:n] for p in places for n in range(1, len(p))]):
            value = self.app.attributes[place[0]]
            for step in place[1:]:
                value = _item(value, step)
            wrong = f"type(v := {_item_text(place)}) is not {type(value).__name__}"
            length = "" if type(value) is slice else f" or len(v) != {len(value)}"
            self.lines.append(f"if {wrong}{length}: {self.undo}")
        self._new_sizes(
            lambda size: bool(size.attribute), lambda size: _item_text(size.attribute))

    def _check_lengths(self, shape: tuple[int, ...]) -> None:
        """What is left of a length may be too little: nothing, or one, which is broadcast."""
        sizes = self.app.sizes
        for n in shape if sizes is not None else ():
            if type(n) is lengths.Size and not sizes.are_long(n):
                self.lines.append(f"if {n!r} < {sizes.shortest}: {self.undo}")

    def _is_array(self, slot: int) -> bool:
        """Whether a known value is an array, and no Variable."""
        app = self.app
        while app.first_slot > slot:
            assert app.parent is not None
            app = app.parent
        return slot in app.leaves and app.leaves[slot].kind in ARRAYS

    def _written(self, slot: int) -> None:
        """What users can see they must find changed when the function has been applied."""
        self.guards.append(f"x = values[{self.bind(slot)}]")
        self.guards.append(
            f"if id(x) in run.looked or id(x) not in run.statistics: {_between(_LOOKED_AT)}"
        )
        self.guards.append("note_function(func, x)")

    def _attribute(self, v: str, value: Any) -> None:
        if symbols_in(value):
            self._attribute_of_size(v, value)
            return
        k, kind = self.bind(value), type(value)
        if value is None or kind is bool or isinstance(value, type):
            check = f"{v} is not {k}"
        elif kind in (int, str, bytes):
            check = f"(v := {v}) is not {k} and (type(v) is not {kind.__name__} or v != {k})"
        elif kind is tuple and all(type(i) is int for i in value):
            check = (
                f"(v := {v}) is not {k} and (type(v) is not tuple or not all_ints(v) or "
                f"v != {k})"  # arrays are compared with nothing
            )
        elif kind is float:
            check = (
                f"(v := {v}) is not {k} and (type(v) is not float or v != {k} or "
                f"v == 0 and repr(v) != repr({k}))"
            )
        else:
            check = f"differs({v}, {self.bind(image(value))})"
        self.lines.append(f"if {check}: {self.undo}")

    def _attribute_of_size(self, v: str, value: Any) -> None:
        self.lines.append(f"v = {v}")
        self.lines.append(f"if {' or '.join(self._differences('v', value))}: {self.undo}")

    def _differences(self, v: str, value: Any) -> list[str]:
        """Conditions of which one holds if ``v`` is not what an expression says."""
        kind = type(value)
        if kind is int or kind is lengths.Size:
            return [f"type({v}) is not int", f"{v} != {value!r}"]
        if kind is lengths.Share:
            short = f"{value.size!r} < {value.least}"  # it would be a division by zero
            return [f"type({v}) is not float", short, f"{v} != {value!r}"]
        if kind is slice:
            parts = [self._differences(f"{v}.{name}", getattr(value, name)) for name in _SLICE]
            return [f"type({v}) is not slice", *itertools.chain(*parts)]
        if kind is tuple or kind is list:
            items = [self._differences(f"{v}[{i}]", item) for i, item in enumerate(value)]
            wrong = f"type({v}) is not {kind.__name__}"
            return [wrong, f"len({v}) != {len(value)}", *itertools.chain(*items)]
        if value is None or kind is bool:
            return [f"{v} is not {value}"]
        return [f"differs({v}, {self.bind(image(value))})"]

    def _promises(self) -> None:
        app, lines, k = self.app, self.lines, self.bind
        if app.draws:
            # Random numbers are drawn here, where define-by-run draws them.
            plain = all([draw.name in PLAIN_DRAWS for draw in app.draws])
            state = k(generator_state if plain else whole_generator_state)
            lines.append(f"run.states[app] = {state}()")
            for draw in app.draws:
                f, args, kwargs = k(draw_function(draw.name)), draw.args, draw.kwargs
                args, kwargs = self._source(args), self._source(kwargs)
                lines.append(f"run.drawn.append({f}(*{args}, **{kwargs}))")
        # Functions that are computed late stand in the graph where they were applied.
        lines.append("run.places.append(next_number())")
        lines.append("run.funcs.append(func); run.app = app; run.step = app.go")
        ys = [f"y{i}" for i in range(len(app.outputs))]
        for y, spec in zip(ys, app.outputs, strict=True):
            if symbols_in(spec.shape):
                p = f"new_promise({spec.shape!r}, {k(spec.dtype)})"
            else:
                p = k(_tracing.promise(spec.shape, spec.dtype, spec.gpu))
            lines.append(
                f"{y} = new(Variable); {y}._array = {p}; "
                f"{y}._requires_grad = {spec.requires_grad}; append({y})"
            )
        lines.append(f"return ({', '.join(ys)},)" if ys else "return ()")


def _item(value: Any, step: int | str) -> Any:
    return getattr(value, step) if type(step) is str else value[step]


def _item_text(place: tuple[Any, ...]) -> str:
    """An expression for an item of an attribute: ``('slices', 0, 'stop')``."""
    steps = [f".{step}" if type(step) is str else f"[{step}]" for step in place[1:]]
    return f"d.get({place[0]!r}){''.join(steps)}"


def undo(run: Any, n: int) -> None:
    """Forget the leaves from slot ``n`` on."""
    values = run.values
    for x in values[n:]:
        run.bound.pop(id(x), None)
    del values[n:]


def _all_ints(values: Any) -> bool:
    return all([type(v) is int for v in values])


_NAMES = {
    "new_promise": _tracing.new_promise,
    "new": object.__new__,
    "Variable": Variable,
    "ndarray": np.ndarray,
    "undo": undo,
    "differs": differs,
    "all_ints": _all_ints,
    "next_number": next_number,
    "refs": refs,
    "errors": errors,
    "warnings": warnings,
    "by_user": by_user,
    "may_be_caught": may_be_caught,
    "are_within": are_within,
    "handed_out": _tracing.handed_out,
    "note_function": _tracing.note_function,
}
