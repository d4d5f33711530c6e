"""Programs with native segments: a Python function around runs of native code.

In: a graph whose groups the native target has made. Each maximal run of nodes with a native form is
one segment: one call with a tuple of arrays. What has no native form is a line of NumPy between
them, so that exceptions pass normally and everything works that works in a NumPy program.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainwright.ir import Graph, Node
from chainwright.ir.alias import roots_of
from chainwright.ir.op import OPS
from chainwright.ir.schedule import ordering_edges

from ..numpy_target.writer import Writer
from ..plan.arena import Span, View, place
from ..plan.storage import FRESH, KEPT, SCRATCH, Storage, blocks, can_fill, plan_storage
from ..plan.views import moved, needed_bytes, whole
from .forms import Forms
from .groups import Group
from .matmul import product_of, product_region
from .moves import move_regions
from .program import Base, Linker, NativeProgram, Segment
from .settle import Located, Settlement
from .steps import LIBRARY, Place, Region, joined, work_of

NATIVE, PYTHON, NEUTRAL = "native", "python", "neutral"
LIGHT, PRODUCT = "light", "product"  # what native code does, in the order of its parts
#: Results of products that wait for others with their matrix take up to one part in so many of what
#: that takes: with all of them in memory at once, a program would take more than define-by-run.
MOST_WAITING = 4


@dataclass(slots=True, eq=False)
class Unit:
    """Nodes that stay together: a group, one node, or products with one right matrix."""

    nodes: tuple[Node, ...]
    kind: str
    form: str = ""


@dataclass(slots=True)
class Part:
    """Units that run one after the other: a native segment, or one line of Python."""

    native: bool
    units: list[Unit]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(node for unit in self.units for node in unit.nodes)


def units_of(graph: Graph, forms: Forms) -> list[Unit]:
    """The groups and single nodes of a graph in their order."""
    groups = [group for group in graph.groups if all(map(forms.in_group, group))]
    first = {group[0]: group for group in groups}
    grouped = {node for group in groups for node in group}
    units = []
    for node in graph.nodes:
        if node in first:
            units.append(Unit(first[node], NATIVE, "group"))
        elif node not in grouped:
            form = forms.of(node)
            kind = PYTHON if form is None else NEUTRAL if form == "view" else NATIVE
            units.append(Unit((node,), kind, form or ""))
    return units


def _place_of(unit: Unit) -> str:
    """Which of the units that are ready a unit is put with."""
    if unit.kind == PYTHON:
        return PYTHON
    node = unit.nodes[0]
    return PRODUCT if node.op in LIBRARY and OPS[node.op].kind == "product" else LIGHT


def parts_of(graph: Graph, forms: Forms) -> list[Part]:
    """An order in which as much native code as possible stands together.

    Products with few rows wait until nothing else is ready: so those of one matrix, which takes
    the time to read, are one unit. If more of them will come, they wait for these as long as there
    are other products; that one comes first on which most products wait, one after the other.
    Writes to arrays of the user come last: whatever raises before has written nothing.
    """
    units = units_of(graph, forms)
    home = {node: k for k, unit in enumerate(units) for node in unit.nodes}
    after: list[set[int]] = [set() for _ in units]
    waiting = [0] * len(units)
    data = ((x, node) for node in graph.nodes for x in node.inputs if x in home)
    for earlier, later in (*data, *ordering_edges(graph.nodes)):
        one, other = home[earlier], home[later]
        if one != other and other not in after[one]:
            after[one].add(other)
            waiting[other] += 1
    ready: dict[str, list[int]] = {LIGHT: [], PYTHON: []}
    products = _Products(graph, units, after, waiting)
    writes: list[int] = []

    def is_ready(k: int) -> None:
        kind = _place_of(units[k])
        if units[k].nodes[0].op == "write":
            writes.append(k)
            passed(k)  # nothing but other writes comes behind one
        elif kind == PRODUCT:
            products.add(k)
        else:
            heapq.heappush(ready[kind], k)

    def passed(k: int) -> None:
        for later in after[k]:
            waiting[later] -= 1
            if not waiting[later]:
                is_ready(later)

    def taken(kind: str) -> Iterator[Unit]:
        while ready[kind]:
            k = heapq.heappop(ready[kind])
            yield units[k]
            passed(k)

    for k in [k for k, count in enumerate(waiting) if not count]:
        is_ready(k)
    parts: list[Part] = []
    while any(ready.values()) or products:
        found: list[Unit] = []
        while ready[LIGHT] or products:
            found += taken(LIGHT)
            for some in products.taken():
                nodes = tuple(node for k in some for node in units[k].nodes)
                found.append(replace(units[some[0]], nodes=nodes))
                for k in some:
                    passed(k)
        if found:
            parts.append(Part(any(u.kind == NATIVE for u in found), found))
        parts += [Part(False, [unit]) for unit in taken(PYTHON)]
    for unit in [units[k] for k in writes]:
        native = unit.kind == NATIVE
        if not (native and parts and parts[-1].native):
            parts.append(Part(native, []))
        parts[-1].units.append(unit)
    return _late_memory(parts)


def _late_memory(parts: list[Part]) -> list[Part]:
    """Arrays that are computed from nothing come right before their first reader.

    They are ready from the beginning on. Taken then, each of the memories that convolutions work in
    would have its own place in the arena, and so would each border of a pooling; so one is used
    after the other.
    """
    early = dict[Node, Unit]()
    for part in parts:
        for unit in part.units if part.native else ():
            node = unit.nodes[0]
            row, made_of = OPS[node.op], [x for x in node.inputs if x not in early]
            if len(unit.nodes) == 1 and row.kind in ("creation", "update"):
                if all(x.op == "literal" for x in made_of):
                    early[node] = unit

    def needed(unit: Unit) -> Iterator[Unit]:
        for x in [x for node in unit.nodes for x in node.inputs]:
            if x in early:
                made = early.pop(x)
                yield from needed(made)
                yield made

    found: list[Part] = []
    for part in parts:
        units: list[Unit] = []
        for unit in part.units:
            if unit.nodes[0] not in early:
                before = [*needed(unit)]
                if part.native:
                    units += before
                elif before and (last := next((p for p in reversed(found) if p.native), None)):
                    last.units += before
                elif before:
                    found.append(Part(True, before))
                units.append(unit)
        if units:
            found.append(Part(part.native, units))
    left: list[Unit] = []  # nothing reads these: they are results
    while early:
        unit = early.pop(next(iter(early)))
        left += [*needed(unit), unit]
    return [*found, Part(True, left)] if left else found


class _Products:
    """Products with few rows that are ready, by what those with one right matrix share."""

    def __init__(
        self, graph: Graph, units: list[Unit], after: list[set[int]], waiting: list[int]
    ) -> None:
        self._roots, self._nodes = roots_of(graph.nodes), [unit.nodes[0] for unit in units]
        self._kin: dict[int, Hashable] = {}
        self._coming: Counter[Hashable] = Counter()
        self._ready: dict[Hashable, list[int]] = {}
        for k, unit in enumerate(units):
            if _place_of(unit) == PRODUCT:
                self._kin[k] = self._shared(unit.nodes[0])
                self._coming[self._kin[k]] += 1
        self._chain = self._chains(after, waiting)

    def __bool__(self) -> bool:
        return bool(self._ready)

    def add(self, k: int) -> None:
        kin = self._kin[k]
        self._coming[kin] -= 1
        self._ready.setdefault(kin, []).append(k)

    def taken(self) -> list[list[int]]:
        """Those that wait for nothing; else those of the matrix on which most depends."""
        found = [kin for kin, some in self._ready.items() if self._is_enough(kin, some)]
        if not found and self._ready:
            found = [min(self._ready, key=lambda kin: min(map(self._place, self._ready[kin])))]
        return sorted(sorted(self._ready.pop(kin)) for kin in found)

    def _is_enough(self, kin: Hashable, some: list[int]) -> bool:
        """Whether the last is there, or the results are as large as a part of the matrix."""
        node = self._nodes[some[0]]
        many = len(some) * node.nbytes * MOST_WAITING >= node.inputs[1].nbytes
        return many or not self._coming[kin]

    def _place(self, k: int) -> tuple[int, int]:
        return -self._chain[k], k

    def _shared(self, node: Node) -> Hashable:
        a, b = node.inputs
        layouts = [(x.dims, x.steps, x.dtype) for x in (a, b, node)]
        return node.op, self._roots.get(b, b), *layouts

    def _chains(self, after: list[set[int]], waiting: list[int]) -> list[int]:
        """How many products, at most, follow one after the other once a unit is done."""
        order, missing = [k for k, count in enumerate(waiting) if not count], [*waiting]
        for k in order:  # which grows
            for later in after[k]:
                missing[later] -= 1
                if not missing[later]:
                    order.append(later)
        chain = [0] * len(after)
        for k in reversed(order):
            chain[k] = max((chain[j] + (j in self._kin) for j in after[k]), default=0)
        return chain


class NativeWriter(Writer):
    """Writes one program; see the module's text."""

    def __init__(
        self, graph: Graph, title: str, saved_count: int, forms: Forms, linker: Linker
    ) -> None:
        self.forms, self.linker = forms, linker
        self.needed = dict[str, list[int]]()  # by arena: the bytes of its blocks
        self._room: dict[str, list[int]] | None = None  # the same, if they are to have more
        self.parts = parts_of(graph, forms)
        nodes = tuple(node for part in self.parts for node in part.nodes)
        graph = replace(graph, nodes=nodes)
        self.roots = roots_of(nodes)
        self.given_out = {self.roots.get(node, node) for node in graph.outputs}
        self.readers: dict[Node, set[Node]] = {}
        for node in nodes:
            for x in node.inputs:
                self.readers.setdefault(self.roots.get(x, x), set()).add(node)
        self.groups = self._groups(graph)
        self.segments: dict[str, Segment] = {}
        self.part_of = {node: k for k, part in enumerate(self.parts) for node in part.nodes}
        super().__init__(graph, title, saved_count)
        self._memory: dict[str, str] = {}

    # -- plans ---------------------------------------------------------------------------------

    def _groups(self, graph: Graph) -> dict[Node, Group]:
        """What runs by rows, or alone as a loop, a call or a reduction."""
        outputs, readers = self.given_out, self.readers
        found: dict[Node, Group] = {}
        for part in self.parts:
            for unit in part.units:
                if unit.form in ("group", "loop", "call", "reduce"):
                    members = set(unit.nodes)

                    def escapes(node: Node, members: set[Node] = members) -> bool:
                        return node in outputs or not readers.get(node, set()) <= members

                    group = Group(unit.nodes, self.forms, escapes)
                    found.update(dict.fromkeys(unit.nodes, group))
        return found

    def _plan(self, saved_count: int) -> Storage:
        regions = {node: group for node, group in self.groups.items() if not group.alone}
        return plan_storage(self.graph, saved_count, regions, self._fills, self._reuses)

    def _fills(self, node: Node) -> bool:
        if self._is_native(node):
            return node.op != "write"
        return can_fill(node) and node.op != "where"

    def _is_native(self, node: Node) -> bool:
        return node in self.groups or self.forms.of(node) in ("product", "move")

    def _reuses(self, node: Node, taken: Node) -> bool:
        """In place among the calls of Python, and where an update is the last to read its base."""
        if not self._is_native(node):
            return True
        return OPS[node.op].kind == "update" and self.part_of[node] == self.part_of.get(taken)

    def _arena(self, where: str) -> tuple[dict[Node, int], int]:
        times = self._times()
        found = [node for node in blocks(self.plan, where) if self._has_memory(node)]
        end = max((stop for _, stop in times.values()), default=0)
        spans = {}
        for node in found:
            start, stop = times[node]
            spans[node] = Span(needed_bytes(node, self.plan), start, end if where == KEPT else stop)
        # What a group computes a few rows at a time has room for all of them, as a polynomial.
        self.needed[where] = [max(span.nbytes, node.nbytes) for node, span in spans.items()]
        if self._room is not None:
            spans = {
                node: span._replace(nbytes=room)
                for (node, span), room in zip(spans.items(), self._room[where], strict=True)}
        return place(spans)

    def have(self, room: dict[str, list[int]]) -> None:
        """Let each block of each arena have so many bytes; before anything is written."""
        self._room = room
        self.arenas = {where: self._arena(where) for where in (SCRATCH, KEPT)}

    def _has_memory(self, node: Node) -> bool:
        group = self.groups.get(node)
        return group is None or node in group.stored

    def _times(self) -> dict[Node, tuple[int, int]]:
        """For each block, when it is filled and last read; a stage of a group is one moment."""
        now, moment, span, end = 0, dict[Node, int](), dict[Node, tuple[int, int]](), {}
        reads = dict[Node, int]()
        for k, part in enumerate(self.parts):
            for unit in part.units:
                group = self.groups.get(unit.nodes[0])
                length = len(group.stages) if group is not None else 1
                for node in unit.nodes:
                    stage = group.stage.get(node, 0) if group is not None else 0
                    moment[node], span[node] = now + stage, (now, now + length - 1)
                    reads[node] = now + (group.latest.get(node, 0) if group is not None else 0)
                now += length
            end[k] = now
            now += 1
        found: dict[Node, tuple[int, int]] = {}
        for node in self.graph.nodes:
            root = self.roots[node]
            if root is node and node in self.plan.block:
                local = self.plan.is_local(node)
                self._extend(found, node, *((moment[node],) * 2 if local else span[node]))
            for x in node.inputs:
                source = self.roots.get(x, x)
                if source in self.plan.block:
                    last = reads[node] if self.plan.is_local(source) else span[node][1]
                    if node.op == "write" or self.part_of[source] != self.part_of[node]:
                        last = end[self.part_of[node]]
                    self._extend(found, source, last, last)
        return found

    def _extend(
        self, found: dict[Node, tuple[int, int]], node: Node, start: int, stop: int
    ) -> None:
        block = self.plan.block[node]
        low, high = found.get(block, (start, stop))
        found[block] = min(low, start), max(high, stop)

    # -- lines ---------------------------------------------------------------------------------

    def program(self) -> NativeProgram:
        place_of = {node: k for k, node in enumerate(self.graph.nodes)}
        for part in self.parts:
            if part.native:
                self._segment(part)
            else:
                for unit in part.units:
                    if unit.kind == PYTHON:
                        self._write(unit.nodes[0])
            for node in part.nodes:
                self._free(self.frees.get(place_of[node], ()))
        for node in self.graph.outputs:
            self.operand(node)  # views are named when they are used
        facts = self._facts()
        return NativeProgram(**facts, segments=self.segments, linker=self.linker)

    def operand(self, node: Node) -> str:
        """The name of a value; an array is made of native memory when Python asks for it."""
        if node not in self.text and not node.is_leaf:
            self._name(node)
        return super().operand(node)

    def _name(self, node: Node) -> None:
        where = self.arena_of(node)
        if where:
            self.text[node] = self._entry(node, where)
            return
        self._natural(node)  # a view of an array that has a name

    def base_of(self, node: Node) -> Node:
        """The array that a value is a view of, as far as views are plain moves."""
        while not node.is_leaf and self.forms.of(node) == "view":
            node = node.inputs[0]
        return node

    def arena_of(self, node: Node) -> str | None:
        """The arena that a value lies in, itself or as a plain view; None for other arrays."""
        base = self.base_of(node)
        where = self.plan.place_of(base)
        return where if where in (SCRATCH, KEPT) and self.plan.root(base) is base else None

    def _entry(self, node: Node, where: str) -> str:
        name = self.names.new(self._value_name(node))
        self.entries[where][name] = self._located(node)
        return name

    def _located(self, node: Node) -> View:
        """Where a value of an arena lies."""
        if node not in self.located:
            if self.plan.root(node) is node:
                offsets = self.arenas[self.plan.place_of(node) or SCRATCH][0]
                self.located[node] = whole(node, offsets[self.plan.block_of(node)])
            else:
                self.located[node] = moved(node, self._located(node.inputs[0]))
        return self.located[node]

    def memory(self, where: str) -> str:
        """The name of all the memory of an arena."""
        if where not in self._memory:
            name = self._memory[where] = self.names.new(f"{where}_memory")
            size = self.arenas[where][1]
            self.entries[where][name] = View(0, (size,), np.dtype(np.uint8), (1,))
        return self._memory[where]

    def _reuse(self, node: Node) -> None:
        taken = self.plan.reused[node]
        self.text[node] = self.operand(taken)
        if taken in self.located:
            self.located[node] = self.located[taken]

    def _view(self, node: Node) -> None:
        if self.forms.of(node) == "view":
            return  # named when it is used
        self._natural(node)

    # -- segments ------------------------------------------------------------------------------

    def _segment(self, part: Part) -> None:
        regions: list[Region] = []
        commits: list[Region] = []
        for unit in part.units:
            for node in unit.nodes:
                if self.plan.root(node) is node and self._is_native(node) and node.op != "write":
                    self._make_room(node)
            if unit.kind == NATIVE:
                target = commits if unit.nodes[0].op == "write" else regions
                target += self._regions(unit)
        if not regions and not commits:
            return
        _SegmentWriter(self, part, regions, commits).write()

    def _make_room(self, node: Node) -> None:
        if node in self.plan.reused:
            self._reuse_native(node)
        elif self.plan.place_of(node) == FRESH and self._has_memory(node):
            self._allocate(node, FRESH)

    def _reuse_native(self, node: Node) -> None:
        taken = self.plan.reused[node]
        if self.plan.place_of(node) in (SCRATCH, KEPT):
            self.located[node] = self._located(taken)
        else:
            self.text[node] = self.operand(taken)

    def _regions(self, unit: Unit) -> list[Region]:
        node = unit.nodes[0]
        if node in self.groups:
            return self.groups[node].regions()
        if unit.form == "product":
            form = product_of(node)
            assert form is not None
            a, b = node.inputs
            return [product_region(form, (a, b, node), str(node.origin or ""))]
        if node.op in LIBRARY:
            regions = [region for one in unit.nodes for region in self._work(one)]
            return joined(regions) if len(unit.nodes) > 1 else regions
        return move_regions(node, node in self.plan.reused)

    def _work(self, node: Node) -> list[Region]:
        work = work_of(node, self.forms.machine)
        assert work is not None
        return work.regions(node.inputs[len(node.inputs) - len(work.memory) :])


class _SegmentWriter:
    """The line of one segment, and its table."""

    def __init__(
        self, writer: NativeWriter, part: Part, regions: list[Region], commits: list[Region]
    ) -> None:
        self.w, self.part, self.regions, self.commits = writer, part, regions, commits
        self.bases: dict[str, int] = {}
        self.layouts: list[Base] = []

    def write(self) -> None:
        w = self.w
        places = {
            place_: self._resolve(place_)
            for region in (*self.regions, *self.commits)
            for step in region.steps
            for place_ in step.operands
            if not isinstance(place_.value, int)
        }
        settlement = self._settlement()
        name, settle = w.names.new("segment"), w.names.new("settle")
        w.names.constants[settle] = settlement
        w.segments[name] = Segment(self.layouts, self.regions, self.commits, places, settlement)
        w.names.header.append(f"# {name}: native code of {len(self.part.nodes)} nodes, captured")
        w.body.append(f"arrays = ({', '.join([name, *self.bases])},)")
        w.body.append("flags = run(arrays)")
        w.body.append("if flags:")
        w.body.append(f"    {settle}(flags, arrays)")

    def _slot(self, name: str, layout: Any) -> int:
        if name not in self.bases:
            self.bases[name] = len(self.bases) + 1
            self.layouts.append(Base(name, layout))
        return self.bases[name]

    def _resolve(self, place_: Place) -> tuple[int, int]:
        node = place_.value
        assert isinstance(node, Node)
        slot, view = self.find(node)
        return slot, (view.offset if view else 0) + place_.offset

    def find(self, node: Node) -> tuple[int, View | None]:
        """The slot of the array that holds a value, and where in it."""
        w = self.w
        where = w.arena_of(node)
        if where:
            return self._slot(w.memory(where), None), w._located(node)
        base = w.base_of(node)
        assert base.dtype is not None
        slot = self._slot(w.operand(base), (base.dims, base.dtype, base.steps))
        return slot, None if base is node else self._moved(node, base)

    def _moved(self, node: Node, base: Node) -> View:
        if node is base:
            assert base.dtype is not None
            return View(0, base.dims, base.dtype, base.steps)
        return moved(node, self._moved(node.inputs[0], base))

    def _settlement(self) -> Settlement:
        """The segment once more as NumPy calls: on arrays, not on parts of them."""
        w, inside = self.w, set(self.part.nodes)
        nodes: dict[Node, None] = {}
        inputs: dict[Node, Located] = {}

        def reach(x: Node) -> None:
            if x in nodes or x in inputs or x.op in ("literal", "constant"):
                return
            if x not in inside and (x.op == "placeholder" or w.forms.of(x) != "view"):
                inputs[x] = self._located(x)
                return
            for source in x.inputs:
                reach(source)
            nodes[x] = None

        for node in self.part.nodes:
            if w.forms.of(node) is not None:
                reach(node)
        roots = {w.roots[node] for node in self.part.nodes}
        outputs = {
            node: self._located(node)
            for node in self.part.nodes
            if node in roots and node.op != "write" and self._is_seen(node)
        }
        return Settlement(w.title, list(nodes), inputs, outputs)

    def _is_seen(self, node: Node) -> bool:
        """Whether anything outside of the segment reads a value."""
        w = self.w
        if not w._is_native(node) or not w._has_memory(node) or w.plan.is_local(node):
            return False
        parts = {w.part_of[user] for user in w.readers.get(node, ())}
        return node in w.given_out or parts != {w.part_of[node]}

    def _located(self, node: Node) -> Located:
        return Located(*self.find(node))
