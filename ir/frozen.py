"""Recorded argument lists: nested plain values that can be hashed, compared and printed.

``freeze`` turns lists, slices and dicts into tagged tuples, ``thaw`` turns them back,
``source`` writes the Python text, ``exact_key`` tells 1 from 1.0 from True and 0.0 from -0.0.
Array inputs stand as :class:`~chainwright.ir.node.Slot`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from .node import Box, IRError, Slot
from .size import UNKNOWN, Size


class Scope(Protocol):
    """Gives names to what program text refers to."""

    @property
    def shares(self) -> bool:
        """Whether library ops are called as define-by-run calls them: in native code, if any."""
        ...

    def numpy(self, path: str) -> str:
        """The name that stands for ``numpy.<path>``."""
        ...

    def value(self, value: object, hint: str) -> str:
        """The name that stands for any other object."""
        ...


class Unknown:
    """What a recording may not take for a constant: it is another one in other calls."""

    __slots__ = ()

    def refuse(self, *_: Any) -> Any:
        """End the recording, and raise."""
        raise NotImplementedError


_PLAIN = frozenset({int, str, bool, type(None), Size})  # of most values: equal ones are alike


def freeze(value: Any) -> Hashable:
    """The hashable form of a recorded argument; arrays must be Slots already.

    What is :class:`Unknown` is refused.
    """
    if type(value) in _PLAIN or isinstance(value, Slot):
        return value
    if isinstance(value, tuple):
        return tuple(map(freeze, value))
    if isinstance(value, list):
        return ("list", tuple(map(freeze, value)))
    if isinstance(value, slice):
        return ("slice", freeze(value.start), freeze(value.stop), freeze(value.step))
    if isinstance(value, dict):
        return ("dict", tuple((freeze(key), freeze(item)) for key, item in value.items()))
    if isinstance(value, np.ndarray):
        raise IRError("an array inside an argument list must be an input: pass it as a Slot")
    if isinstance(value, Unknown):
        value.refuse()
    return value


def thaw(value: Any, slots: Sequence[Any]) -> Any:
    """The argument that was frozen, with the arrays in their places."""
    if isinstance(value, Slot):
        return slots[value.k]
    if not isinstance(value, tuple):
        return value
    if value[:1] == ("slice",) and len(value) == 4:
        return slice(*(thaw(item, slots) for item in value[1:]))
    if value[:1] == ("list",) and len(value) == 2:
        return [thaw(item, slots) for item in value[1]]
    if value[:1] == ("dict",) and len(value) == 2:
        return {thaw(key, slots): thaw(item, slots) for key, item in value[1]}
    return tuple(thaw(item, slots) for item in value)


def slots_of(value: Any) -> list[int]:
    """The numbers of all Slots in a frozen value, in reading order."""
    if isinstance(value, Slot):
        return [value.k]
    if isinstance(value, tuple):
        return [k for item in value for k in slots_of(item)]
    return []


def source(value: Any, slots: Sequence[str], scope: Scope) -> str:
    """Python text of a frozen value; what has no literal text gets a name from the scope."""

    def inner(item: Any) -> str:
        return source(item, slots, scope)

    if isinstance(value, Slot):
        return slots[value.k]
    if isinstance(value, tuple):
        return _tuple_source(value, inner)
    return scalar_source(value, scope)


def _tuple_source(value: tuple[Any, ...], inner: Callable[[Any], str]) -> str:
    if value[:1] == ("slice",) and len(value) == 4:
        return f"slice({', '.join(map(inner, value[1:]))})"
    if value[:1] == ("list",) and len(value) == 2:
        return f"[{', '.join(map(inner, value[1]))}]"
    if value[:1] == ("dict",) and len(value) == 2:
        pairs = ", ".join(f"{inner(key)}: {inner(item)}" for key, item in value[1])
        return f"{{{pairs}}}"
    return f"({', '.join(map(inner, value))}{',' * (len(value) == 1)})"


def index_source(value: Any, slots: Sequence[str], scope: Scope) -> str:
    """Text between the brackets of ``x[...]``."""
    items = index_items(value)
    if not items or items[0] is value:
        return _axis_source(value, slots, scope)
    return ", ".join(_axis_source(item, slots, scope) for item in items) + "," * (len(items) == 1)


def index_items(index: Any) -> tuple[Any, ...]:
    """The parts of a frozen index, one for each axis it speaks of."""
    several = isinstance(index, tuple) and not isinstance(index, Slot)
    return index if several and index[:1] not in (("slice",), ("list",)) else (index,)


def _axis_source(value: Any, slots: Sequence[str], scope: Scope) -> str:
    if not (isinstance(value, tuple) and value[:1] == ("slice",)):
        return "..." if value is Ellipsis else source(value, slots, scope)
    start, stop, step = ("" if item is None else source(item, slots, scope) for item in value[1:])
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


def scalar_source(value: Any, scope: Scope) -> str:
    """Text of a plain value."""
    if value is None or type(value) in (bool, int, str, bytes):
        return repr(value)
    if type(value) is float and value == value and abs(value) != float("inf"):
        return repr(value)
    if value is Ellipsis:
        return "..."
    if type(value) in UNKNOWN:
        return repr(value)
    return scope.value(value, hint_of(value))


def hint_of(value: Any) -> str:
    """A readable name for an object that a program refers to."""
    if isinstance(value, np.dtype):
        return value.name
    return getattr(value, "__name__", type(value).__name__)


def exact_key(value: Any) -> Hashable:
    """Equal for two values only if no program can tell them apart."""
    if type(value) in _PLAIN or type(value) in UNKNOWN:
        return type(value), value
    if isinstance(value, Slot):
        return value
    if isinstance(value, tuple):
        return tuple(map(exact_key, value))
    if isinstance(value, Box):
        return id(value)
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, complex | np.generic):
        return type(value), repr(value), np.asarray(value).tobytes()
    return type(value), value
