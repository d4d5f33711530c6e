"""Nodes that run together in native code: fused loops, and groups that run by rows.

In: nodes, alone or as a group that runs a few rows at a time. Out: their regions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from chainwright.ir import Node
from chainwright.ir.alias import roots_of
from chainwright.ir.kernel import Instr, Kernel, Operand
from chainwright.ir.op import OPS

from .driver import FOREIGN, MOST_OPERANDS
from .forms import Forms, loop_dtypes, operand_dtypes
from .moves import fill_region
from .reductions import column_loops, reduce_loops, reduce_step, reduction_of, row_loops, start_of
from .steps import (
    LOOP_AXES,
    Ints,
    Item,
    Loop,
    Nest,
    Place,
    Reduction,
    Region,
    Step,
    all_strides,
    dtype_name,
    inner_of,
    is_scalar,
    kernel_table,
    nest_of,
    scalar_bits,
    spread,
    with_origin,
)

TILE_BYTES = 1 << 14
ALONE_BYTES = 1 << 17  # of a loop by itself: what a thread does at a time
COLUMN_BYTES = 1 << 14  # of a sum over rows by itself: less at a time would take longer


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
            return with_origin(reduce_step(form, loops, rows, operands, adds_up=True), node)
        form, loops = reduction_of(node), row_loops(node)
        assert form is not None and loops is not None
        rows = (1, x.steps[0], node.steps[0])
        step = reduce_step(
            form, loops, rows, (self.place(x, x.steps), self.place(node, node.steps))
        )
        return with_origin(step, node)

    def place(self, x: Node, strides: Ints) -> Place:
        """An operand of a step; a local value has only the rows at hand."""
        step = 0 if self.alone or x in self.local or not strides else strides[0]
        return Place(x, 0, step)

    def _call(self, node: Node, by_rows: bool) -> tuple[Step, Nest]:
        loop = loop_dtypes(node)
        assert loop is not None
        dims = node.dims or (1,)
        strides = [s or (0,) for s in all_strides(node)]
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
        return with_origin(step, node), nest


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
    step = with_origin(reduce_step(form, loops, (1, *ways), operands), node)
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
