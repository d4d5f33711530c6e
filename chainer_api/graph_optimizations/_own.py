"""What a call makes while it is read: objects, functions, methods of such, configurations.

Other values are plain Python objects (constants, and containers that the call has made), or a
:class:`~._residual.Sym`.
"""

from __future__ import annotations

from typing import Any

from chainer import configuration

from ._residual import Sym

MISSING = object()


def in_class(cls: type, name: str) -> Any:
    """What stands under a name in a class or in its bases; MISSING where nothing does."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


def decides(found: Any) -> bool:
    """Whether what stands in a class is asked before the dictionary of an object."""
    kind = type(found)
    return hasattr(kind, "__set__") or hasattr(kind, "__delete__")


IS_MADE = 1 << 9  # of the flags of a class: it was made while Python ran, and may be changed


def is_library_class(cls: type) -> bool:
    """Whether a class is the library's or NumPy's, which nobody is expected to change."""
    return cls.__module__.partition(".")[0] in ("chainer", "chainwright", "numpy")


class OwnObject:
    """An object that the call has made, of a class written in Python."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.attributes: dict[str, Any] = {}
        self.applied = False  # a function that has run
        self.real: Sym | None = None  # that function, where it was applied between programs


class Closure:
    """A function that the call has made."""

    def __init__(self, node: Any, frame: Any, defaults: Any, kwdefaults: Any) -> None:
        self.node, self.frame, self.defaults, self.kwdefaults = node, frame, defaults, kwdefaults


class Bound:
    """A method of an object; ``function`` may be the name of a method of a built-in class."""

    def __init__(self, function: Any, owner: Any) -> None:
        self.function, self.owner = function, owner


class Partial:
    """A ``functools.partial`` that the call has made."""

    def __init__(self, function: Any, args: list[Any], kw: dict[str, Any]) -> None:
        self.function, self.args, self.kw = function, args, kw


class Super:
    """``super()``."""

    def __init__(self, cls: type, owner: Any) -> None:
        self.cls, self.owner = cls, owner


class Weak:
    """A weak reference to such an object, which lives as long as the call."""

    def __init__(self, target: OwnObject) -> None:
        self.target = target


class Context:
    """A configuration that a ``with`` block sets."""

    def __init__(self, name: str, value: Any) -> None:
        self.real = configuration.using_config(name, value)


class View:
    """``keys()``, ``values()`` or ``items()`` of a dictionary, which show what is there later."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


OWN = (OwnObject, Closure, Bound, Partial, Super, Weak, Context, View)
CONTAINERS = (list, tuple, dict, set, frozenset)
