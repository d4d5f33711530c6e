"""The one constructor of nodes, and the constructors of leaves.

A node is born complete: its row's rules give shape, dtype and layout; what the caller knows from
the real array is compared with that, or stands in for a missing rule.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .frozen import freeze
from .layout import Shape, dense_strides
from .node import FAULT, Box, IRError, Node, Origin
from .op import OPS, REQUIRED, Op
from .size import STRIDES

PLACEHOLDER_KINDS = (
    "argument",
    "parameter",
    "state",
    "external",
    "saved",
    "gradient",
    "object",
)


def make(
    op: str,
    *inputs: Node,
    origin: Origin | None = None,
    shape: Shape | None = None,
    dtype: Any = None,
    strides: Shape | None = None,
    order: Shape | None = None,
    **attrs: Any,
) -> Node:
    """Make a node.

    ``shape``, ``dtype`` and ``strides`` are those of the real result, where the caller has it
    (``order``, the axes from outermost to innermost, may stand for the strides of a dense one).
    Raises :class:`IRError` for an unknown op or attribute, a wrong number of inputs, a type that
    contradicts the row's rule, and a type that neither rule nor caller knows.

    >>> x = placeholder("x", (3, 4), "f4")
    >>> make("sum", make("transpose", x), axis=0)
    <sum f32[3]>
    >>> make("add", x, literal(0.5)).strides
    (16, 4)
    """
    row = OPS.get(op)
    if row is None:
        raise IRError(f"there is no op {op!r}")
    if row.arity is not None and len(inputs) != row.arity:
        raise IRError(f"{op} takes {row.arity} inputs, got {len(inputs)}")
    settings = _settings(row, attrs)
    given = np.dtype(dtype) if dtype is not None else None
    if _has_no_type(row, settings):
        return Node(op, inputs, tuple(settings.items()), None, None, None, origin)
    if op == "pick" and given is not None and given.hasobject and shape is None:
        return Node(op, inputs, tuple(settings.items()), None, given, None, origin)
    found = _agree(op, "shape", _ruled(row.shape, inputs, settings), shape)
    kind = _agree(op, "dtype", _ruled(row.dtype, inputs, settings), given)
    layout = strides if strides is not None else _layout(row, inputs, settings, found, kind, order)
    made = Node(op, inputs, tuple(settings.items()), found, kind, layout, origin)
    made.found[FAULT] = None  # it was looked at above
    return made


def _settings(row: Op, attrs: dict[str, Any]) -> dict[str, Hashable]:
    unknown = attrs.keys() - row.attrs.keys()
    if unknown:
        raise IRError(f"{row.name} has no attribute {', '.join(sorted(unknown))}")
    settings = {key: freeze(attrs[key]) if key in attrs else row.attrs[key] for key in row.attrs}
    if settings.get("compute") is not None:
        settings["compute"] = np.dtype(attrs["compute"])
    missing = [key for key, value in settings.items() if value is REQUIRED]
    if missing:
        raise IRError(f"{row.name} needs the attribute {', '.join(missing)}")
    return settings


def _has_no_type(row: Op, settings: dict[str, Hashable]) -> bool:
    return row.name == "write" or settings.get("n_outputs") is not None


def _ruled(rule: Any, inputs: tuple[Node, ...], settings: dict[str, Hashable]) -> Any:
    return None if rule is None else rule(inputs, settings)


def _agree(op: str, what: str, ruled: Any, given: Any) -> Any:
    if ruled is None and given is None:
        raise IRError(f"{op} has no rule for its {what}: pass {what}=")
    if ruled is None or given is None or ruled == given:
        return given if ruled is None else ruled
    raise IRError(f"{op}: the {what} is {given}, the rule says {ruled}")


def _layout(
    row: Op,
    inputs: tuple[Node, ...],
    settings: dict[str, Hashable],
    shape: Shape,
    dtype: np.dtype[Any],
    order: Shape | None,
) -> Shape:
    if order is None and row.strides is not None:
        return row.strides(inputs, settings, shape, dtype)
    return dense_strides(shape, dtype.itemsize, order)


def placeholder(
    name: str,
    shape: Shape | None,
    dtype: Any,
    strides: Shape | None = None,
    kind: str = "argument",
    *,
    order: Shape | None = None,
    index: int | None = None,
    origin: Origin | None = None,
) -> Node:
    """An input of a graph; ``strides`` (of the real array, in bytes) default to C order.

    ``shape=None`` is a Python object. ``index`` is the place among the saved values.
    """
    if kind not in PLACEHOLDER_KINDS:
        raise IRError(f"there is no kind of placeholder {kind!r}: {', '.join(PLACEHOLDER_KINDS)}")
    attrs = (("name", name), ("kind", kind), ("index", index))
    if shape is None:
        return Node("placeholder", (), attrs, None, np.dtype(object), None, origin)
    dtype = np.dtype(dtype)
    layout = strides if strides is not None else dense_strides(shape, dtype.itemsize, order)
    return Node("placeholder", (), attrs, shape, dtype, layout, origin)


def literal(value: bool | int | float | complex | None) -> Node:
    """A Python scalar: NumPy promotes it weakly, and the program says it as it stands."""
    if isinstance(value, np.generic | np.ndarray):
        raise IRError(f"{value!r} has a dtype of its own: make it a constant")
    return Node("literal", (), (("value", value),), (), None, ())


def constant(value: Any, origin: Origin | None = None) -> Node:
    """An array (kept by reference, never written) or NumPy scalar of fixed value."""
    array = np.asarray(value)
    return Node(
        "constant", (), (("box", Box(value)),), array.shape, array.dtype, array.strides, origin
    )


def remake(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The same op on other inputs of the same types."""
    made = Node(node.op, inputs, node.attrs, node.shape, node.dtype, node.strides, node.origin)
    if STRIDES in node.found:
        made.found[STRIDES] = node.found[STRIDES]
    if node.found.get(FAULT, "unknown") is None and all(map(_is_alike, node.inputs, inputs)):
        made.found[FAULT] = None
    return made


def _is_alike(one: Node, other: Node) -> bool:
    """Whether rules say the same of what both are inputs of. A literal is known by its value."""
    if one is other:
        return True
    return one.dtype is not None and one.dtype == other.dtype and one.shape == other.shape
