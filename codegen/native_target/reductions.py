"""Reductions as NumPy's own loops, in the order in which NumPy runs them.

In: nodes that reduce. Out: the loops around the inner one of a ufunc, and the step that runs them.
What may not happen: a sum in another order than that of ``ufunc.reduce``.
"""

from __future__ import annotations

import numpy as np

from chainwright.ir import Node
from chainwright.ir.op import OPS
from chainwright.ir.reductions import axes_of

from .driver import FIRST_ITEMS, FLOATS, FOREIGN, OURS, RESULT, VALUE
from .pairwise import SUM
from .steps import Ints, Item, Loop, OwnLoop, Place, Reduction, Step, bits, is_number

_REDUCTIONS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def reduction_of(node: Node) -> Reduction | None:
    """A reduction that is NumPy's loop of one dtype; None for others."""
    (x,) = node.inputs
    if node.op not in _REDUCTIONS or x.dtype != node.dtype or not is_number(x.dtype, _REDUCED):
        return None
    assert x.dtype is not None
    if "compute" in OPS[node.op].attrs and node.attr("compute") not in (None, x.dtype):
        return None
    axes = axes_of(node.attr("axis"), len(x.dims))
    if not axes or node.steps != OPS[node.op].strides(
        node.inputs, dict(node.attrs), node.dims, x.dtype
    ):  # type: ignore[misc]
        return None
    steps = iter(s for k, s in enumerate(node.steps) if not node.attr("keepdims") or k not in axes)
    out = tuple(0 if k in axes else next(steps) for k in range(len(x.dims)))
    form = Reduction(_REDUCTIONS[node.op], x.dtype, x.dims, x.steps, axes, out)
    loops = reduce_loops(form)
    if loops is None or len(loops) > 3 and not (len(loops) == 4 and loops[0][2]):
        return None
    return form


_REDUCED = frozenset("efdlq")


def reduce_loops(form: Reduction) -> list[tuple[int, int, int]] | None:
    """The loops of ``ufunc.reduce``, outer to inner: length, stride of input and result in bytes.

    NumPy drops axes of length 1, sorts the others by stride, and merges those that are one run in
    input and result. None where it would turn a negative stride, or copy first.
    """
    order = [k for k in range(len(form.shape)) if form.shape[k] != 1]
    order.sort(key=lambda k: -abs(form.strides[k]))
    if any(form.strides[k] <= 0 for k in order):
        return None
    loops: list[tuple[int, int, int]] = []
    for k in order:
        n, s, o = form.shape[k], form.strides[k], form.out[k]
        if loops and loops[-1][1] == n * s and loops[-1][2] == n * o:
            loops[-1] = (loops[-1][0] * n, s, o)
        else:
            loops.append((n, s, o))
    if len(loops) > 1 and loops[-1][2] == 0 and loops[-2][2] == 0:
        return None
    return loops or [(1, form.dtype.itemsize, 0)]


def row_loops(node: Node) -> list[tuple[int, int, int]] | None:
    """The loops for one row of a reduction that runs by rows; None if there are too many."""
    form = reduction_of(node)
    if form is None or not form.axes or 0 in form.axes:
        return None
    axes = tuple(a - 1 for a in form.axes)
    row = form._replace(shape=form.shape[1:], strides=form.strides[1:], axes=axes, out=form.out[1:])
    loops = reduce_loops(row)
    return None if loops is None or len(loops) > 3 else loops


def start_of(form: Reduction) -> tuple[int, int]:
    """What a result starts from."""
    identity = getattr(np, form.ufunc).identity
    return (FIRST_ITEMS, 0) if identity is None else (VALUE, bits(identity, form.dtype))


def column_loops(node: Node) -> list[tuple[int, int, int]] | None:
    """The loops for one row of a reduction over rows, each of which is added to the result.

    None for other reductions. The order is NumPy's: the rows are the outermost loop.
    """
    form = reduction_of(node)
    if form is None or 0 not in form.axes or start_of(form)[0] != VALUE:
        return None
    loops = reduce_loops(form)
    if loops is None or len(loops) < 2 or loops[0] != (form.shape[0], form.strides[0], 0):
        return None
    rest = loops[1:]
    return rest if len(rest) <= 3 and all(o for _, _, o in rest) else None


_FAR = 1 << 62  # no cut
CUT = 8192 if np.lib.NumpyVersion(np.__version__) < "2.3.0" else _FAR


def reduce_step(
    form: Reduction,
    loops: list[tuple[int, int, int]],
    rows: Ints,
    operands: tuple[Place, ...],
    adds_up: bool = False,
) -> Step:
    """``rows``: factor and strides of the loop over rows; ``adds_up`` to what the result holds."""
    ufunc, dtype = getattr(np, form.ufunc), form.dtype
    dtypes = (dtype, dtype, dtype)
    start = start_of(form)
    if adds_up:
        start = (RESULT, 0)
    padded = [(1, 0, 0)] * (3 - len(loops)) + loops
    # A loop of one turn that is put around has stride 0, like a reduced one: its first turn starts.
    own = _is_ours(form, loops[-1])
    table: list[Item] = [Loop(ufunc, dtypes, 0), Loop(ufunc, dtypes, 1)]
    if own:
        table = [OwnLoop(f"{SUM}_{dtype.char}"), 0]
    table += [CUT, *start, dtype.itemsize, *rows, *(v for loop in padded for v in loop)]
    kind = OURS if own else FOREIGN
    return Step("reduce", tuple(table), operands, kind, f"{form.ufunc}.reduce")


def _is_ours(form: Reduction, inner: tuple[int, int, int]) -> bool:
    """Whether the inner loop adds up one run of items that lie side by side."""
    _, stride, out = inner
    run = form.ufunc == "add" and form.dtype.char in FLOATS and stride == form.dtype.itemsize
    return run and not out
