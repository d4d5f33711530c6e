"""Scalars among the inputs of elementwise ops, as 0-d arrays: NumPy takes these up faster.

Only where the loop, and with it every bit, stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainwright.ir import Node
from chainwright.ir.elementwise import resolved
from chainwright.ir.op import OPS

Scalar = tuple[Any, np.dtype[Any]]


def hoisted(node: Node) -> dict[int, Scalar]:
    """Scalar inputs of an elementwise op that the program may hold as 0-d arrays."""
    if OPS[node.op].kind != "elementwise" or node.op == "pow":
        return {}
    found = _weak_where(node) if node.op == "where" else _weak(node)
    for k, x in enumerate(node.inputs):
        if x.op == "constant" and x.shape == () and x.dtype is not None and x.dtype.kind in "biuf":
            found[k] = np.asarray(x.attr("box").value).item(), x.dtype
    return found


def _weak(node: Node) -> dict[int, Scalar]:
    """Python scalars among the inputs of a ufunc, with the dtype that its loop gives them."""
    if "compute" not in OPS[node.op].attrs or node.attr("compute") is not None:
        return {}
    ufunc = getattr(np, node.op)
    loop = resolved(ufunc, node.inputs)
    weak = {k: loop[k] for k, x in enumerate(node.inputs) if x.op == "literal"}
    operands = [loop[k] if k in weak else x.dtype for k, x in enumerate(node.inputs)]
    if not weak or ufunc.resolve_dtypes((*operands, None)) != loop:
        return {}
    values = {k: (node.inputs[k].attr("value"), dtype) for k, dtype in weak.items()}
    return values if all(_fits(*item) for item in values.values()) else {}


def _weak_where(node: Node) -> dict[int, Scalar]:
    """Python scalars that ``where`` chooses from, next to an array of the result's dtype."""
    if node.dtype is None or all(x.dtype != node.dtype for x in node.inputs[1:]):
        return {}
    weak = {k: node.inputs[k].attr("value") for k in (1, 2) if node.inputs[k].op == "literal"}
    return {k: (value, node.dtype) for k, value in weak.items() if _fits(value, node.dtype)}


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy would turn a Python scalar into just this value of the dtype."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min <= value <= limits.max
    return dtype.kind in "fc" or type(value) is bool
