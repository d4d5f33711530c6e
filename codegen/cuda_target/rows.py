"""Rows and their reductions as one kernel: softmax, normalizations, sums within rows.

In: a graph. :class:`RowSpaces` says which nodes may share a kernel: a reduction of some axes, the
innermost among them, what is computed for each item of its operand, and what is computed from its
results. Out: :class:`RowKernel`, the plan of such a kernel: passes over the items of a row, with
reductions between them. A pass computes again what it needs, so that nothing but results is stored.

The order of sums is that of the threads, not CuPy's: in exact programs only reductions of integers,
which any order leaves the same, are part of kernels.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from chainwright.ir import Graph, Node
from chainwright.ir.alias import viewed
from chainwright.ir.fusion import Rows
from chainwright.ir.kernel import Instr
from chainwright.ir.layout import is_contiguous
from chainwright.ir.op import OPS
from chainwright.ir.reductions import axes_of

from ..native_target.groups import Fused
from ..native_target.steps import Ints, dtype_name, spread
from .ops import INTS, TYPES, NotOnDevice, takes

#: What is added up, and what accumulators begin with.
REDUCTIONS = {"sum": "Sum", "mean": "Sum", "prod": "Product", "max": "Maximum", "min": "Minimum"}
_REDUCED = frozenset({"f16", "f32", "f64", "i32", "i64"})
#: A block goes through a row by itself: longer rows need many of them to fill a device.
LONGEST_ROW, MANY_ROWS = 8192, 128


class Space(NamedTuple):
    """The items that a kernel goes through; ``axes`` are those within a row."""

    dims: Ints
    axes: Ints

    @property
    def kept(self) -> Ints:
        return tuple(k for k in range(len(self.dims)) if k not in self.axes)

    @property
    def rows(self) -> int:
        return prod(self.dims[k] for k in self.kept)

    @property
    def columns(self) -> int:
        return prod(self.dims[k] for k in self.axes)

    @property
    def ones(self) -> Ints:
        """The shape of one number for each row, before axes are dropped."""
        return tuple(1 if k in self.axes else n for k, n in enumerate(self.dims))

    def is_narrow(self, dims: Ints) -> bool:
        """Whether an array of this shape has one item for each row, in the order of rows."""
        return _long(dims) == _long(self.ones)


def _long(dims: Ints) -> Ints:
    return tuple(n for n in dims if n != 1)


def space_of(node: Node, exact: bool) -> Space | None:
    """The items that a reduction goes through; None if no kernel does it."""
    if node.op not in REDUCTIONS or node.dtype is None or not node.inputs[0].dims:
        return None
    (x,) = node.inputs
    space = Space(x.dims, axes_of(node.attr("axis"), len(x.dims)))
    have, kind = dtype_name(x.dtype), dtype_name(node.dtype)
    if have not in TYPES or kind not in _REDUCED or (have, kind) == ("f64", "f16"):
        return None
    if exact and (kind not in INTS or have not in INTS | {"bool"}):
        return None
    long = [k for k, n in enumerate(x.dims) if n != 1]
    if not long or long[-1] not in space.axes or min(x.dims) == 0:
        return None
    assert x.dtype is not None
    if x.strides is None or x.steps[long[-1]] != x.dtype.itemsize:
        return None
    if any(s % x.dtype.itemsize for s in x.steps):
        return None
    fits = space.columns <= LONGEST_ROW or space.rows >= MANY_ROWS
    return space if fits and space.columns > 1 else None


class RowSpaces(Rows):
    """Groups of a graph for kernels; nodes outside of all spaces are grouped by rows as ever."""

    def __init__(self, graph: Graph, exact: bool) -> None:
        self.spaces: dict[Node, Space] = {}
        by_dims: dict[Ints, Space] = {}
        for node in graph.nodes:
            space = space_of(node, exact)
            if space is not None and by_dims.setdefault(space.dims, space) == space:
                self.spaces[node] = space
        for node in graph.nodes if by_dims else ():
            if node not in self.spaces and takes(node):
                space = self._narrow(node) or by_dims.get(node.shape or ())
                if space is not None and (viewed(node) is None or space.is_narrow(node.dims)):
                    self.spaces[node] = space

    def _narrow(self, node: Node) -> Space | None:
        """The space in which a node computes one number for each row from such numbers."""
        for x in node.inputs:
            space = self.spaces.get(x)
            if space is None or x.dims == space.dims or not space.is_narrow(node.dims):
                continue
            if viewed(node) is None or all(map(_in_order, (x, node))):
                return space
        return None

    def has(self, node: Node) -> bool:
        return node in self.spaces or super().has(node) and takes(node)

    def joins(self, source: Node, node: Node) -> bool:
        space = self.spaces.get(node)
        if space != self.spaces.get(source):
            return False
        if space is None:
            return super().joins(source, node)
        if source.dims == space.dims:
            return node.dims == space.dims or OPS[node.op].kind == "reduction"
        if node.dims == space.dims:
            missing = len(space.dims) - len(source.dims)
            return (1,) * missing + source.dims == space.ones
        return source.size == node.size

    def shared(self, source: Node, node: Node) -> Hashable | None:
        space = self.spaces.get(node)
        if space is None:
            return super().shared(source, node)
        return space if source.dims == space.dims else None

    def of_group(self, group: Sequence[Node]) -> Space | None:
        """The space of a group with reductions; None for one of loops over items."""
        return self.spaces[group[0]] if any(n.op in REDUCTIONS for n in group) else None


def _in_order(x: Node) -> bool:
    assert x.dtype is not None
    return x.strides is not None and is_contiguous(x.dims, x.steps, x.dtype.itemsize)


class Section(Fused):
    """Steps that follow one another: those of a pass, or those between passes."""

    def __init__(self, prefix: str, reads: str, numbers: dict[tuple[str, int], str]) -> None:
        self.prefix, self.reads, self.numbers = prefix, reads, numbers
        self.inputs: dict[Node, str] = {}
        self.names: dict[Node, str] = {}
        self.casts: dict[tuple[str, str], str] = {}
        self.body: list[Instr] = []

    def add(self, node: Node) -> None:
        if viewed(node) is not None:
            self.names[node] = self.value(node.inputs[0], node.dtype)
            return
        self._add(node)

    def value(self, x: Node, dtype: np.dtype | None, origin: str = "") -> str:
        """The name of a value in this dtype."""
        assert dtype is not None
        return self._operand(x, dtype, origin)


class Reduced(NamedTuple):
    """A reduction of a pass: the value that a pass hands it is called ``value``."""

    node: Node
    name: str
    value: str

    @property
    def kind(self) -> str:
        return TYPES[dtype_name(self.node.dtype)]


class Pass(NamedTuple):
    """One walk over the items of a row: its steps, then the reductions and what is stored.

    ``after`` is how many of the steps between passes are done when the pass is over.
    """

    section: Section
    reduced: list[Reduced]
    stores: list[tuple[Node, str]]
    after: int


class RowKernel:
    """What a group does for each row of a space: passes, and steps on single numbers between."""

    def __init__(self, nodes: Sequence[Node], space: Space, stored: frozenset[Node]) -> None:
        self.space, self.stored = space, stored
        self.nodes = nodes
        self.numbers: dict[tuple[str, int], str] = {}
        self.between = Section("s", "b", self.numbers)
        self.passes: list[Pass] = []
        self._depth = depth = self._depths()
        wide = [n for n in nodes if n.dims == space.dims and viewed(n) is None]
        last = max(max(depth[n] - (n.op in REDUCTIONS) for n in nodes),
                   max((depth[n] for n in wide if n in stored), default=0))
        self._between(0)
        self.before = len(self.between.body)
        for k in range(last + 1):
            reduced = [n for n in nodes if n.op in REDUCTIONS and depth[n] == k + 1]
            stores = [n for n in wide if n in stored and depth[n] == k]
            if reduced or stores:
                self._pass(reduced, stores, wide)
            self._between(k + 1)
            if self.passes:
                self.passes[-1] = self.passes[-1]._replace(after=len(self.between.body))
        self.narrow_stores = [(n, self.between.names[n]) for n in nodes
                              if n in stored and n not in wide and viewed(n) is None]

    def _depths(self) -> dict[Node, int]:
        """How many reductions lie before each node, itself included."""
        depth: dict[Node, int] = {}
        for node in self.nodes:
            before = max((depth.get(x, 0) for x in node.inputs), default=0)
            depth[node] = before + (node.op in REDUCTIONS)
        return depth

    def _between(self, depth: int) -> None:
        """The steps on single numbers that so many reductions lie before."""
        for node in self.nodes:
            narrow = node.dims != self.space.dims and node.op not in REDUCTIONS
            if narrow and self._depth[node] == depth:
                self.between.add(node)

    def _pass(self, reduced: list[Node], stores: list[Node], wide: list[Node]) -> None:
        section = Section("t", "a", self.numbers)
        section.names.update(self.between.names)
        wanted = {*stores, *(n.inputs[0] for n in reduced)}
        for node in reversed(wide):
            if node in wanted:
                wanted.update(node.inputs)
        for node in wide:
            if node in wanted:
                section.add(node)
        found = []
        for node in reduced:
            value = section.value(node.inputs[0], node.dtype, str(node.origin or ""))
            name = f"r{sum(len(p.reduced) for p in self.passes) + len(found)}"
            found.append(Reduced(node, name, value))
            self.between.names[node] = name
        kept = [(n, section.names[n]) for n in stores]
        self.passes.append(Pass(section, found, kept, 0))

    # -- operands ------------------------------------------------------------------------------

    def wide_strides(self, x: Node) -> tuple[Ints, Ints]:
        """The strides of an operand of passes, along the rows' axes and within a row, in items."""
        assert x.dtype is not None
        steps = tuple(s // x.dtype.itemsize for s in spread(x, self.space.dims))
        space = self.space
        return tuple(steps[k] for k in space.kept), tuple(steps[k] for k in space.axes)

    def narrow_strides(self, x: Node, dims: Ints) -> Ints:
        """The strides along the rows' axes of an operand that is broadcast to ``dims``."""
        assert x.dtype is not None
        steps = [s // x.dtype.itemsize
                 for n, s in zip(dims, spread(x, dims), strict=True) if n != 1]
        found = iter(steps)
        return tuple(next(found) if self.space.dims[k] != 1 else 0 for k in self.space.kept)

    def narrow_dims(self) -> dict[Node, Ints]:
        """The shapes to which operands of the steps between passes are broadcast there."""
        found: dict[Node, Ints] = {}
        for node in self.nodes:
            if node.dims != self.space.dims and node.op not in REDUCTIONS:
                for x in node.inputs:
                    if x not in self.between.inputs:
                        continue
                    dims = x.dims if viewed(node) is not None else node.dims
                    before = found.setdefault(x, dims)
                    if self.narrow_strides(x, before) != self.narrow_strides(x, dims):
                        raise NotOnDevice(f"{x!r} is broadcast along rows in two ways")
        return found
