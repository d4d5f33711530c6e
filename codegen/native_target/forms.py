"""Whether native code has a form for a node, and which.

In: nodes of a graph. Out: ``Forms.of`` names the form; what has none stays a call of NumPy between
the native parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainwright.ir import Node
from chainwright.ir.alias import viewed
from chainwright.ir.elementwise import resolved
from chainwright.ir.frozen import slots_of
from chainwright.ir.op import OPS
from chainwright.ir.shapes import is_basic

from .llvm import approximates, casts, lowers
from .matmul import product_of
from .places import places_of, rows_of
from .reductions import column_loops, reduction_of, row_loops
from .steps import (
    LIBRARY,
    LOOP_AXES,
    NUMBERS,
    Machine,
    all_strides,
    dtype_name,
    is_number,
    is_scalar,
    nest_of,
    scalar_fits,
    work_of,
)

_LOOP_NUMBERS = frozenset("efd?")
_MOVED = NUMBERS | {"e"}
_MOVES = frozenset("zeros ones empty getitem setitem reshape concatenate".split())
_WHOLE_LOOPS = frozenset({"absolute", "sign"})


class Forms:
    """The native forms of nodes on a machine; each node is looked at once."""

    def __init__(self, machine: Machine, fast: bool = False) -> None:
        self.machine, self.fast = machine, fast
        self._known: dict[Node, str | None] = {}

    def of(self, node: Node) -> str | None:
        """``loop``, ``call``, ``reduce``, ``product``, ``move`` or ``view``; None for no form."""
        if node not in self._known:
            self._known[node] = self._find(node)
        return self._known[node]

    def _find(self, node: Node) -> str | None:
        if viewed(node) is not None:
            return "view" if OPS[node.op].view and viewed(node) is node.inputs[0] else None
        if node.op == "write":
            return "move" if self._writes(node) else None
        if node.dtype is None or node.shape is None or not node.size:
            return None
        if any(x.op != "literal" and (x.shape is None or not x.size) for x in node.inputs):
            return None
        kind = OPS[node.op].kind
        if kind == "elementwise":
            if self._loops(node):
                return "loop"
            return "call" if self._calls(node) else None
        if kind == "reduction":
            return "reduce" if self._reduces(node) else None
        if kind == "product" and node.op not in LIBRARY:
            return "product" if self._multiplies(node) else None
        return "move" if self._moves(node) else None

    def by_rows(self, node: Node) -> bool:
        """Whether a node may be part of a group that runs by rows."""
        form = self.of(node)
        if form == "reduce":
            return row_loops(node) is not None
        if form == "call":
            return nest_of(node.dims, all_strides(node), by_rows=True).ndim <= LOOP_AXES
        return form in ("loop", "view")

    def in_group(self, node: Node) -> bool:
        return self.by_rows(node) or self.by_columns(node)

    def by_columns(self, node: Node) -> bool:
        """Whether a node sums over rows, and can do so a few rows at a time."""
        return self.of(node) == "reduce" and column_loops(node) is not None

    def _loops(self, node: Node) -> bool:
        dtypes = operand_dtypes(node)
        if dtypes is None:
            return False
        if not is_number(node.dtype):
            same = node.op in ("cast", "copy") and node.inputs[0].dtype == node.dtype
            return same and is_number(node.dtype, _MOVED)
        if node.op not in ("cast", "copy") and not self._has(node.op, dtype_name(dtypes[0])):
            return False
        return all(
            scalar_fits(x, dtype)
            if is_scalar(x)
            else is_number(x.dtype) and casts(dtype_name(x.dtype), dtype_name(dtype))
            for x, dtype in zip(node.inputs, dtypes, strict=True)
        )

    def _has(self, op: str, dtype: str) -> bool:
        """Whether an op is arithmetic that may stand in a loop."""
        if self.fast and approximates(op, dtype):
            return True
        return lowers(op, dtype) and self.machine.arithmetic(op, dtype)

    def _calls(self, node: Node) -> bool:
        ufunc = getattr(np, node.op, None)
        if not isinstance(ufunc, np.ufunc) or "compute" not in OPS[node.op].attrs:
            return False
        loop = loop_dtypes(node) if node.attr("casting") is None else None
        if loop is None or loop[-1] != node.dtype or len(loop) > 8:
            return False
        numbers = all(is_number(dtype, _LOOP_NUMBERS) for dtype in loop)
        whole = node.op in _WHOLE_LOOPS and all(map(is_number, loop))
        if not (numbers or whole) or all(map(is_scalar, node.inputs)):
            return False
        for x, dtype in zip(node.inputs, loop, strict=False):
            if not (scalar_fits(x, dtype) if is_scalar(x) else x.dtype == dtype):
                return False
        # NumPy goes forward along an axis where it can: there its loops take other instructions.
        if any([s < 0 for strides in all_strides(node) for s in strides]):
            return False
        nest = nest_of(node.dims, all_strides(node), by_rows=False)
        return nest.ndim <= LOOP_AXES and self.machine.loop(ufunc, loop)

    def _reduces(self, node: Node) -> bool:
        form = reduction_of(node)
        return form is not None and self.machine.reduces(form)

    def _multiplies(self, node: Node) -> bool:
        form = product_of(node)
        return form is not None and self.machine.multiplies(form)

    def _moves(self, node: Node) -> bool:
        arrays = [x for x in node.inputs if not is_scalar(x)]
        numbers = _MOVED if node.op in _MOVES else NUMBERS
        if not all(is_number(x.dtype, numbers) for x in (node, *arrays)):
            return False
        if node.op in ("zeros", "ones", "empty"):
            return True
        if node.op == "add_rows":
            return rows_of(node) is not None
        if node.op in LIBRARY:
            return work_of(node, self.machine) is not None
        if node.op in ("getitem", "setitem") and slots_of(node.attr("index")):
            return places_of(node) is not None
        if node.op == "reshape":
            return not node.attr("fortran")
        if not all(_assigns(x, node) for x in node.inputs):
            return False
        if node.op == "concatenate":
            return node.attr("axis") is not None and len(arrays) == len(node.inputs)
        basic = node.op == "setitem" and not slots_of(node.attr("index"))
        return basic and is_basic(node.attr("index")) and len(node.inputs) == 2

    def _writes(self, node: Node) -> bool:
        target, value = node.inputs
        base = value
        while (inner := viewed(base)) is not None:
            base = inner
        if not is_number(target.dtype, _MOVED) or not target.size or base is target:
            return False
        return _assigns(value, target)


def _assigns(value: Node, target: Node) -> bool:
    """Whether a value can be stored in an array by plain casts."""
    if is_scalar(value):
        dtype = target.dtype
        return dtype is not None and scalar_fits(value, dtype) and _is_quiet(value, dtype)
    if not is_number(value.dtype, _MOVED) or not value.size:
        return False
    return casts(dtype_name(value.dtype), dtype_name(target.dtype))


def _is_quiet(value: Node, dtype: np.dtype[Any]) -> bool:
    """Whether nobody is warned of a number that becomes one of float16."""
    number = value.attr("value") if value.op == "literal" else value.attr("box").value
    size = abs(float(number))
    return dtype.char != "e" or not 0 < size < 2.0**-14 and not 65504 < size < np.inf


def loop_dtypes(node: Node) -> tuple[np.dtype[Any], ...] | None:
    try:
        return resolved(getattr(np, node.op), node.inputs, node.attr("compute"))
    except TypeError:
        return None


def operand_dtypes(node: Node) -> tuple[np.dtype[Any], ...] | None:
    """The dtypes in which plain arithmetic wants its operands; None where it is not plain."""
    dtype = node.dtype
    assert dtype is not None
    if node.op == "where":
        return np.dtype(np.bool_), dtype, dtype
    if node.op in ("cast", "copy"):
        return (dtype,)
    if node.op == "clip":
        return (dtype,) * 3 if _clips_by_numbers(node) else None
    if "compute" not in OPS[node.op].attrs or node.attr("casting") is not None:
        return None
    loop = loop_dtypes(node)
    if loop is None or loop[-1] != dtype or any(d != loop[0] for d in loop[:-1]):
        return None
    return loop[:-1]


def _clips_by_numbers(node: Node) -> bool:
    """Whether the bounds are single numbers: NumPy has another loop for arrays."""
    x, *bounds = node.inputs
    known = [b.attr("value") for b in bounds if b.op == "literal"]
    single = all(is_scalar(b) or b.shape == () and b.dtype == node.dtype for b in bounds)
    return x.dtype == node.dtype and single and all(v == v for v in known)
