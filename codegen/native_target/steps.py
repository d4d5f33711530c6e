"""What native code is made of: steps, regions, and the loops that they walk.

A :class:`Step` is one call of native code, a :class:`Region` steps that run a few rows at a time:
they say everything but addresses. What native code does for a node say :mod:`.forms` (whether
there is a form at all), :mod:`.groups` (fused loops, NumPy's own loops, groups that run by rows),
:mod:`.reductions`, :mod:`.matmul`, :mod:`.moves` and :mod:`.library`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from chainwright.ir import Node
from chainwright.ir.kernel import SAME, STRIDE, UNIT, Kernel
from chainwright.ir.node import dtype_text

from .driver import OURS
from .llvm import strides_of

Ints = tuple[int, ...]
LOOP_AXES = 3  # the loops around a ufunc's own


class Machine(Protocol):
    """What NumPy on this processor offers; each answer was tested against NumPy's own calls."""

    def loop(self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool: ...

    def arithmetic(self, op: str, dtype: str) -> bool: ...

    def reduces(self, reduction: Reduction) -> bool: ...

    def multiplies(self, product: Product) -> bool: ...

    def outer(self, product: Product, joined: bool) -> bool: ...


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


@dataclass(frozen=True)
class OwnLoop:
    """The address of a function of the driver's that has the form of a loop of NumPy."""

    name: str


Item = int | Loop | OwnLoop


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


#: Joined regions do so many times as many rows at a time: what each of them reads then stays in the
#: second cache, not in the first. So many parts are left for threads.
JOINED_ROWS, JOINED_PARTS = 8, 4


def joined(regions: list[Region]) -> list[Region]:
    """Regions that have nothing to do with each other as one, if their rows are done alike.

    Some rows of all of them come before the next rows: what they share is read once for these.
    """
    first = regions[0]
    kinds = {(r.rows, r.tile, r.apart, r.local, r.ordered) for r in regions}
    if kinds != {(first.rows, first.tile, True, frozenset(), 0)}:
        return regions
    tile = max(first.tile, min(first.tile * JOINED_ROWS, -(-first.rows // JOINED_PARTS)))
    steps = tuple(step for region in regions for step in region.steps)
    return [Region(first.rows, tile, steps, apart=True, part=sum(r.touched for r in regions))]


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


NUMBERS = frozenset("fdbhilqBHILQ?")


def dtype_name(dtype: np.dtype[Any] | None) -> str:
    return "" if dtype is None else dtype_text(dtype)


def is_number(dtype: np.dtype[Any] | None, allowed: frozenset[str] = NUMBERS) -> bool:
    return dtype is not None and dtype.char in allowed and dtype.isnative


def is_scalar(x: Node) -> bool:
    """A Python number, or a constant of one item."""
    if x.op == "literal":
        return type(x.attr("value")) in (int, float, bool)
    return x.op == "constant" and x.shape == () and is_number(x.dtype)


def scalar_fits(x: Node, dtype: np.dtype[Any]) -> bool:
    value = x.attr("value") if x.op == "literal" else np.asarray(x.attr("box").value).item()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return type(value) is not float and limits.min <= value <= limits.max
    return dtype.kind == "f" or type(value) is bool


def scalar_bits(x: Node, dtype: np.dtype[Any]) -> int:
    """What NumPy makes of a scalar operand in a loop of this dtype."""
    value = x.attr("value") if x.op == "literal" else x.attr("box").value
    return bits(value, dtype)


def all_strides(node: Node) -> list[Ints]:
    """The strides of the operands and of the result, along the axes of the result."""
    zeros = (0,) * len(node.dims)
    operands = [zeros if is_scalar(x) else spread(x, node.dims) for x in node.inputs]
    return [*operands, node.steps]


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


def with_origin(step: Step, node: Node) -> Step:
    origins = (str(node.origin),) if node.origin else ()
    return Step(step.function, step.table, step.operands, step.kind, step.label, origins)
