"""The arguments and results of a compiled method: nested structures of arrays and plain data."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from chainer.link import Link
from chainer.variable import Parameter, Variable
from chainwright.runtime import Ref, fingerprint


def is_object(value: Any) -> bool:
    """Objects that a guard compares by identity; their attributes are guarded as they are read."""
    return isinstance(value, (Variable, Link))


class Unsupported(Exception):
    """An argument that cannot be part of a cache key."""


class Flat:
    """The arguments of one call: a hashable ``structure`` and the arrays, in order."""

    __slots__ = ("structure", "aliases", "leaves")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.leaves: list[Any] = []
        parts: list[Any] = []
        for arg in args:
            self._add(arg, parts)
        if kwargs:
            for name, value in kwargs.items():
                parts.append(name)
                self._add(value, parts)
        self.structure = (len(args), *parts)
        leaves = self.leaves
        if len(leaves) < 2 or len({*map(id, leaves)}) == len(leaves):
            self.aliases: Any = None
        else:
            ids = [id(leaf) for leaf in leaves]
            self.aliases = tuple(ids.index(i) for i in ids)

    def _add(self, value: Any, parts: list[Any]) -> None:
        kind = type(value)
        if kind is Variable:
            array = value._array
            if type(array) is not np.ndarray:
                raise Unsupported(f"a Variable of a {type(array).__name__}")
            self.leaves.append(value)
            parts.append((array.shape, array.dtype, array.strides, value.requires_grad))
        elif kind is np.ndarray:
            self.leaves.append(value)
            parts.append(("array", value.shape, value.dtype, value.strides))
        elif kind is tuple or kind is list:
            parts.append((kind, len(value)))
            for item in value:
                self._add(item, parts)
        else:
            self._add_rare(value, kind, parts)

    def _add_rare(self, value: Any, kind: type, parts: list[Any]) -> None:
        if isinstance(value, Parameter):
            parts.append(Ref(value))
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            parts.append((kind, len(value)))
            for item in value:
                self._add(item, parts)
        elif kind is dict:
            parts.append((kind, len(value)))
            for key, item in value.items():
                parts.append(fingerprint(key, is_object))
                self._add(item, parts)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = dataclasses.fields(value)
            parts.append((kind, len(fields)))
            for field in fields:
                self._add(getattr(value, field.name), parts)
        elif isinstance(value, (Variable, np.ndarray)):
            raise Unsupported(f"an argument of type {kind.__name__}")
        else:
            parts.append(fingerprint(value, is_object))


def same(value: Any) -> Any:
    """No change."""
    return value


def rebuild(value: Any, change: Callable[[Any], Any], other: Callable[[Any], Any] = same) -> Any:
    """The same structure with ``change(leaf)`` for each Variable and array.

    ``other`` is called with everything that is neither a leaf nor a container.
    """
    kind = type(value)
    if isinstance(value, (Variable, np.ndarray)):
        return change(value)
    if kind is tuple or kind is list:
        return kind([rebuild(v, change, other) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[rebuild(v, change, other) for v in value])
    if kind is dict:
        return {k: rebuild(v, change, other) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = copy.copy(value)
        for field in dataclasses.fields(value):
            item = rebuild(getattr(value, field.name), change, other)
            object.__setattr__(made, field.name, item)
        return made
    return other(value)
