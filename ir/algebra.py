"""Rewrites that change no bit, as rows: which ops, and what stands in for such a node.

A row gives ``None`` where it does not fit. The value that stands in has the same layout, so that
whatever reads it sees the same strides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .make import literal, make
from .node import Node
from .op import OPS

Build = Callable[[Node], Node | None]


class Row(NamedTuple):
    """One rewrite: the ops it looks at, and what it makes of such a node."""

    name: str
    ops: tuple[str, ...]
    build: Build
    numpy: bool = False  # what NumPy computes so, and other array libraries need not


def rewritten(node: Node) -> Node:
    """The node after every row that fits, applied until none does."""
    return _rewritten(node, RULES)


def rewritten_anywhere(node: Node) -> Node:
    """The same by the rows that hold for other array libraries than NumPy, too."""
    return _rewritten(node, RULES_ANYWHERE)


def _rewritten(node: Node, rules: Mapping[str, tuple[Row, ...]]) -> Node:
    while True:
        found = next((new for row in rules.get(node.op, ()) if (new := row.build(node))), None)
        if found is None:
            return node
        node = found


def _same_type(node: Node, other: Node) -> bool:
    same = (node.shape, node.dtype, node.strides) == (other.shape, other.dtype, other.strides)
    return same and other.is_array


def _stand_in(node: Node, other: Node) -> Node | None:
    return other if _same_type(node, other) else None


def _is_number(node: Node, value: float) -> bool:
    """Whether a literal is this number, its sign of zero included."""
    if node.op != "literal" or type(node.attr("value")) not in (int, float):
        return False
    number = float(node.attr("value"))
    return number == value and np.signbit(number) == np.signbit(value)


def _plain(node: Node) -> bool:
    return "compute" not in dict(node.attrs) or node.attr("compute") is None


def _times_one(node: Node) -> Node | None:
    x, y = node.inputs
    if not _plain(node) or node.dtype is None or node.dtype.kind == "c":
        return None
    if _is_number(y, 1.0):
        return _stand_in(node, x)
    return _stand_in(node, y) if node.op == "multiply" and _is_number(x, 1.0) else None


def _minus_zero(node: Node) -> Node | None:
    x, y = node.inputs
    return _stand_in(node, x) if _plain(node) and _is_number(y, 0.0) else None


def _twice_negative(node: Node) -> Node | None:
    (inner,) = node.inputs
    if inner.op != "negative" or not (_plain(node) and _plain(inner)):
        return None
    return _stand_in(node, inner.inputs[0])


def _same_cast(node: Node) -> Node | None:
    return _stand_in(node, node.inputs[0])


def _same_shape(node: Node) -> Node | None:
    return _stand_in(node, node.inputs[0])


def _reshape_twice(node: Node) -> Node | None:
    (inner,) = node.inputs
    if inner.op != "reshape" or inner.attr("fortran") or node.attr("fortran"):
        return None
    return _made(node, make("reshape", inner.inputs[0], shape=node.shape, origin=node.origin))


def _made(node: Node, new: Node) -> Node | None:
    return new if _same_type(node, new) else None


def _axes(node: Node) -> tuple[int, ...]:
    axes = node.attr("axes")
    return tuple(range(len(node.dims)))[::-1] if axes is None else axes


def _transpose_twice(node: Node) -> Node | None:
    (inner,) = node.inputs
    if inner.op != "transpose":
        return None
    first, second = _axes(inner), _axes(node)
    axes = tuple(first[axis] for axis in second)
    return _made(node, make("transpose", inner.inputs[0], axes=axes, origin=node.origin))


def _no_transpose(node: Node) -> Node | None:
    same = _axes(node) == tuple(range(len(node.dims)))
    return _stand_in(node, node.inputs[0]) if same else None


def _unbroadcast(node: Node) -> Node | None:
    """An operand need not be broadcast before an elementwise op that broadcasts by itself."""
    if not any(source.op == "broadcast_to" for source in node.inputs):
        return None
    inputs = tuple(s.inputs[0] if s.op == "broadcast_to" else s for s in node.inputs)
    if np.broadcast_shapes(*(s.dims for s in inputs)) != node.shape:
        return None
    return Node(node.op, inputs, node.attrs, node.shape, node.dtype, node.strides, node.origin)


def _stack(node: Node) -> Node | None:
    """What NumPy's own wrapper does: an axis of length one for each, then joined there."""
    axis = node.attr("axis") % len(node.dims)
    index = (*[slice(None)] * axis, None)
    if any(source.op == "literal" for source in node.inputs):
        return None
    parts = [make("getitem", x, index=index, origin=node.origin) for x in node.inputs]
    facts = {"strides": node.strides, "origin": node.origin}
    return make("concatenate", *parts, axis=axis, **facts)


EXACT_COUNT = 1 << 24


def _mean(node: Node) -> Node | None:
    """NumPy's own mean is this sum and this division; the count must be exact in the dtype.

    Truth values it adds as float64: how many are true is as exact as an integer.
    """
    (x,) = node.inputs
    of_truths = x.dtype == np.bool_ and node.dtype == np.float64
    if x.dtype != node.dtype and not of_truths or not node.size:
        return None
    if node.dtype not in (np.float32, np.float64):
        return None
    count = x.size // node.size
    if not 0 < count <= EXACT_COUNT or not _plain(node):
        return None
    settings = {"axis": node.attr("axis"), "keepdims": node.attr("keepdims")}
    total = make("sum", x, strides=node.strides, origin=node.origin, **settings)
    return make("divide", total, literal(count), strides=node.strides, origin=node.origin)


@lru_cache
def _has_short_cut(
    dtype: np.dtype[Any], of_exponent: np.dtype[Any], value: float, short: str
) -> bool:
    """Whether this NumPy takes it for an exponent that is an array or scalar of its own, too.

    For half precision NumPy 2.4 does not: a power of -0.0 is 0.0, its square root is not.
    """
    x = np.array([-0.0, -np.inf, 3.0], dtype)
    with np.errstate(all="ignore"):
        return (x ** of_exponent.type(value)).tobytes() == getattr(np, short)(x).tobytes()


def _power(node: Node) -> Node | None:
    """The operator ``**`` with NumPy's short cuts for some exponents."""
    x, exponent = node.inputs
    value = exponent.attr("value") if exponent.op == "literal" else None
    if exponent.op == "constant" and exponent.shape == ():
        value = np.asarray(exponent.attr("box").value).item()
    short = _POWERS.get(value)
    if short is None or x.dtype is None or x.dtype.kind != "f" or x.dtype != node.dtype:
        return None
    if exponent.op == "constant" and not _has_short_cut(x.dtype, exponent.dtype, value, short):
        return None
    return make(short, x, strides=node.strides, origin=node.origin)


_POWERS = {2: "square", 0.5: "sqrt", -1: "reciprocal"}

_ELEMENTWISE = [row for row in OPS.values() if row.kind == "elementwise"]
BROADCASTING = tuple(row.name for row in _ELEMENTWISE if row.arity != 1)

ROWS: tuple[Row, ...] = (
    Row("x * 1 -> x", ("multiply", "divide"), _times_one),
    Row("x - 0 -> x", ("subtract",), _minus_zero),
    Row("--x -> x", ("negative",), _twice_negative),
    Row("cast to the same -> x", ("cast", "copy", "positive"), _same_cast),
    Row("reshape to the same -> x", ("reshape", "broadcast_to"), _same_shape),
    Row("reshape of reshape", ("reshape",), _reshape_twice),
    Row("transpose of transpose", ("transpose",), _transpose_twice),
    Row("transpose to the same -> x", ("transpose",), _no_transpose),
    Row("elementwise of broadcast_to", BROADCASTING, _unbroadcast),
    Row("stack -> concatenate", ("stack",), _stack),
    Row("mean -> sum / n", ("mean",), _mean, numpy=True),
    Row("x ** 2 -> square", ("pow",), _power, numpy=True),
)



def _by_op(rows: Sequence[Row]) -> dict[str, tuple[Row, ...]]:
    return {op: tuple(row for row in rows if op in row.ops) for row in rows for op in row.ops}


RULES = _by_op(ROWS)
RULES_ANYWHERE = _by_op([row for row in ROWS if not row.numpy])
