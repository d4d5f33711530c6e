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
#: What a loop computes once more rather than have it stored and read, and how many of these.
AGAIN, MOST_AGAIN = frozenset({"add", "subtract", "multiply", "negative"}), 8
COLUMN_BYTES = 1 << 14  # of a sum over rows by itself: less at a time would take longer


@dataclass(slots=True)
class Stage:
    """A part of a group: one fused loop, one call of a loop, or one reduction.

    ``reads`` are the values that a loop reads, ``seen`` those of its own that others may read.
    ``again`` are nodes of loops before that this loop computes once more for itself.
    """

    form: str
    nodes: list[Node]
    reads: set[Node] = field(default_factory=set)
    seen: set[Node] = field(default_factory=set)
    again: list[Node] = field(default_factory=list)


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
        self.latest = dict(self.stage)  # the last stage that computes a node
        for k, stage in enumerate(self.stages):
            if stage.form == "loop":
                self._compute_again(k, stage)
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

    def _compute_again(self, k: int, stage: Stage) -> None:
        """Have a loop compute what it reads of loops before, where that takes one array at most.

        A value that nobody else reads from memory is not stored then.
        """
        known, reads = set(stage.nodes), set(stage.reads)
        for node in self.nodes:
            if node not in reads or not self._is_repeatable(node, k):
                continue
            made, needed = self._steps_to(node, k, known)
            more, after = needed - reads, (reads - {node}) | needed
            whole = [x for x in more if x.dims == node.dims and x.steps[0] != 0]
            if len(made) > MOST_AGAIN or len(whole) > 1 or not all(map(self._is_there, more)):
                continue
            if len(after) + len(stage.seen) > MOST_OPERANDS:
                continue
            stage.again += made
            known |= {*made}
            reads = after
            self.latest.update(dict.fromkeys(made, k))

    def _is_repeatable(self, node: Node, k: int) -> bool:
        """Whether a loop may compute a value of a loop before, which only loops read."""
        if node.op not in AGAIN or self._escaping(node) or self.stage.get(node, k) >= k:
            return False
        if self._form(node) != "loop":
            return False
        users = self._users.get(node, set())
        if any(self._form(user) != "loop" for user in users):
            return False
        return node.dims == self.stages[k].nodes[0].dims

    def _form(self, node: Node) -> str:
        return self.stages[self.stage[node]].form if node in self.stage else "view"

    def _steps_to(self, node: Node, k: int, known: set[Node]) -> tuple[list[Node], set[Node]]:
        """The nodes that a loop would compute for a value, and the arrays that it would read."""
        made: list[Node] = []
        needed: set[Node] = set()

        def visit(x: Node) -> None:
            if is_scalar(x) or x in known or x in made or len(made) > MOST_AGAIN:
                return
            if not self._is_repeatable(x, k):
                needed.add(x)
                return
            for source in x.inputs:
                visit(source)
            made.append(x)

        visit(node)
        return made, needed

    def _is_there(self, x: Node) -> bool:
        """Whether a value is in memory anyway."""
        root = self.roots.get(x, x)
        return root not in self.stage or self._escaping(root) or self._is_read(root)

    def _is_read(self, node: Node) -> bool:
        """Whether a value is read from memory by another part of the group."""
        if self.stages[self.stage[node]].form != "loop":
            return True
        for k, stage in enumerate(self.stages):
            own = {node} if k == self.stage[node] or node in stage.again else set()
            for user in (*stage.again, *stage.nodes):
                if any(x not in own and self.roots.get(x, x) is node for x in user.inputs):
                    return True
        return False

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
            return Fused(self, stage.nodes, by_rows, stage.again).step()
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

    def __init__(
        self, group: Memory, nodes: Sequence[Node], by_rows: bool, again: Sequence[Node] = ()
    ) -> None:
        self.group, self.nodes, self.by_rows, self.again = group, nodes, by_rows, again
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
        for node in (*self.again, *self.nodes):
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
