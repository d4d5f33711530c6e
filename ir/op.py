"""What an op is: one row of facts. Whether it can be fused, folded or moved follows from the row.

``text`` writes the NumPy call, with ``out`` the same call into that buffer. ``shape``, ``dtype``
and ``strides`` say what comes out for given inputs and attributes; a missing rule means that the
caller of ``make`` has to know.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .frozen import Scope
from .layout import Shape
from .node import Node
from .size import plain

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "required"})()

# The kinds: leaf, elementwise, reduction, scan (cumulative sums: as long as their input), shape
# (moves and views of elements), creation, update (a new version of an array with some elements
# replaced), product (the layout and identity of operands matter), library, random, opaque, effect.
EFFECTS = frozenset({"random", "opaque", "effect"})

Inputs = Sequence[Node]
Attrs = Mapping[str, Any]


class Text(Protocol):
    """Writes the NumPy expression of a node; ``args`` are the texts of its inputs."""

    def __call__(
        self, node: Node, args: Sequence[str], scope: Scope, out: str | None = None
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the op table (see the module's text)."""

    name: str
    kind: str
    arity: int | None
    text: Text
    attrs: Mapping[str, Hashable] = field(default_factory=dict)
    shape: Callable[[Inputs, Attrs], Shape] | None = None
    dtype: Callable[[Inputs, Attrs], np.dtype[Any]] | None = None
    strides: Callable[[Inputs, Attrs, Shape, np.dtype[Any]], Shape] | None = None
    view: bool = False
    has_out: bool = False
    cheap: bool = False  # a step or two for each element: backward may compute it once more
    rows: bool = False  # a reduction of which each row can be computed by itself
    scalar: str = ""  # the C-like expression of one element, with a place for each operand
    in_place: bool = False  # the result may take the memory of an operand that ends there

    @property
    def effect(self) -> bool:
        """Ordered; never merged, dropped, repeated or moved across another effect."""
        return self.kind in EFFECTS


OPS: dict[str, Op] = {}


def register(*rows: Op) -> None:
    """Put rows into the op table; a name can be taken only once."""
    for row in rows:
        if row.name in OPS:
            raise ValueError(f"the op {row.name!r} is registered already")
        OPS[row.name] = row


def call_text(
    fn: str, args: Sequence[str], settings: Mapping[str, str | None] | None = None
) -> str:
    """``fn(a, b, key=value)``; settings that are None are left out."""
    named = [f"{key}={text}" for key, text in (settings or {}).items() if text is not None]
    return f"{fn}({', '.join([*args, *named])})"


def dtype_source(dtype: np.dtype[Any] | None, scope: Scope) -> str:
    return "None" if dtype is None else scope.value(dtype, dtype.name)


def same_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    """Shape rule: that of the first input."""
    return inputs[0].dims


def same_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    """Dtype rule: that of the first input."""
    return common_dtype(inputs[:1], attrs)


def common_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    """Dtype rule: NumPy's promotion, Python scalars being weak."""
    found = [plain(x.attr("value")) if x.op == "literal" else x.dtype for x in inputs]
    return np.result_type(*found)


def array_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    """Dtype rule: promotion of what NumPy first makes arrays of, so that scalars are strong."""
    return np.result_type(*map(_array_dtype, inputs))


def _array_dtype(x: Node) -> Any:
    return np.asarray(x.attr("value")).dtype if x.op == "literal" else x.dtype


def broadcast_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    """Shape rule: NumPy's broadcasting."""
    shapes = {node.dims for node in inputs}
    if len(shapes) > 1:
        shapes.discard(())
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
