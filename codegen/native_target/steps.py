"""What native code does for a node: fused loops, NumPy's own loops, copies.

In: nodes of a graph, alone or as a group that runs a few rows at a time. Out: :class:`Step` and
:class:`Region`, which say everything but addresses. ``Forms.of`` tells whether a node has a native
form at all; what has none stays a call of NumPy between the native parts.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from chainwright.ir import Node
from chainwright.ir.alias import roots_of, viewed
from chainwright.ir.elementwise import resolved
from chainwright.ir.frozen import slots_of, thaw
from chainwright.ir.kernel import SAME, STRIDE, UNIT, Instr, Kernel, Operand
from chainwright.ir.layout import is_contiguous, phantom
from chainwright.ir.node import dtype_text
from chainwright.ir.op import OPS
from chainwright.ir.reductions import axes_of
from chainwright.ir.shapes import is_basic

from .driver import FIRST_ITEMS, FOREIGN, MOST_OPERANDS, OURS, RESULT, SILENT, VALUE
from .llvm import approximates, casts, lowers, strides_of
from .places import PLACES, READ, WRITE, places_of, rows_of

Ints = tuple[int, ...]
TILE_BYTES = 1 << 14
ALONE_BYTES = 1 << 17  # of a loop by itself: what a thread does at a time
COLUMN_BYTES = 1 << 14  # of a sum over rows by itself: less at a time would take longer
LOOP_AXES = 3  # the loops around a ufunc's own


class Machine(Protocol):
    """What NumPy on this processor offers; each answer was tested against NumPy's own calls."""

    def loop(self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool: ...

    def arithmetic(self, op: str, dtype: str) -> bool: ...

    def reduces(self, reduction: Reduction) -> bool: ...

    def multiplies(self, product: Product) -> bool: ...


class Place(NamedTuple):
    """An operand: a value or a number of the table, bytes from its start and to the next row."""

    value: Node | int
    offset: int
    row_step: int


@dataclass(frozen=True, slots=True)
class Loop:
    """The address of a loop of NumPy and of its data; known when the program is loaded."""

    ufunc: np.ufunc
    dtypes: tuple[np.dtype[Any], ...]
    part: int


Item = int | Loop


@dataclass(frozen=True, slots=True)
class Step:
    """One call of native code: ``function`` is a kernel or the name of a function of the driver."""

    function: Kernel | str
    table: tuple[Item, ...]
    operands: tuple[Place, ...]
    kind: int = OURS
    label: str = ""
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """Steps that run one after the other for a few rows at a time.

    ``apart``: rows have nothing to do with each other, so that several threads may do them; each
    needs memory of its own for the ``local`` values, of which only a few rows exist at a time.
    ``part`` are the bytes that are read and written, where these are parts of the arrays. Of the
    last ``ordered`` steps that is not so: each comes when those of the rows before are done.
    """

    rows: int
    tile: int
    steps: tuple[Step, ...]
    apart: bool = False
    local: frozenset[Node] = frozenset()
    part: int = 0
    ordered: int = 0

    @property
    def touched(self) -> int:
        """Bytes of the arrays that are read and written."""
        if self.part:
            return self.part
        nodes = {place.value for step in self.steps for place in step.operands}
        return sum(x.nbytes for x in nodes - self.local if isinstance(x, Node))


class Reduction(NamedTuple):
    """A reduction of an array of this layout; the strides are those of the result's axes."""

    ufunc: str
    dtype: np.dtype[Any]
    shape: Ints
    strides: Ints
    axes: Ints
    out: Ints


class Product(NamedTuple):
    """A product of two arrays of these layouts; ``same`` if they are one array."""

    op: str
    dtype: np.dtype[Any]
    shapes: tuple[Ints, Ints, Ints]
    strides: tuple[Ints, Ints, Ints]
    same: bool


class Work(NamedTuple):
    """What native code does for a library op (see :mod:`.library`).

    ``memory`` are the shapes of arrays to work in, of the result's dtype; ``regions`` gets them.
    """

    memory: tuple[Ints, ...]
    regions: Callable[[Sequence[Node]], list[Region]]


#: The native forms of library ops, by name.
LIBRARY: dict[str, Callable[[Node, Machine], Work | None]] = {}


def work_of(node: Node, machine: Machine) -> Work | None:
    """What native code does for a library op; None if it does nothing."""
    form = LIBRARY.get(node.op)
    return None if form is None or node.shape is None else form(node, machine)


# -- nests of loops ----------------------------------------------------------------------------


class Nest(NamedTuple):
    """Loops: the outermost has ``rows * factor`` turns, then come ``lengths``."""

    rows: int
    factor: int
    lengths: Ints
    strides: tuple[Ints, ...]

    @property
    def ndim(self) -> int:
        return 1 + len(self.lengths)


def nest_of(dims: Ints, strides: Sequence[Ints], by_rows: bool) -> Nest:
    """Loops over all items; axes that all operands step through as one are one loop.

    ``by_rows`` keeps the first axis outermost, so that a part of the rows can be done.
    """
    axes = [(n, tuple(s[k] for s in strides)) for k, n in enumerate(dims)]
    first = axes[:1] if by_rows else []
    rest = [axis for axis in axes[len(first) :] if axis[0] != 1]
    if not by_rows:
        rest.sort(key=lambda axis: -abs(axis[1][-1]))
    merged: list[tuple[int, int, tuple[int, ...]]] = [(n, 1, s) for n, s in first]
    for n, steps in rest:
        if merged and all(a == n * b for a, b in zip(merged[-1][2], steps, strict=True)):
            rows, factor, _ = merged[-1]
            merged[-1] = (rows, factor * n, steps)
        else:
            merged.append((n, 1, steps))
    if not merged:
        merged = [(1, 1, (0,) * len(strides))]
    if not by_rows:  # each item of the outermost loop is a row
        rows, factor, steps = merged[0]
        merged[0] = (rows * factor, 1, steps)
    lengths = tuple(n * factor for n, factor, _ in merged[1:])
    by_operand = tuple(zip(*(s for _, _, s in merged), strict=True)) if strides else ()
    return Nest(merged[0][0], merged[0][1], lengths, by_operand)


def spread(x: Node, dims: Ints) -> Ints:
    """The strides of a value that is broadcast to ``dims``."""
    missing = len(dims) - len(x.dims)
    pairs = zip(x.dims, x.steps, strict=True)
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in pairs)


def bits(value: Any, dtype: np.dtype[Any]) -> int:
    """A number as an item of a table."""
    raw = np.asarray(value).astype(dtype).tobytes().ljust(8, b"\0")
    return struct.unpack("<q", raw)[0]


# -- forms -------------------------------------------------------------------------------------

_NUMBERS = frozenset("fdbhilqBHILQ?")
_LOOP_NUMBERS = frozenset("efd?")
_MOVED = _NUMBERS | {"e"}
_MOVES = frozenset("zeros ones empty getitem setitem reshape concatenate".split())
_WHOLE_LOOPS = frozenset({"absolute", "sign"})
_REDUCTIONS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def dtype_name(dtype: np.dtype[Any] | None) -> str:
    return "" if dtype is None else dtype_text(dtype)


def _is_number(dtype: np.dtype[Any] | None, allowed: frozenset[str] = _NUMBERS) -> bool:
    return dtype is not None and dtype.char in allowed and dtype.isnative


def is_scalar(x: Node) -> bool:
    """A Python number, or a constant of one item."""
    if x.op == "literal":
        return type(x.attr("value")) in (int, float, bool)
    return x.op == "constant" and x.shape == () and _is_number(x.dtype)


def _scalar_fits(x: Node, dtype: np.dtype[Any]) -> bool:
    value = x.attr("value") if x.op == "literal" else np.asarray(x.attr("box").value).item()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return type(value) is not float and limits.min <= value <= limits.max
    return dtype.kind == "f" or type(value) is bool


def scalar_bits(x: Node, dtype: np.dtype[Any]) -> int:
    """What NumPy makes of a scalar operand in a loop of this dtype."""
    value = x.attr("value") if x.op == "literal" else x.attr("box").value
    return bits(value, dtype)


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
            return nest_of(node.dims, _all_strides(node), by_rows=True).ndim <= LOOP_AXES
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
        if not _is_number(node.dtype):
            same = node.op in ("cast", "copy") and node.inputs[0].dtype == node.dtype
            return same and _is_number(node.dtype, _MOVED)
        if node.op not in ("cast", "copy") and not self._has(node.op, dtype_name(dtypes[0])):
            return False
        return all(
            _scalar_fits(x, dtype)
            if is_scalar(x)
            else _is_number(x.dtype) and casts(dtype_name(x.dtype), dtype_name(dtype))
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
        loop = _resolved(node) if node.attr("casting") is None else None
        if loop is None or loop[-1] != node.dtype or len(loop) > 8:
            return False
        numbers = all(_is_number(dtype, _LOOP_NUMBERS) for dtype in loop)
        whole = node.op in _WHOLE_LOOPS and all(map(_is_number, loop))
        if not (numbers or whole) or all(map(is_scalar, node.inputs)):
            return False
        for x, dtype in zip(node.inputs, loop, strict=False):
            if not (_scalar_fits(x, dtype) if is_scalar(x) else x.dtype == dtype):
                return False
        nest = nest_of(node.dims, _all_strides(node), by_rows=False)
        return nest.ndim <= LOOP_AXES and self.machine.loop(ufunc, loop)

    def _reduces(self, node: Node) -> bool:
        form = reduction_of(node)
        return form is not None and self.machine.reduces(form)

    def _multiplies(self, node: Node) -> bool:
        form = product_of(node)
        return form is not None and self.machine.multiplies(form)

    def _moves(self, node: Node) -> bool:
        arrays = [x for x in node.inputs if not is_scalar(x)]
        numbers = _MOVED if node.op in _MOVES else _NUMBERS
        if not all(_is_number(x.dtype, numbers) for x in (node, *arrays)):
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
        if not _is_number(target.dtype, _MOVED) or not target.size or base is target:
            return False
        return _assigns(value, target)


def _assigns(value: Node, target: Node) -> bool:
    """Whether a value can be stored in an array by plain casts."""
    if is_scalar(value):
        dtype = target.dtype
        return dtype is not None and _scalar_fits(value, dtype) and _is_quiet(value, dtype)
    if not _is_number(value.dtype, _MOVED) or not value.size:
        return False
    return casts(dtype_name(value.dtype), dtype_name(target.dtype))


def _is_quiet(value: Node, dtype: np.dtype[Any]) -> bool:
    """Whether nobody is warned of a number that becomes one of float16."""
    number = value.attr("value") if value.op == "literal" else value.attr("box").value
    size = abs(float(number))
    return dtype.char != "e" or not 0 < size < 2.0**-14 and not 65504 < size < np.inf


def _resolved(node: Node) -> tuple[np.dtype[Any], ...] | None:
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
    loop = _resolved(node)
    if loop is None or loop[-1] != dtype or any(d != loop[0] for d in loop[:-1]):
        return None
    return loop[:-1]


def _clips_by_numbers(node: Node) -> bool:
    """Whether the bounds are single numbers: NumPy has another loop for arrays."""
    x, *bounds = node.inputs
    known = [b.attr("value") for b in bounds if b.op == "literal"]
    single = all(is_scalar(b) or b.shape == () and b.dtype == node.dtype for b in bounds)
    return x.dtype == node.dtype and single and all(v == v for v in known)


def _all_strides(node: Node) -> list[Ints]:
    """The strides of the operands and of the result, along the axes of the result."""
    zeros = (0,) * len(node.dims)
    operands = [zeros if is_scalar(x) else spread(x, node.dims) for x in node.inputs]
    return [*operands, node.steps]


# -- reductions --------------------------------------------------------------------------------


def reduction_of(node: Node) -> Reduction | None:
    """A reduction that is NumPy's loop of one dtype; None for others."""
    (x,) = node.inputs
    if node.op not in _REDUCTIONS or x.dtype != node.dtype or not _is_number(x.dtype, _REDUCED):
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
    table: list[Item] = [Loop(ufunc, dtypes, 0), Loop(ufunc, dtypes, 1), CUT, *start]
    table += [dtype.itemsize, *rows, *(v for loop in padded for v in loop)]
    return Step("reduce", tuple(table), operands, FOREIGN, f"{form.ufunc}.reduce")


# -- products ----------------------------------------------------------------------------------


def product_of(node: Node) -> Product | None:
    """A product that is one call of the loop of ``np.matmul``; None for others."""
    a, b = node.inputs
    if a.op == "literal" or b.op == "literal" or not a.dims or not b.dims:
        return None
    if not (a.dtype == b.dtype == node.dtype) or not _is_number(a.dtype, frozenset("fd")):
        return None
    assert a.dtype is not None
    if node.op == "dot" and not (_is_whole(a) and _is_whole(b) and _is_whole(node)):
        return None
    shapes, strides = (a.dims, b.dims, node.dims), (a.steps, b.steps, node.steps)
    form = Product(node.op, a.dtype, shapes, strides, a is b)
    return None if product_walk(form) is None else form


def _is_whole(x: Node) -> bool:
    assert x.dtype is not None
    size = x.dtype.itemsize
    if len(x.dims) > 2:
        return False
    return is_contiguous(x.dims, x.steps, size) or is_contiguous(x.dims[::-1], x.steps[::-1], size)


class Walk(NamedTuple):
    """How a product is made: calls of the loop, bytes between them, lengths and strides of each."""

    calls: int
    steps: tuple[int, ...]
    lengths: Ints
    strides: Ints


def product_walk(form: Product) -> Walk | None:
    """The calls of the loop that a product takes; None for more than two outer loops."""
    (a, b, c), (sa, sb, sc) = form.shapes, form.strides
    size = form.dtype.itemsize
    if len(a) == 1:
        a, sa = (1, *a), (size * a[0], *sa)
        c, sc = (*c[:-1], 1, *c[-1:]) if len(b) > 1 else (1, *c), _one_more(sc, len(b) > 1, size)
    if len(b) == 1:
        b, sb = (*b, 1), (*sb, size)
        c, sc = (*c, 1), (*sc, size)
    outer = c[:-2]
    parts = [_outer(x, s, outer) for x, s in ((a, sa), (b, sb), (c, sc))]
    matrices = (*sa[-2:], *sb[-2:], *sc[-2:])
    if not outer:
        return Walk(1, (0, 0, 0), (1, *a[-2:], *b[-1:]), (0, 0, 0, *matrices))
    nest = nest_of(outer, parts, by_rows=False)
    if nest.ndim > 2:
        return None
    calls, (count,), columns = 1, (nest.rows * nest.factor,), list(zip(*nest.strides, strict=True))
    if nest.ndim == 2:
        calls, (count,) = count, nest.lengths
    steps = (0, 0, 0) if nest.ndim == 1 else columns[0]
    return Walk(calls, steps, (count, *a[-2:], *b[-1:]), (*columns[-1], *matrices))


def _one_more(strides: Ints, before_last: bool, size: int) -> Ints:
    return (*strides[:-1], size, *strides[-1:]) if before_last else (size, *strides)


def _outer(shape: Ints, strides: Ints, outer: Ints) -> Ints:
    pairs = list(zip(shape[:-2], strides[:-2], strict=True))
    return (0,) * (len(outer) - len(pairs)) + tuple(0 if n == 1 else s for n, s in pairs)


def product_region(form: Product, values: tuple[Node, Node, Node], origin: str = "") -> Region:
    """The calls of the loop for two operands and a result."""
    walk = product_walk(form)
    assert walk is not None
    dtypes = (form.dtype,) * 3
    table = (Loop(np.matmul, dtypes, 0), Loop(np.matmul, dtypes, 1), *walk.lengths, *walk.strides)
    kind = SILENT if form.op == "dot" else FOREIGN
    places = tuple(Place(x, 0, step) for x, step in zip(values, walk.steps, strict=True))
    return Region(walk.calls, 1, (Step("product", table, places, kind, form.op, (origin,)),))


# -- copies ------------------------------------------------------------------------------------


def copy_region(
    source: Node, target: Node, dims: Ints, strides: Ints, offset: int, origin: str = ""
) -> Region:
    """Store a value, broadcast to ``dims``, in a part of the target."""
    assert target.dtype is not None
    kind = dtype_name(target.dtype)
    if is_scalar(source):
        return fill_region(target, scalar_bits(source, target.dtype), dims, strides, offset, origin)
    nest = nest_of(dims, [spread(source, dims), strides], by_rows=False)
    assert source.dtype is not None
    a = Operand("a0", dtype_name(source.dtype), inner_of(nest, 0, source.dtype.itemsize))
    y = Operand("y0", kind, inner_of(nest, 1, target.dtype.itemsize), out=True)
    body, value = (), "a0"
    if a.dtype != kind:
        body, value = (
            (Instr("t0", "cast", a.dtype, kind, ("a0",), f"({kind}) {{0}}", origin),),
            "t0",
        )
    kernel = Kernel(nest.ndim, (a, y), (), body, (("y0", value),))
    places = (Place(source, 0, 0), Place(target, offset, 0))
    step = Step(kernel, kernel_table(kernel, nest, ()), places, origins=(origin,))
    return Region(nest.rows, nest.rows, (step,))


def fill_region(
    target: Node, value: int, dims: Ints, strides: Ints, offset: int, origin: str = ""
) -> Region:
    """Store one number in a part of the target."""
    assert target.dtype is not None
    nest = nest_of(dims, [strides], by_rows=False)
    kind = dtype_name(target.dtype)
    y = Operand("y0", kind, inner_of(nest, 0, target.dtype.itemsize), out=True)
    kernel = Kernel(nest.ndim, (y,), (kind,), (), (("y0", "c0"),))
    table = kernel_table(kernel, nest, (value,))
    step = Step(kernel, table, (Place(target, offset, 0),), origins=(origin,))
    return Region(nest.rows, nest.rows, (step,))


def inner_of(nest: Nest, operand: int, itemsize: int) -> str:
    """How an operand moves along the innermost axis."""
    stride = nest.strides[operand][-1]
    if nest.ndim == 1 and nest.rows * nest.factor == 1 or stride == itemsize:
        return UNIT
    return SAME if stride == 0 else STRIDE


def kernel_table(kernel: Kernel, nest: Nest, numbers: Sequence[int]) -> tuple[int, ...]:
    table = [nest.factor, *nest.lengths]
    for operand, strides in zip(kernel.operands, nest.strides, strict=True):
        table += strides[: strides_of(operand, kernel.ndim)]
    return (*table, *numbers)


def move_regions(node: Node, reuses: bool) -> list[Region]:
    """Copies and fills; ``reuses``: the result has taken over the memory of its base."""
    origin = str(node.origin or "")
    if node.op == "write":
        target, value = node.inputs
        return [copy_region(value, target, target.dims, target.steps, 0, origin)]
    assert node.dtype is not None
    if node.op in ("zeros", "ones"):
        value = bits(node.op == "ones", node.dtype)
        return [fill_region(node, value, node.dims, node.steps, 0, origin)]
    if node.op == "empty":
        return []
    if node.op == "reshape":
        (x,) = node.inputs
        size = node.dtype.itemsize
        dense = tuple(size * prod(x.dims[k + 1 :]) for k in range(len(x.dims)))
        return [copy_region(x, node, x.dims, dense, 0, origin)]
    if node.op == "concatenate":
        return list(_joined(node, origin))
    if node.op == "add_rows":
        zeros = fill_region(node, 0, node.dims, node.steps, 0, origin)
        return [zeros, _at_places(node, origin)]
    if node.op == "getitem":
        return [_at_places(node, origin)]
    base, value = node.inputs[:2]
    regions = [] if reuses else [copy_region(base, node, node.dims, node.steps, 0, origin)]
    if len(node.inputs) > 2:
        return [*regions, _at_places(node, origin)]
    ghost = phantom(node.dims, node.dtype, node.steps)
    index = thaw(node.attr("index"), ())
    items = index if isinstance(index, tuple) else (index,)
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)  # an array even where one item is meant
    part = ghost[items]
    offset = part.__array_interface__["data"][0] - ghost.__array_interface__["data"][0]
    if part.size:
        regions.append(copy_region(value, node, part.shape, part.strides, offset, origin))
    return regions


def _at_places(node: Node, origin: str) -> Region:
    """Reading, writing or adding up at places that are arrays."""
    if node.op == "add_rows":
        found = rows_of(node)
        assert found is not None
        places = tuple(Place(x, 0, 0) for x in (node, found.rows, found.ids))
        return Region(1, 1, (Step(found.kind, found.table, places, OURS, node.op, (origin,)),))
    found = places_of(node)
    assert found is not None
    reads = node.op == "getitem"
    arrays = (node, found.array) if reads else (node.inputs[1], node)
    places = tuple(Place(x, 0, 0) for x in (*arrays, *found.indices))
    table = found.table(READ if reads else WRITE)
    return Region(1, 1, (Step(PLACES, table, places, OURS, node.op, (origin,)),))


def _joined(node: Node, origin: str) -> list[Region]:
    axis, start, regions = node.attr("axis") % len(node.dims), 0, []
    for x in node.inputs:
        offset = start * node.steps[axis]
        regions.append(copy_region(x, node, x.dims, node.steps, offset, origin))
        start += x.dims[axis]
    return regions


# -- groups ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Stage:
    """A part of a group: one fused loop, one call of a loop, or one reduction.

    ``reads`` are the values that a loop reads, ``seen`` those of its own that others may read.
    """

    form: str
    nodes: list[Node]
    reads: set[Node] = field(default_factory=set)
    seen: set[Node] = field(default_factory=set)


class Group:
    """Nodes that run together by rows: their stages, and which values need memory for that."""

    def __init__(
        self, nodes: Sequence[Node], forms: Forms, escaping: Callable[[Node], bool]
    ) -> None:
        self.nodes, self.fast = tuple(nodes), forms.fast
        self.alone = len(nodes) == 1
        self._escaping = escaping
        self._users: dict[Node, set[Node]] = {}
        for node in nodes:
            for x in node.inputs:
                self._users.setdefault(x, set()).add(node)
        self.stages: list[Stage] = []
        self.stage: dict[Node, int] = {}
        self.roots = roots_of(nodes)
        for node in nodes:
            columns = not self.alone and forms.by_columns(node)
            self._put(node, "columns" if columns else forms.of(node) or "")
        self._sums_last()
        self.stored = {n for n in self.stage if self.alone or escaping(n) or self._is_read(n)}
        self.local = frozenset(
            node
            for node in nodes
            if self.roots[node] in self.stage and not escaping(self.roots[node])
        )

    @property
    def group(self) -> tuple[Node, ...]:
        return self.nodes

    @functools.cached_property
    def rows(self) -> int:
        return self.nodes[0].dims[0]

    @functools.cached_property
    def tile(self) -> int:
        """Rows at a time."""
        read = [x for node in self.nodes for x in node.inputs if x.dims and x.dims[0] == self.rows]
        widest = max(x.nbytes for x in (*self.nodes, *read))
        whole = sum(x.nbytes for x in self.stage)
        if whole <= 2 * TILE_BYTES:
            return self.rows
        return min(max(TILE_BYTES * self.rows // max(widest, 1), 1), self.rows)

    def shape(self, node: Node) -> Ints:
        """The shape of what exists of a local value."""
        return (self.tile, *node.dims[1:])

    def _put(self, node: Node, form: str) -> None:
        if form == "view":
            return
        first = max((self._after(x, node, form) for x in node.inputs), default=0)
        if form == "loop":
            for k in range(first, len(self.stages)):
                stage = self.stages[k]
                if stage.form == "loop" and stage.nodes[0].dims == node.dims:
                    if self._joins(stage, node):
                        self.stage[node] = k
                        return
        self.stages.append(Stage(form, []))
        self._joins(self.stages[-1], node)
        self.stage[node] = len(self.stages) - 1

    def _sums_last(self) -> None:
        """Sums over rows come last: nothing in the group reads them, and their rows have an order.

        So several threads may do all that comes before.
        """
        self.stages.sort(key=lambda stage: stage.form == "columns")
        self.stage = {node: k for k, stage in enumerate(self.stages) for node in stage.nodes}

    def _joins(self, stage: Stage, node: Node) -> bool:
        """Have a loop compute one more node, if it has room for the operands."""
        members = {*stage.nodes, node}
        reads = stage.reads.union(x for x in node.inputs if x not in members and not is_scalar(x))
        seen = {
            x
            for x in (*stage.seen, node)
            if self._escaping(x) or not self._users.get(x, set()) <= members
        }
        if stage.nodes and len(reads) + len(seen) > MOST_OPERANDS:
            return False
        stage.nodes.append(node)
        stage.reads, stage.seen = reads, seen
        return True

    def _after(self, x: Node, node: Node, form: str) -> int:
        """The first stage in which a value can be read."""
        root = self.roots.get(x, x)
        if root not in self.stage:
            return 0
        k = self.stage[root]
        joins = root is x and form == "loop" == self.stages[k].form and x.dims == node.dims
        return k if joins else k + 1

    def _is_read(self, node: Node) -> bool:
        """Whether a value is read from memory by another part of the group."""
        if self.stages[self.stage[node]].form != "loop":
            return True
        for user in self.nodes:
            for x in user.inputs:
                if self.roots.get(x, x) is node and (
                    x is not node or self.stage.get(user) != self.stage[node]
                ):
                    return True
        return False

    def last_stage(self, node: Node) -> int:
        """The last stage that reads a value."""
        readers = [
            self.stage[user]
            for user in self.stage
            if any(self.roots.get(x, x) is node for x in user.inputs)
        ]
        return max([self.stage[node], *readers])

    def regions(self) -> list[Region]:
        """What sums over rows starts from; then the steps, one for each stage."""
        sums = [stage.nodes[0] for stage in self.stages if stage.form == "columns"]
        return [*map(_start_region, sums), self.region()]

    def region(self) -> Region:
        """The steps, one for each stage."""
        if self.alone and self.stages[0].form in ("loop", "call"):
            return self._alone(self.stages[0])
        if self.alone:
            return _alone_reduction(self.nodes[0])
        steps = tuple(self._step(stage, True) for stage in self.stages)
        sums = sum(stage.form == "columns" for stage in self.stages)
        return Region(self.rows, self.tile, steps, True, self.local, ordered=sums)

    def _alone(self, stage: Stage) -> Region:
        """One loop over all items, the outermost axis of which may be done in parts."""
        if stage.form == "loop":
            step, nest = Fused(self, stage.nodes, False).made()
        else:
            step, nest = self._call(stage.nodes[0], False)
        ways = iter([strides[0] for strides in nest.strides])
        operands = tuple([
            Place(p.value, p.offset, way) if isinstance(p.value, Node) else p
            for p, way in zip(step.operands, ways, strict=True)
        ])
        step = replace(step, operands=operands)
        return _in_parts(nest.rows, step)

    def _step(self, stage: Stage, by_rows: bool) -> Step:
        node = stage.nodes[0]
        if stage.form == "loop":
            return Fused(self, stage.nodes, by_rows).step()
        if stage.form == "call":
            return self._call(node, by_rows)[0]
        (x,) = node.inputs
        if stage.form == "columns":
            form, loops = reduction_of(node), column_loops(node)
            assert form is not None and loops is not None
            operands = self.place(x, x.steps), Place(node, 0, 0)
            rows = (1, x.steps[0], 0)
            return _with_origin(reduce_step(form, loops, rows, operands, adds_up=True), node)
        form, loops = reduction_of(node), row_loops(node)
        assert form is not None and loops is not None
        rows = (1, x.steps[0], node.steps[0])
        step = reduce_step(
            form, loops, rows, (self.place(x, x.steps), self.place(node, node.steps))
        )
        return _with_origin(step, node)

    def place(self, x: Node, strides: Ints) -> Place:
        """An operand of a step; a local value has only the rows at hand."""
        step = 0 if self.alone or x in self.local or not strides else strides[0]
        return Place(x, 0, step)

    def _call(self, node: Node, by_rows: bool) -> tuple[Step, Nest]:
        loop = _resolved(node)
        assert loop is not None
        dims = node.dims or (1,)
        strides = [s or (0,) for s in _all_strides(node)]
        nest = nest_of(dims, strides, by_rows)
        assert nest.ndim <= LOOP_AXES
        ufunc = getattr(np, node.op)
        operands = (*node.inputs, node)
        columns = list(zip(*nest.strides, strict=True))
        table: list[Item] = [Loop(ufunc, loop, 0), Loop(ufunc, loop, 1)]
        if nest.ndim == 1:
            table += [nest.factor, *columns[0]]
        else:
            missing = LOOP_AXES - nest.ndim
            table += [len(operands), nest.factor, *(1,) * missing, *nest.lengths]
            for column in (columns[0], *[(0,) * len(operands)] * missing, *columns[1:]):
                table += column
        numbers, places = [], []
        for x, s, dtype in zip(operands, strides, loop, strict=True):
            if x is not node and is_scalar(x):
                places.append(Place(len(table) + len(numbers), 0, 0))
                numbers.append(scalar_bits(x, dtype))
            else:
                places.append(self.place(x, s))
        function = "flat" if nest.ndim == 1 else "loop"
        step = Step(function, (*table, *numbers), tuple(places), FOREIGN, node.op)
        return _with_origin(step, node), nest


def _in_parts(rows: int, step: Step) -> Region:
    """A step by itself, of which each thread does some rows at a time."""
    whole = Region(rows, rows, (step,), True)
    tile = max(1, rows * ALONE_BYTES // max(whole.touched, 1))
    return whole if tile >= rows else replace(whole, tile=tile)


def _alone_reduction(node: Node) -> Region:
    """A reduction by itself, in parts where these have nothing to do with each other."""
    form, (x,) = reduction_of(node), node.inputs
    loops = reduce_loops(form) if form is not None else None
    assert form is not None and loops is not None
    by_rows = row_loops(node)
    if by_rows is not None and x.dims[0] > 1 and x.steps[0] == max(x.steps):
        rows, loops, ways = x.dims[0], by_rows, (x.steps[0], node.steps[0])
    elif len(loops) == 2 and not loops[0][2] and (part := _columns_at_a_time(form, loops[1])):
        # A result is summed up row after row, whatever happens to those beside it.
        columns, s, o = loops[1]
        rows, ways = columns // part, (part * s, part * o)
        loops = [loops[0], (part, s, o)]
    elif len(loops) == 4:
        rows, ways, loops = loops[0][0], loops[0][1:], loops[1:]
    else:
        rows, ways = 1, (0, 0)
    operands = tuple([Place(v, 0, way) for v, way in zip((x, node), ways, strict=True)])
    step = _with_origin(reduce_step(form, loops, (1, *ways), operands), node)
    return _in_parts(rows, step) if rows > 1 else Region(1, 1, (step,))


def _columns_at_a_time(form: Reduction, columns: tuple[int, int, int]) -> int:
    """How many columns are summed up at a time; 0 if it has to be all of them."""
    n, _, o = columns
    most = COLUMN_BYTES // form.dtype.itemsize
    if not o or n <= most:
        return 0
    return next((k for k in range(most, most // 8, -1) if n % k == 0), 0)


def _start_region(node: Node) -> Region:
    form = reduction_of(node)
    assert form is not None
    origin = str(node.origin or "")
    return fill_region(node, start_of(form)[1], node.dims, node.steps, 0, origin)


def _with_origin(step: Step, node: Node) -> Step:
    origins = (str(node.origin),) if node.origin else ()
    return Step(step.function, step.table, step.operands, step.kind, step.label, origins)


class Memory(Protocol):
    """Which values of a loop are stored, and where its operands lie."""

    stored: set[Node]
    fast: bool

    def place(self, x: Node, strides: Ints) -> Place: ...


class Fused:
    """One loop for several nodes of one shape: what one computes the next has in a register."""

    prefix, reads = "t", "a"  # of the names of steps, and of values that are read

    def __init__(self, group: Memory, nodes: Sequence[Node], by_rows: bool) -> None:
        self.group, self.nodes, self.by_rows = group, nodes, by_rows
        self.inputs: dict[Node, str] = {}
        self.strides: list[Ints] = []
        self.numbers: dict[tuple[str, int], str] = {}
        self.names: dict[Node, str] = {}
        self.casts: dict[tuple[str, str], str] = {}
        self.body: list[Instr] = []
        self.dims = nodes[0].dims or (1,)

    def step(self) -> Step:
        return self.made()[0]

    def made(self) -> tuple[Step, Nest]:
        """The step, and the loops that it runs in."""
        kernel, nest, places = self.parts()
        table = kernel_table(kernel, nest, [n for _, n in self.numbers])
        return Step(kernel, table, places), nest

    def parts(self) -> tuple[Kernel, Nest, tuple[Place, ...]]:
        """The kernel, the loops it is to run in, and its operands."""
        for node in self.nodes:
            self._add(node)
        outs = [node for node in self.nodes if node in self.group.stored]
        sources = [*self.inputs, *outs]
        strides = [self._strides(x) for x in sources]
        nest = nest_of(self.dims, strides, self.by_rows)
        operands = []
        for k, x in enumerate(sources):
            out = k >= len(self.inputs)
            name = f"y{k - len(self.inputs)}" if out else self.inputs[x]
            assert x.dtype is not None
            inner = inner_of(nest, k, x.dtype.itemsize)
            operands.append(Operand(name, dtype_name(x.dtype), inner, out))
        stores = tuple((f"y{k}", self.names[node]) for k, node in enumerate(outs))
        numbers = tuple(dtype for dtype, _ in self.numbers)
        kernel = Kernel(
            nest.ndim, tuple(operands), numbers, tuple(self.body), stores, self.group.fast
        )
        places = tuple(self.group.place(x, s) for x, s in zip(sources, strides, strict=True))
        return kernel, nest, places

    def _strides(self, x: Node) -> Ints:
        return spread(x, self.dims) or (0,)

    def _add(self, node: Node) -> None:
        dtypes = operand_dtypes(node)
        assert dtypes is not None and node.dtype is not None
        origin = str(node.origin or "")
        pairs = zip(node.inputs, dtypes, strict=True)
        args = tuple(self._operand(x, dtype, origin) for x, dtype in pairs)
        if node.op in ("cast", "copy", "positive"):
            self.names[node] = args[0]
            return
        name = f"{self.prefix}{len(self.body)}"
        compute = dtype_name(dtypes[-1])
        text = OPS[node.op].scalar
        self.body.append(Instr(name, node.op, compute, dtype_name(node.dtype), args, text, origin))
        self.names[node] = name

    def _operand(self, x: Node, dtype: np.dtype[Any], origin: str) -> str:
        kind = dtype_name(dtype)
        if is_scalar(x):
            key = (kind, scalar_bits(x, dtype))
            return self.numbers.setdefault(key, f"c{len(self.numbers)}")
        if x in self.names:
            name = self.names[x]
        else:
            name = self.inputs.setdefault(x, f"{self.reads}{len(self.inputs)}")
        have = dtype_name(x.dtype)
        if have == kind:
            return name
        if (name, kind) not in self.casts:
            cast = f"{self.prefix}{len(self.body)}"
            text = f"({kind}) {{0}}"
            self.body.append(Instr(cast, "cast", have, kind, (name,), text, origin))
            self.casts[name, kind] = cast
        return self.casts[name, kind]
