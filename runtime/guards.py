"""Guards: straight-line code that tells whether a schedule's assumptions still hold.

In: what a trace has read (dictionary items, attributes, closure cells) with the values found, the
arrays to fetch, and the arguments where these are plain. Out: one generated function,
``prologue(args) -> tuple of arrays | None``; None means that something is different, and
:meth:`Prologue.explain` says what.
"""

from __future__ import annotations

import functools
import linecache
import operator
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import count
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

PLAIN = (bool, int, str, bytes, type(None))
_BY_IDENTITY = (type, ModuleType, FunctionType, BuiltinFunctionType, np.ndarray, Enum)
LARGE, _HUGE = 256, 8192  # items: up to here by value; up to there each by identity
SMALL = 4096  # bytes: arrays up to here are compared by value
_CONTAINERS = frozenset({list, dict, set, deque, bytearray, np.ndarray})
_STANDARD = {*sys.stdlib_module_names, "numpy", "scipy"}


class Ref:
    """Stands for an object that is compared by identity, and keeps it alive."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target

    def __eq__(self, other: object) -> bool:
        return type(other) is Ref and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)

    def __repr__(self) -> str:
        return f"<{type(self.target).__name__} object>"


def fingerprint(value: Any, is_leaf: Callable[[Any], bool], depth: int = 4) -> Any:
    """A hashable image of ``value``: plain data by value, everything else by identity.

    ``is_leaf`` tells which objects are compared by identity although they have attributes.
    """
    kind = type(value)
    if kind in PLAIN:
        return (kind, value)
    if kind is float or kind is complex:
        return (kind, repr(value))
    if isinstance(value, np.generic):
        return (kind, value.tobytes())
    if kind is MethodType and depth:  # made anew at each look-up
        return (MethodType, Ref(value.__func__), fingerprint(value.__self__, is_leaf, depth - 1))
    if isinstance(value, np.dtype):
        return (np.dtype, value.str)
    if isinstance(value, np.ndarray):
        value = getattr(value, "_held", value)  # where a trace has put a view of it in its place
        if type(value) is np.ndarray and value.nbytes <= SMALL and value.dtype != object:
            # Python may look at the elements of a small array: they count.
            return (Ref(value), value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, _BY_IDENTITY) or is_leaf(value) or depth == 0:
        return Ref(value)
    if isinstance(value, (np.random.RandomState, np.random.Generator, random.Random)):
        return (Ref(value), _random_state(value))
    return _compound(value, kind, is_leaf, depth - 1)


def _compound(value: Any, kind: type, is_leaf: Callable[[Any], bool], depth: int) -> Any:
    def image(item: Any) -> Any:
        return fingerprint(item, is_leaf, depth)

    if isinstance(value, (tuple, list, set, frozenset, dict, deque)):
        n = len(value)
        if n > LARGE:
            items = (*value, *value.values()) if isinstance(value, dict) else tuple(value)
            return (Ref(value), _Same(items) if n <= _HUGE else n)
        if isinstance(value, dict):
            return (kind, tuple((image(k), image(v)) for k, v in value.items()))
        items = tuple(image(v) for v in value)
        return (kind, frozenset(items) if isinstance(value, (set, frozenset)) else items)
    if kind is functools.partial:
        return (kind, image(value.func), image(value.args), image(value.keywords))
    if kind is MappingProxyType:  # the attributes of a class
        return _class_image(value, is_leaf)
    if kind is bytearray:
        return (kind, bytes(value))
    state = [(k, image(v)) for k, v in _attributes(value) if k != "__weakref__"]
    state += [(c.__name__, _class_image(vars(c), is_leaf)) for c in _classes(kind)]
    return (Ref(value), tuple(state)) if 0 < len(state) <= LARGE else Ref(value)


def _class_image(attributes: Mapping[str, Any], is_leaf: Callable[[Any], bool]) -> Any:
    """What a class holds: its attributes, and the items of those that are containers."""
    values = tuple(attributes.values())
    inside = [fingerprint(v, is_leaf, 1) for v in values if type(v) in _CONTAINERS]
    return (_Same(values), tuple(inside))


class _Same(tuple[Any, ...]):
    """Many objects, compared by identity, and plain ones by value."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Same or len(other) != len(self):
            return False
        return all(map(operator.is_, self, other)) or all(map(_same, self, other))

    def __hash__(self) -> int:
        return len(self)


def _same(a: Any, b: Any) -> bool:
    if a is b or type(a) is not type(b):
        return a is b
    return repr(a) == repr(b) if type(a) is float else type(a) in PLAIN and a == b


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes of an object: in its dictionary, and in slots."""
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict):
        yield from list(own.items())
    for kind in _classes(type(value)):
        for name, item in list(vars(kind).items()):
            if type(item) is MemberDescriptorType:
                with suppress(AttributeError):
                    yield name, item.__get__(value)


def _classes(kind: type) -> Iterator[type]:
    """The classes of the user's among those of an object."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] not in _STANDARD:
            yield base


def _random_state(value: Any) -> Any:
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    return repr(value.bit_generator.state)


def _lacks(owner: Any, name: str) -> bool:
    """Whether an object has no such attribute, whatever its ``__getattr__`` makes up."""
    try:
        object.__getattribute__(owner, name)
    except AttributeError:
        return True
    return False


_number = count()


class Prologue:
    """Collects checks and fetches, and generates the function that does them."""

    def __init__(self, is_leaf: Callable[[Any], bool]) -> None:
        self._is_leaf = is_leaf
        self._names: dict[str, Any] = {"image": self._image}
        self._checks: list[tuple[str, str]] = []
        self._arrays: list[tuple[str, str]] = []
        self._arguments: list[str] = []
        self._given: list[str] = []
        self._seen: dict[tuple[int, str], str] = {}
        self.source = ""

    def _image(self, value: Any) -> Any:
        return fingerprint(value, self._is_leaf)

    def _bind(self, stem: str, value: Any) -> str:
        name = f"{stem}{len(self._names)}"
        self._names[name] = value
        return name

    def expression(self, how: str, owner: Any, key: str) -> str:
        """The text that reads a name again: 'item', 'attr' or 'cell' of ``owner``."""
        known = self._seen.get((id(owner), how))
        if known is None:
            known = self._seen[id(owner), how] = self._bind("o", owner)
        if how == "item":
            return f"{known}[{key!r}]"
        return f"{known}.{key}" if how == "attr" else f"{known}.cell_contents"

    def expect(self, text: str, expression: str, value: Any, image: Any = None) -> None:
        """Require that ``expression`` still gives ``value``.

        ``image`` is the fingerprint that the value had when it was read.
        """
        kind = type(value)
        name = self._bind("k", value)
        image = self._image(value) if image is None else image
        if value is None or kind is bool or type(image) is Ref:
            check = f"{expression} is {name}"
        elif kind in PLAIN and image == (kind, value):
            check = f"(v := {expression}) is {name} or v == {name} and type(v) is {kind.__name__}"
        else:
            check = f"image({expression}) == {self._bind('k', image)}"
        self._checks.append((text, check))

    def absent(self, text: str, owner: Any, name: str) -> None:
        """Require that an object still has no attribute ``name``."""
        self._names["lacks"] = _lacks
        self._checks.append((text, f"lacks({self._bind('o', owner)}, {name!r})"))

    def fetch(self, text: str, expression: str, array: np.ndarray) -> None:
        """Fetch an array at each replay, and require the same shape, dtype and layout."""
        self._arrays.append((text, expression))
        layout = self._bind("k", (array.shape, array.dtype, array.strides))
        self._names[f"layout{len(self._arrays) - 1}"] = layout

    def arguments(self, args: Sequence[Any], suffix: str, fixed: str) -> None:
        """Require arguments like ``args``, arrays or objects that hold one, and give their arrays.

        ``suffix`` is the text from an object to its array (``._array``), ``fixed`` that to an
        attribute which must stay the same.
        """
        names = [f"x{k}" for k in range(len(args))]
        lines = [f"{', '.join(names)}, = args"] if names else ["() = args"]
        for k, (x, arg) in enumerate(zip(names, args, strict=True)):
            first = next(i for i, other in enumerate(args) if other is arg)
            others = [f"{x} is not x{first}"] if first != k else [f"{x} is x{i}" for i in range(k)]
            lines += [f"if {' or '.join(others)}: return None"] if others else []
            if first == k:
                lines += self._argument(k, x, arg, suffix, fixed)
                self._given.append(f"g{k}")
        self._arguments = lines

    def _argument(self, k: int, x: str, arg: Any, suffix: str, fixed: str) -> list[str]:
        plain = type(arg) is np.ndarray
        array = arg if plain else operator.attrgetter(suffix[1:])(arg)
        kind = self._bind("k", type(arg))
        shape, dtype = self._bind("k", array.shape), self._bind("k", array.dtype)
        strides = self._bind("k", array.strides)
        checks = [f"g{k}.shape != {shape}", f"g{k}.strides != {strides}", f"g{k}.dtype != {dtype}"]
        if not plain:
            value = self._bind("k", operator.attrgetter(fixed[1:])(arg))
            checks.append(f"{x}{fixed} is not {value}")
        return [
            f"if {x}.__class__ is not {kind}: return None",
            f"g{k} = {x}{'' if plain else suffix}",
            f"if {' or '.join(checks)}: return None",
        ]

    def build(self) -> Callable[[tuple[Any, ...]], tuple[np.ndarray, ...] | None]:
        """Generate the function."""
        lines = ["def prologue(args):", "    try:"]
        lines += [f"        {line}" for line in self._arguments]
        for _, check in self._checks:
            lines.append(f"        if not ({check}): return None")
        for k, (_, expression) in enumerate(self._arrays):
            lines.append(f"        a{k} = {expression}")
            lines.append(f"        if a{k} is not seen[{k}] and not same(a{k}, {k}): return None")
        lines.append("    except (KeyError, AttributeError, ValueError): return None")
        names = [*self._given, *[f"a{k}" for k in range(len(self._arrays))]]
        lines.append(f"    return ({', '.join(names)}{',' if len(names) == 1 else ''})")
        self.source = "\n".join(lines) + "\n"
        layouts = [self._names[self._names.pop(f"layout{k}")] for k in range(len(self._arrays))]
        seen: list[Any] = [None] * len(self._arrays)

        def same(array: Any, k: int) -> bool:
            if not isinstance(array, np.ndarray):
                return False
            if (array.shape, array.dtype, array.strides) != layouts[k]:
                return False
            seen[k] = array
            return True

        self._names.update(seen=seen, same=same)
        filename = f"<chainwright guard {next(_number)}>"
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(True), filename)
        exec(compile(self.source, filename, "exec"), self._names)
        return self._names["prologue"]

    def explain(self) -> str:
        """Which assumption does not hold now; empty where all hold."""
        for text, check in self._checks:
            try:
                if not eval(check, self._names):
                    return f"{text} has changed"
            except (KeyError, AttributeError, ValueError):
                return f"{text} is gone"
        for k, (text, expression) in enumerate(self._arrays):
            try:
                array = eval(expression, self._names)
            except (KeyError, AttributeError, ValueError):
                return f"{text} is gone"
            if array is not self._names["seen"][k] and not self._names["same"](array, k):
                return f"{text} has another shape, dtype or layout"
        return ""
