"""The one node type of the graph, and what a node is made of.

In: nothing. Out: :class:`Node`, complete at birth and never changed, :class:`Origin` (where the
user stood), :class:`Slot` (the place of an array input inside a recorded argument list).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

LEAVES = frozenset({"placeholder", "literal", "constant"})
FAULT = "fault"  # what is wrong with a node, or None, among what is found out about it


class IRError(Exception):
    """A node or graph that breaks the rules of the IR."""


class Origin(NamedTuple):
    """Where the user stood: file, line, and the Chainer function that ran there.

    ``via`` are the lines from which that line was called, the innermost first, where it is in no
    compiled method itself, but in a block that several lines call. ``str()`` has them all:
    ``block.py:14 linear < net.py:40``.
    """

    file: str
    line: int
    function: str
    via: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " < ".join([f"{self.short} {self.function}", *map(_short, self.via)])

    @property
    def short(self) -> str:
        """``net.py:14``."""
        return _short(self.place)

    @property
    def place(self) -> str:
        """``/home/me/net.py:14``."""
        return f"{self.file}:{self.line}"


def _short(place: str) -> str:
    return place.replace("\\", "/").rsplit("/", 1)[-1]


class Slot(NamedTuple):
    """The k-th array input, inside a recorded index or argument list."""

    k: int


class Box:
    """An object compared by identity, so that arrays can stand among the attributes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """One value: what computes it, from what, with which shape, dtype and memory layout.

    ``strides`` is the exact layout of the result in bytes. ``shape``, ``dtype`` and ``strides``
    are ``None`` for a node with several results; ``pick`` nodes name these one by one. A
    ``literal`` is a Python scalar: it has no dtype either, since NumPy promotes it weakly.
    """

    op: str
    inputs: tuple[Node, ...]
    attrs: tuple[tuple[str, Hashable], ...]
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None
    strides: tuple[int, ...] | None
    origin: Origin | None = None
    #: What others have found out about the node, which never changes.
    found: dict[str, Any] = field(default_factory=dict, init=False)

    def attr(self, name: str) -> Any:
        """The value of one attribute; the op's row says which there are."""
        for key, value in self.attrs:
            if key == name:
                return value
        raise IRError(f"op {self.op!r} has no attribute {name!r}")

    @property
    def is_leaf(self) -> bool:
        return self.op in LEAVES

    @property
    def is_array(self) -> bool:
        """Whether the value is one NumPy array of known shape and dtype."""
        return self.shape is not None and self.dtype is not None

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape; empty where there is none."""
        return self.shape if self.shape is not None else ()

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides; empty where there are none."""
        return self.strides if self.strides is not None else ()

    @property
    def size(self) -> int:
        return prod(self.shape) if self.shape is not None else 0

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize if self.dtype is not None else 0

    def __repr__(self) -> str:
        return f"<{self.op} {type_text(self)}>"


def type_text(node: Node) -> str:
    """The type of a node as the printed form has it, ``f32[100,1000]``."""
    if node.dtype is None or node.shape is None:
        return "object" if node.dtype is not None else "tuple"
    return f"{dtype_text(node.dtype)}[{','.join(map(str, node.shape))}]"


def dtype_text(dtype: np.dtype[Any]) -> str:
    """The short name of a dtype, ``f32``; its long name where there is no short one."""
    if dtype.kind == "b":
        return "bool"
    return f"{dtype.kind}{dtype.itemsize * 8}" if dtype.kind in "fiuc" else dtype.name


def dtype_of(text: str) -> np.dtype[Any]:
    """The dtype of a short or long name."""
    return np.dtype(f"{text[0]}{int(text[1:]) // 8}" if text[1:].isdigit() else text)
