"""The tree of applications that calls of one method have been seen to walk.

In: the functions that a method applies, call after call. Out: for each place an
:class:`Application`, which tells the next function from others (``match``) and what programs are
made of. What may not happen: two functions that compute something else at one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from chainer import function
from chainer.function_node import FunctionNode
from chainer.variable import Variable

from ._account import Meter, clock
from ._device import ARRAYS
from ._frames import applied
from ._matching import match_of
from ._settings import Settings
from ._specs import ArrayItem, Sizes, Spec, form_of_output, is_plain_array, unknown_dtype
from ._values import image

if TYPE_CHECKING:
    from ._joined import Joint
    from ._limits import Limit


class Draw(NamedTuple):
    """A call of ``numpy.random.<name>``, or of a draw of the library's own."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


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
    #: Which of its outputs show the memory of a leaf, in define-by-run: slots of both.
    views: dict[int, int] = {}  # noqa: RUF012 - likewise
    weight = 1  # how many small functions it is worth
    sizes: Sizes | None = None  # of a way of any sizes: lengths are expressions of these
    is_backward = False  # whether it is no function, but see _trace.Differentiation
    joints: tuple[Joint, ...] = ()  # calls that may come next (see _joined)
    #: What indexes may be, so that it does not raise; None: it may raise for something else.
    limits: tuple[Limit, ...] | None = None
    asks_limits = False  # whether they are looked at where it is applied

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
        self.put_off = 0  # how often programs have not rested, as a proof was to come
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
            if is_plain_array(value):
                self.arrays[(name,)] = slot_of(value)
                arrays.append(value)
            elif kind in (tuple, list) and any(map(is_plain_array, value)):
                for i, item in enumerate(value):
                    if is_plain_array(item):
                        self.arrays[name, i] = slot_of(item)
                items = [ArrayItem if is_plain_array(item) else item for item in value]
                self.attributes[name] = kind(items)
                images.append((name, image(self.attributes[name])))
                arrays += [item for item in value if is_plain_array(item)]
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
        self.origin, self.direct, self.in_try = applied(func)
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
    def may_raise(self) -> bool:
        """Whether it may raise for values that nobody looks at beforehand."""
        return self.fails and self.limits is None

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
        self.match = match_of(self)
        self._tell_parent()
        run.checking += run.site.account.spend("compile", started)
        return self.match(run, func, inputs)


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


def leaves_more(func: FunctionNode, before: set[str]) -> bool:
    """Whether the forward of a function has left other attributes on it than ``before``.

    Of the library's own functions some have such attributes beforehand, without a value.
    """
    if of_the_library(type(func)):
        return True
    return bool(vars(func).keys() - before - vars(FunctionNode).keys())


def any_attributes(app: Application, why: str) -> None:
    """Functions with any attributes match, and are applied for real: ``why``."""
    app.eager, app.any_attributes = why, True
    app.attributes, app.arrays = {}, {}
