"""The tree of applications that calls of one method have been seen to walk.

In: the functions that a method applies, call after call. Out: for each place an
:class:`Application`, with a generated ``match`` that compares the next function with it and hands
out promises. What may not happen: a match of a function that would compute something else than
the one that was recorded.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from chainer import _tracing, configuration, function, function_node
from chainer.function_node import FunctionNode, next_number
from chainer.variable import Variable
from chainwright.ir import Origin
from chainwright.ir import size as lengths
from chainwright.ir.size import source_of, symbol, symbols_in
from chainwright.tracer import is_library, user_frame

from ._account import Meter, clock
from ._contexts import hands_on
from ._device import ARRAYS, elsewhere, gpu_of
from ._python import LOCAL, ends_of_loops, handled, is_known, refs
from ._random import PLAIN_DRAWS, draw_function, generator_state, whole_generator_state
from ._values import Incomparable, differs, image
from ._warned import FILTER, matches


class Spec(NamedTuple):
    """What a value from outside of the call must be: ``kind`` is its class."""

    kind: type
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    requires_grad: bool | None
    gpu: int | None = None  # the GPU on which it is
    loose: bool = False  # whether the strides stand for those of others, too

    @classmethod
    def of(cls, x: Any) -> Spec:
        """The description of a Variable or array."""
        if isinstance(x, Variable):
            array, requires_grad = x._array, x._requires_grad
        else:
            array, requires_grad = x, None
        if not _is_plain_array(array):
            raise Incomparable(f"a {type(array).__name__}")
        gpu = gpu_of(array)
        strides = None if gpu is not None else usual_strides(array)
        facts = array.shape, array.dtype, strides or array.strides, requires_grad, gpu
        return cls(type(x), *facts, strides is not None)


_GAP = 64  # bytes between the rows of an array as programs take it


def usual_strides(array: np.ndarray) -> tuple[int, ...] | None:
    """Strides that stand for those of an array, as far as these say how long something else is.

    ``x[:, t]``, of one time step of a batch, has rows that lie as far apart as the batch is long.
    Neither functions of rows depend on how far that is, as long as they do not follow each other
    without gaps, nor those of whole numbers on gaps at all. None: only these strides themselves.

    >>> from chainer.graph_optimizations._tree import usual_strides
    >>> x = np.zeros((4, 7, 2), np.float32)
    >>> x[:, 3].strides, usual_strides(x[:, 3]), usual_strides(x)
    ((56, 4), (72, 4), None)
    """
    shape, size = array.shape, array.itemsize
    if len(shape) == 1:
        return (size,) if array.dtype.kind in "iub" else None
    if not shape or shape[0] < 2 or array.flags.c_contiguous:
        return None
    first, *inner = array.strides
    for n, stride in zip(reversed(shape[1:]), reversed(inner), strict=True):
        if stride != size:
            return None
        size *= n
    return (size + _GAP, *inner) if first > size > 0 and first % array.itemsize == 0 else None


def laid_out(array: Any, strides: tuple[int, ...] | None) -> Any:
    """An array with its usual strides, which may be known: itself, or a copy."""
    strides = strides or usual_strides(array) or array.strides
    if array.strides == strides:
        return array
    if array.ndim == 1:
        return array.copy()
    rows = np.empty((len(array), strides[0] // array.itemsize), array.dtype)
    made = rows[:, : -(_GAP // array.itemsize)].reshape(array.shape)
    made[...] = array
    return made


def other_gaps(array: str, spec: Spec, source: Callable[[Any], str]) -> str:
    """The rest of a condition: strides for which those of a description do not stand."""
    strides = spec.strides
    if not spec.loose:
        return f" or {array}.strides != {source(strides)}"
    if len(strides) == 1:
        return ""
    return (
        f" or {array}.strides[1:] != {source(strides[1:])} or "
        f"{array}.strides[0] <= {source(strides[0])} - {_GAP} or "
        f"{array}.strides[0] % {spec.dtype.itemsize}")


class Size(NamedTuple):
    """Where a length comes from that a way of any sizes has open.

    From an axis of the value in a slot, or from an attribute (or an item of one) of a function; or
    a ``formula`` computes it from others before it. ``text`` reads it from ``values`` and ``sizes``
    of a call, once the functions up to ``depth`` are known.
    """

    depth: int
    text: str
    least: int
    largest: int
    slot: int | None = None
    axis: int = 0
    attribute: tuple[Any, ...] = ()
    formula: str = ""


class Sizes(NamedTuple):
    """The lengths that a way of any sizes has open, and those that were ``seen``.

    No length is less than ``shortest``, neither are those that are computed from them.
    """

    all: tuple[Size, ...]
    seen: tuple[tuple[int, ...], ...]
    shortest: int

    def are_long(self, n: lengths.Size) -> bool:
        """Whether a length is a sum of products of axes, so that none is shorter than these."""
        alone = all([self.all[k].slot is not None for k in symbols_in(n)])
        return alone and all([factor > 0 for _, factor in n.terms])

    def text(self, depth: int) -> str:
        """An expression that gives those known at a depth, and None for the others."""
        return f"({''.join([(s.text if s.depth <= depth else 'None') + ', ' for s in self.all])})"


class Draw(NamedTuple):
    """A call of ``numpy.random.<name>``, or of a draw of the library's own."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


_SLICE = ("start", "stop", "step")
_PLAIN_ENTRIES = {bool, str, type(None)}
# Why a function that programs may contain is applied between two of them in a call.
_BY_USER = "the user's code applies the function itself, or would catch what it raises"
_LOOKED_AT = "an array that functions write to was looked at, or is another one than before"


class Settings:
    """The configuration under which functions are applied; equal ones are one object."""

    #: Entries on which no function's result depends. ``type_check`` changes none of arguments
    #: of the same types; the others are this compiler's, the engine's or the reporter's.
    _WITHOUT_EFFECT = frozenset(
        {"type_check", "keep_graph_on_report", "lazy_grad_sum", "warn_nondeterministic"}
    )
    _known: dict[Any, Settings] = {}

    def __init__(self, local: dict[str, Any]) -> None:
        self.local = dict(local)
        self.backprop: bool = configuration.peek("enable_backprop")
        self.debug: bool = configuration.peek("debug")
        self.train: bool = configuration.peek("train")

    #: By the entries of a thread, where these are plain, and the version of the others.
    _quickly: dict[Any, Settings | None] = {}

    @classmethod
    def now(cls) -> Settings | None:
        """Those of this thread; None where one cannot be compared, or nothing may be compiled."""
        local = configuration.local_entries.__dict__
        if not all([type(value) in _PLAIN_ENTRIES for value in local.values()]):
            return cls._found(local)
        key = (_tracing.global_config_version[0], *local.items())
        try:
            return cls._quickly[key]
        except KeyError:
            if len(cls._quickly) > 256:
                cls._quickly.clear()
            found = cls._quickly[key] = cls._found(local)
            return found

    @classmethod
    def _found(cls, local: dict[str, Any]) -> Settings | None:
        entries = {**configuration.global_entries, **local}
        if not entries["use_static_graph"] or not is_known():
            return None
        try:
            key = tuple(
                [
                    (name, image(value))
                    for name, value in sorted(entries.items())
                    if name not in cls._WITHOUT_EFFECT and not name.startswith("static_")
                ]
            )
            found = cls._known.get(key)
        except (Incomparable, TypeError):
            return None
        if found is None:
            if len(cls._known) > 256:
                cls._known.clear()
            found = cls._known[key] = cls(local)
        return found

    def call(self, function: Callable[..., Any], *args: Any, **others: Any) -> Any:
        """What a function gives in these settings, and in ``others``, and not in the thread's own.

        In the end no function of Python is called before the thread's are back: exceptions of
        signals (Ctrl-C) come with the beginning of such.
        """
        entries = configuration.local_entries.__dict__
        before = dict(entries)
        target = configuration.peek("static_target")  # large products go by it: kernels.products
        try:
            entries.clear()
            entries.update(self.local)
            entries.update(others, static_target=target)
            return function(*args)
        finally:
            try:
                entries.clear()
            finally:
                entries.update(before)


class _ThreadSettings(_tracing.threading.local):
    version = -1
    backprop: Any = None
    found: Settings | None = None


_thread = _ThreadSettings()


def settings_now() -> Settings | None:
    """:meth:`Settings.now`, found again only after an entry has changed."""
    version, backprop = _tracing.config_version[0], configuration.peek("enable_backprop")
    if _thread.version != version or _thread.backprop is not backprop:
        # Backward sets enable_backprop without telling anybody.
        _thread.found = Settings.now()
        _thread.version, _thread.backprop = version, backprop
    return _thread.found


#: ``match(run, func, inputs)``: the outputs, or None.
Match = Callable[[Any, FunctionNode, Any], Any]


def matches_nothing(run: Any, func: FunctionNode, inputs: Any) -> None:
    """The ``match`` of a place where nothing is known."""


def reads(app: Application) -> tuple[int, ...]:
    """The slots of what a function reads: its inputs, and arrays among its attributes."""
    return (*app.inputs, *app.arrays.values())


def specs_of(path: list[Application]) -> dict[int, Spec]:
    """What the values on a way look like, by slot."""
    specs: dict[int, Spec] = {}
    for app in path:
        specs.update(app.leaves)
        specs.update(zip(app.output_slots, app.outputs, strict=True))
    return specs


class _Array:
    """Stands in containers among the attributes of a function for an array."""


#: What programs compute with. Numbers in the byte order of another machine are read from files, and
#: a long double has bytes without a meaning, which no comparison of bits leaves out.
_DTYPES = frozenset(np.dtype(code) for code in "?bBhHiIlLqQefd")


def _is_plain_array(value: Any) -> bool:
    return type(value) in ARRAYS and not value.dtype.hasobject


#: Names and types of attributes.
Numbers = tuple[tuple[str, type], ...]


class Application:
    """One application of a function, at its place on the tree.

    Values are known by *slots*, counted in the order of appearance on the way from the root:
    leaves (what comes from outside), where they are first used, and outputs. ``inputs`` are the
    slots of its inputs, ``leaves`` the descriptions of those that appear here, ``arrays`` the
    slots of the arrays among its attributes.
    """

    #: Of phrases: children by the class of the function and the shapes of its inputs.
    by_shapes: dict[Any, tuple[Application, ...]] = {}  # noqa: RUF012 - never changed, only set
    count = 0  # of phrases: the values so far
    anywhere = False  # whether it is part of a phrase, which comes at any place of the method
    weight = 1  # how many small functions it is worth
    sizes: Sizes | None = None  # of a way of any sizes: lengths are expressions of these
    is_backward = False  # whether it is no function, but see _trace.Differentiation

    def __init__(self, parent: Application | None) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: dict[Any, tuple[Application, ...]] = {}
        self.next: Application | None = None  # the child that was taken last
        self.go: Match = matches_nothing  # its ``match``
        self.match: Match = matches_nothing
        self.hot = False  # whether a program is there to compute it
        self.any_attributes = False  # whether they may be others than those of the template
        self.numbers: Numbers = ()  # attributes that are inputs of programs
        self.numbers_at: dict[Any, list[Numbers]] = {}  # by the place of children that have some
        self.constants_at: set[Any] = set()  # places where numbers must be constants
        self.eager: str | None = None  # why it is applied for real, between programs
        self.kept = False  # whether it is known as a program needs it: from the second sighting on
        #: By depth of the first pending application; by minus that, those of calls without Python.
        self.plans: dict[int, Any] = {}
        self.sightings: dict[int, int] = {}  # how often a call has stopped here, likewise
        self.draws: tuple[Draw, ...] = ()  # known once it has been traced
        self.writes: frozenset[int] = frozenset()  # slots of arrays that it changes; likewise
        self.followed = self.proof_tries = 0  # calls that have ended here, and tries of a proof
        self.fails = False  # whether it may raise for some values; known then, too
        self.read_in_try = False  # whether calls have stopped behind it where that is caught
        self.plain = 0.0  # seconds of a call that ends here, without programs
        self.last = 0  # the call that has ended here last
        self.meter = Meter()  # of calls that end here

    def describe(
        self, func: FunctionNode, inputs: Any, settings: Settings,
        slot_of: Callable[[Any], int], count: int,
    ) -> Any:
        """Take over what a function must be to match this place; gives the key for the parent.

        ``slot_of`` finds the slot of a value; to new ones it gives slots from ``count`` on, and
        puts their descriptions into :attr:`leaves`.

        Raises:
            Incomparable: If an attribute or an input cannot be compared.
        """
        self.kind, self.settings, self.first_slot = type(func), settings, count
        self.weight = func._weight
        self.leaves: dict[int, Spec] = {}
        self.inputs = tuple([slot_of(x) for x in inputs])
        self.attributes: dict[str, Any] = {}
        self.arrays: dict[tuple[Any, ...], int] = {}
        images, arrays = [], [x if type(x) in ARRAYS else x._array for x in inputs]
        for name, value in vars(func).items():
            kind = type(value)
            if _is_plain_array(value):
                self.arrays[(name,)] = slot_of(value)
                arrays.append(value)
            elif kind in (tuple, list) and any(map(_is_plain_array, value)):
                for i, item in enumerate(value):
                    if _is_plain_array(item):
                        self.arrays[name, i] = slot_of(item)
                items = [_Array if _is_plain_array(item) else item for item in value]
                self.attributes[name] = kind(items)
                images.append((name, image(self.attributes[name])))
                arrays += [item for item in value if _is_plain_array(item)]
            else:
                images.append((name, image(value)))
                self.attributes[name] = value
        self.eager = unknown_dtype(arrays)
        #: None for a function with attributes that nobody can compare: it is like no other one.
        self.images: tuple[Any, ...] | None = tuple(images)
        self.place = (
            self.kind,
            settings,
            self.inputs,
            tuple(self.leaves.items()),
            tuple(self.arrays.items()),
        )
        return (self.place, self.images)

    def is_like(self, other: Application) -> bool:
        """Whether it applies the same function to the same values, but for attributes and forms."""
        facts = "kind", "settings", "inputs", "arrays"
        return all([getattr(self, name) == getattr(other, name) for name in facts])

    def all_children(self) -> list[Application]:
        """The applications that have come next, also while other threads add some."""
        return [child for found in list(self.children.values()) for child in found]

    def child(self, made: Application) -> tuple[Application, ...] | None:
        """The children that are what ``made`` is, but for the form of their results."""
        place = made.place
        found = self.children.get((place, made.images))
        if found is not None:
            return found
        for numbers in self.numbers_at.get(place, ()):
            key = made.without(numbers)
            found = None if key is None else self.children.get((place, numbers, key))
            if found is not None:
                return found
        return self.children.get((place, "varies"))

    def without(self, numbers: Numbers) -> Any:
        """The images of the attributes but for ``numbers``; None where these are none."""
        kinds = dict(numbers)
        if any([type(self.attributes.get(name)) is not kind for name, kind in numbers]):
            return None
        return tuple([i for i in self.images or () if i[0] not in kinds])

    def differing_numbers(self, other: Application) -> Numbers:
        """The attributes in which another function at this place differs, if all are numbers."""
        if self.attributes.keys() != other.attributes.keys():
            return ()
        if self.images is None or other.images is None:
            return ()
        different = [a[0] for a, b in zip(self.images, other.images, strict=True) if a != b]
        found = tuple([(name, type(self.attributes[name])) for name in different])
        same = [type(other.attributes[name]) is kind for name, kind in found]
        if not all(same) or any([kind not in (int, float) for _, kind in found]):
            return ()
        return found

    def take_numbers(self, numbers: Numbers) -> None:
        """Let ``numbers`` be others in each call: inputs of programs."""
        self.numbers = numbers
        for name, _ in numbers:
            del self.attributes[name]

    def with_arrays(self, array_of: Callable[[int], Any], sizes: Any = ()) -> FunctionNode:
        """The function, with ``array_of(slot)`` for the arrays among its attributes."""
        func = self.template._copied()
        lists: dict[str, list[Any]] = {}
        for key, slot in self.arrays.items():
            name = key[0]
            if len(key) == 1:
                func.__dict__[name] = array_of(slot)
            else:
                items = lists.setdefault(name, list(self.attributes[name]))
                items[key[1]] = array_of(slot)
        for name, items in lists.items():
            func.__dict__[name] = type(self.attributes[name])(items)
        return func

    def keep(self, func: FunctionNode) -> None:
        """Keep what a program needs: the function as it is before it runs, without its arrays."""
        self.template = func._copied()
        for name, *_ in self.arrays:
            self.template.__dict__[name] = None
        self.label = func.label
        self.origin, self.direct, self.in_try = _applied(func)
        self.kept = True

    def take_over(self, other: Application) -> None:
        """Be the same function as ``other`` at this place."""
        if other.kept:
            self.template, self.label, self.kept = other.template, other.label, True
            self.origin, self.in_try, self.direct = other.origin, other.in_try, other.direct
        self.eager = other.eager

    def made(self, outputs: Sequence[Variable], first: int) -> None:
        """Take over what it gives, in the slots from ``first`` on."""
        self.first_output = first
        self.outputs = tuple([form_of_output(y) for y in outputs])

    @property
    def output_slots(self) -> range:
        """The slots of its outputs."""
        return range(self.first_output, self.first_output + len(self.outputs))

    def gives(self, outputs: Sequence[Variable], values: Any = (), sizes: Any = ()) -> bool:
        """Whether outputs are of the known form, in a call with such values and sizes so far."""
        return self.outputs == tuple([form_of_output(y) for y in outputs])

    def gives_blank(self, outputs: Sequence[Variable]) -> bool:
        """The same for outputs of a trace, which have no place."""
        known = [spec._replace(gpu=None) for spec in self.outputs]
        return known == [form_of_output(y) for y in outputs]

    def is_eager(self) -> bool:
        """Whether no function on the way here is part of a program."""
        return self.hot and all([app.eager is not None for app in self.path(1)])

    def path(self, first: int) -> list[Application]:
        """The applications from depth ``first`` to this one."""
        found, app = [], self
        while app.depth >= first:
            found.append(app)
            assert app.parent is not None
            app = app.parent
        return found[::-1]

    def predict(self, child: Application | None) -> None:
        """The next call is expected to go on with ``child``."""
        self.next = child
        self.go = child.match if child is not None and child.hot else matches_nothing

    def renew(self) -> None:
        """It is known better: generate ``match`` when it is needed next."""
        self.match = self._generate
        self._tell_parent()

    def becomes(self, hot: bool) -> None:
        """Whether calls may follow this way from now on."""
        self.hot = hot
        self._tell_parent()

    def _tell_parent(self) -> None:
        if self.parent is not None and self.parent.next is self:
            self.parent.predict(self)

    def _generate(self, run: Any, func: FunctionNode, inputs: Any) -> Any:
        started = clock()
        self.match = _match(self)
        self._tell_parent()
        run.checking += run.site.account.spend("compile", started)
        return self.match(run, func, inputs)


_HERE = os.path.dirname(os.path.abspath(__file__))
_DOORS = {
    *(os.path.join(_HERE, name) for name in ("_tree.py", "_run.py", "_phrases.py")),
    function_node.__file__,
}


def form_of_output(y: Variable) -> Spec:
    """The description of what a function has given."""
    array = y._array
    if type(array) not in ARRAYS:
        return Spec(type(array), (), np.dtype(object), (), y._requires_grad)
    facts = array.shape, array.dtype, array.strides, y._requires_grad, gpu_of(array)
    return Spec(Variable, *facts)


def of_the_library(kind: type) -> bool:
    """Whether a class of functions is the library's, not the user's."""
    return kind.__module__.partition(".")[0] == "chainer"


def opaque_reason(func: FunctionNode) -> str | None:
    """Why a function is applied for real between two programs; None where it can be recorded."""
    if func.opaque:
        return func.opaque
    if isinstance(func, function.FunctionAdapter):
        return "an old-style function"
    if of_the_library(type(func)):
        return None
    return None if func._supports_static_optimizations else "a function of the user's"


def unknown_dtype(arrays: Iterable[Any]) -> str | None:
    """Why arrays can be no values of a program: NumPy's functions alone know their dtypes."""
    for array in arrays:
        if array.dtype not in _DTYPES:
            return f"programs do not compute with the dtype {array.dtype.str}"
    return None


def leaves_more(func: FunctionNode, before: set[str]) -> bool:
    """Whether the forward of a function has left other attributes on it than ``before``.

    Of the library's own functions some have such attributes beforehand, without a value.
    """
    if of_the_library(type(func)):
        return True
    return bool(vars(func).keys() - before - vars(FunctionNode).keys())


def _applied(func: FunctionNode) -> tuple[Origin, bool, bool]:
    """By whom a function is being applied.

    The innermost line of the user's, and those that led there; whether it applies the function
    itself (and may look at what that leaves on itself); whether an exception would be caught by the
    user's code inside of the method.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _DOORS:
        frame = frame.f_back
    entry = _CALL_CODE.get("run")
    places, first, direct, caught = list[tuple[str, int]](), frame, False, False
    while frame is not None and frame.f_code is not entry:
        code = frame.f_code
        if not is_library(code.co_filename):
            place = code.co_filename, frame.f_lineno
            if not places:
                direct = frame is first
            if place not in places[-1:]:  # a comprehension has a frame of its own
                places.append(place)
            caught = caught or frame.f_lasti < _handlers(frame).until
        frame = frame.f_back
    (file, line), *calls = places or [("?", 0)]
    via = tuple([f"{path}:{number}" for path, number in calls])
    return Origin(file, line, func.label, via), direct, caught


def by_user() -> bool:
    """Whether the user's own code applies the function."""
    frame = sys._getframe(2)
    while (name := frame.f_code.co_filename) in _DOORS:
        assert frame.f_back is not None
        frame = frame.f_back
    return not is_library(name)


class _Handlers(NamedTuple):
    """Where a function's code deals with exceptions; the code is held, since its id tells it."""

    code: CodeType
    ranges: list[tuple[int, int]]
    until: int  # the last instruction from which one of these is reached


_handlers_of: dict[int, _Handlers] = {}


def _handlers(frame: FrameType) -> _Handlers:
    code = frame.f_code
    found = _handlers_of.get(id(code))
    if found is None or found.code is not code:
        if len(_handlers_of) > 4096:
            _handlers_of.clear()
        found = _handlers_of[id(code)] = _handlers_in(code, frame.f_globals)
    return found


def _handlers_in(code: CodeType, names: dict[str, Any]) -> _Handlers:
    if is_library(code.co_filename):
        return _Handlers(code, [], 0)
    ranges, ends = list[tuple[int, int]](), [0]
    for first, last, with_at in handled(code):
        if with_at is None or not hands_on(code, names, with_at):
            ranges.append((first, last))
            ends += [last, *ends_of_loops(code, first)]
    return _Handlers(code, ranges, max(ends))


def may_be_caught() -> bool:
    """Whether what a function raises late could meet other handlers than what it raises now.

    A function of the user's that is being run deals with exceptions, here or further below: by
    ``try``, or by ``with`` and something that is not known to hand them on.
    """
    entry = _CALL_CODE.get("run")
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not entry:
        if frame.f_lasti < _handlers(frame).until:
            return True
        frame = frame.f_back
    return False


def is_caught() -> bool:
    """Whether an exception would meet a handler inside of the method."""
    entry = _CALL_CODE.get("run")
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not entry:
        for first, last in _handlers(frame).ranges:
            if first <= frame.f_lasti < last:
                return True
        frame = frame.f_back
    return False


def user_line(depth: int = 2) -> str:
    """``file:line`` of the innermost frame of the user's code."""
    frame = user_frame(depth)
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


_CALL_CODE: dict[str, CodeType] = {}


def entry_code(code: CodeType, run: CodeType) -> None:
    """Tell which code decorated methods have, and which one calls the outermost of them.

    Frames outside of that are the caller's; methods which call each other are all inside of it.
    """
    _CALL_CODE["call"], _CALL_CODE["run"] = code, run


# -- generated comparisons


def _match(app: Application) -> Match:
    """Generate the ``match`` of an application: straight-line code."""
    writer = _Writer(app)
    code = _compiled(writer.text())
    exec(code, writer.names)
    return writer.names["match"]


@functools.lru_cache(2048)
def _compiled(text: str) -> CodeType:
    # Applications of one form share their text; what differs stands in the namespace.
    return compile(text, "<chainwright match>", "exec")


def _between(why: str) -> str:
    return f"return run.apply_between(func, inputs, app, {why!r})"


class _Writer:
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
                        if item is not _Array:
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
        if app.eager is None:
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


def any_attributes(app: Application, why: str) -> None:
    """Functions with any attributes match, and are applied for real: ``why``."""
    app.eager, app.any_attributes = why, True
    app.attributes, app.arrays = {}, {}


def undo(run: Any, n: int) -> None:
    """Forget the leaves from slot ``n`` on."""
    values = run.values
    for x in values[n:]:
        run.bound.pop(id(x), None)
    del values[n:]


def _all_ints(values: Any) -> bool:
    return all([type(v) is int for v in values])


try:  # how floating-point errors are treated in this context
    from numpy._core.umath import _extobj_contextvar

    errors = _extobj_contextvar.get
except ImportError:  # another NumPy

    def errors() -> Any:
        """Nothing to be compared."""


_HEARD = frozenset({"call", "print", "log"})
_heard: tuple[Any, bool] = (object(), False)  # of the last state that was asked for


def errors_are_heard() -> bool:
    """Whether somebody hears of floating-point errors as they occur, once for each.

    A function of the user's (``numpy.errstate(all="call")``), standard output or a log. Nothing
    may be computed for a second time then.

    >>> from chainer.graph_optimizations._tree import errors_are_heard
    >>> with np.errstate(invalid="print"):
    ...     errors_are_heard()
    True
    >>> errors_are_heard()
    False
    """
    global _heard
    now, (state, heard) = errors(), _heard
    if now is not state or now is None:
        heard = not _HEARD.isdisjoint(np.geterr().values())
        _heard = now, heard
    return heard


def _warnings_raise() -> bool:
    """Whether a warning of floating-point errors in one of the library's functions may raise."""
    for entry in warnings.filters:
        action, text, kind, module, line = entry
        if entry is not FILTER and issubclass(RuntimeWarning, kind):
            if action == "error" and any([
                matches(module, name) for name in list(sys.modules) if name.startswith("chainer.")
            ]):
                return True
            if text is None and module is None and line == 0:
                return False
    return False


_raised: tuple[Any, Any, bool] = (object(), None, False)


def errors_are_raised() -> bool:
    """Whether functions may raise for floating-point errors, or whoever hears of them may.

    >>> from chainer.graph_optimizations._tree import errors_are_raised
    >>> with np.errstate(over="raise"):
    ...     errors_are_raised()
    True
    >>> with np.errstate(all="ignore"):
    ...     errors_are_raised()
    False
    """
    global _raised
    now, filters, (state, known, raised) = errors(), tuple(warnings.filters), _raised
    if now is not state or now is None or filters != known:
        how = set(np.geterr().values())
        raised = not how.isdisjoint({"raise", "call"}) or "warn" in how and _warnings_raise()
        _raised = now, filters, raised
    return raised


@contextmanager
def error_state(state: Any) -> Iterator[None]:
    """Treat floating-point errors as when ``state`` was what :func:`errors` gave."""
    if state is errors():
        yield
        return
    token = _extobj_contextvar.set(state)
    try:
        yield
    finally:
        _extobj_contextvar.reset(token)


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
    "handed_out": _tracing.handed_out,
    "note_function": _tracing.note_function,
}
