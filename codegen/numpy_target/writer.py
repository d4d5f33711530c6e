"""Programs of NumPy calls: readable, and bit for bit what the recorded calls gave.

In: a graph. Out: a :class:`~chainwright.codegen.program.Program`, a Python function with one line
per node, buffers handed in, dead values freed. Nothing is reassociated: each line is the call
that was recorded, at most into a buffer of the same layout.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from chainwright.ir import Graph, Node, make
from chainwright.ir.elementwise import allocated, order_letter
from chainwright.ir.op import OPS
from chainwright.ir.shapes import fresh_text
from chainwright.ir.text import number_nodes, type_text, with_comment

from ..names import Names
from ..plan.arena import Span, View, place
from ..plan.storage import (
    FRESH,
    KEPT,
    OWN,
    SCRATCH,
    Storage,
    blocks,
    can_fill,
    goes_round,
    lifetime,
    plan_storage,
    tile_lines,
)
from ..plan.views import moved, needed_bytes, tile_view, whole
from ..program import Program
from .scalars import hoisted
from .tiles import Tile, tiles_of

LINE_LENGTH = 96
_INDENT: dict[str, Any] = {"initial_indent": "    ", "subsequent_indent": "    "}


def generate(graph: Graph, *, title: str, saved_count: int = 0) -> Program:
    """Write the program of a graph; its last ``saved_count`` outputs are saved values.

    Outputs are arrays of their own, saved values live in the memory of ``Loaded.new_kept``, what
    is in between in that of ``Loaded.new_scratch``; inputs are written by ``write`` nodes only.

    >>> import numpy as np
    >>> from chainwright.ir import Graph, make, placeholder
    >>> x = placeholder("x", (3,), "f4")
    >>> e = make("exp", x)
    >>> y = make("tanh", e)
    >>> program = generate(Graph((x,), (e, y), (y,), "f"), title="an example")
    >>> print(program.source[program.source.index("def"):], end="")
    def f(x, scratch, kept):
        v1 = exp(x)
        tanh(v1, v1)
        return (v1,)
    >>> loaded = program.load()
    >>> loaded.function(np.zeros(3, "f"), loaded.new_scratch(), loaded.new_kept())
    (array([0.7615942, 0.7615942, 0.7615942], dtype=float32),)
    """
    return Writer(with_copies(graph), title, saved_count).program()


def with_copies(graph: Graph) -> Graph:
    """The caller may write to outputs, so that constants among them are copied."""
    copies = {x: make("copy", x, strides=x.strides) for x in graph.outputs if x.op == "constant"}
    if not copies:
        return graph
    outputs = tuple(copies.get(node, node) for node in graph.outputs)
    return replace(graph, nodes=(*graph.nodes, *copies.values()), outputs=outputs)


class MemoryBlock(NamedTuple):
    """A buffer in an arena, the values that lie there, and the first and last node to touch it."""

    names: tuple[str, ...]
    type: str
    offset: int
    nbytes: int
    start: int
    stop: int


def memory_blocks(
    graph: Graph, saved_count: int = 0
) -> dict[str, tuple[int, int, list[MemoryBlock]]]:
    """The plan of each arena of a program: its size, the number of nodes, and its buffers."""
    writer = Writer(with_copies(graph), "", saved_count)
    times, nodes = lifetime(writer.plan, writer.graph.nodes), writer.graph.nodes
    names: dict[Node, list[str]] = {}
    for node in nodes:
        names.setdefault(writer.plan.block_of(node), []).append(writer.numbers[node])
    found = {}
    for where, (offsets, size) in writer.arenas.items():
        blocks = [
            MemoryBlock(
                tuple(names[node]), type_text(node), offset, needed_bytes(node, writer.plan),
                times[node][0], len(nodes) - 1 if where == KEPT else times[node][1],
            )
            for node, offset in offsets.items()
        ]  # fmt: skip
        found[where] = size, len(nodes), blocks
    return found


class Writer:
    """Writes one program: the plan first, then the lines in the order of the nodes."""

    made_names: type[Names] = Names

    def __init__(self, graph: Graph, title: str, saved_count: int) -> None:
        self.graph, self.title, self.names = graph, title, self.made_names()
        self.function = self.names.new(graph.name)
        self.parameters = [self.names.new(node.attr("name")) for node in graph.inputs]
        self.text: dict[Node, str] = dict(zip(graph.inputs, self.parameters, strict=True))
        self.tiles: dict[Node, Tile] = {}
        self.plan = self._plan(saved_count)
        self.numbers = number_nodes(graph)
        self.arenas = {where: self._arena(where) for where in (SCRATCH, KEPT)}
        self.entries: dict[str, dict[str, View]] = {SCRATCH: {}, KEPT: {}}
        self.located: dict[Node, View] = {}
        self.frees = _frees(graph, self.plan)
        self.freed = {node for nodes in self.frees.values() for node in nodes}
        self.body: list[str] = []

    def _plan(self, saved_count: int) -> Storage:
        self.tiles = tiles_of(self.graph)
        return plan_storage(self.graph, saved_count, self.tiles, _fills(self.tiles))

    def program(self) -> Program:
        for k, node in enumerate(self.graph.nodes):
            tile = self.tiles.get(node)
            if tile is None:
                self._write(node)
            elif node is tile.group[0]:
                self._write_tiles(tile)
            self._free(self.frees.get(k, ()))
        return Program(**self._facts())

    def _facts(self) -> dict[str, Any]:
        """What stands in the program, once its lines are written."""
        unpack = [line for where in (SCRATCH, KEPT) for line in self._unpack(where)]
        sizes = {where: size for where, (_, size) in self.arenas.items()}
        source = self._render(
            title=self.title,
            summary=self._summary(sizes),
            header=self.names.header,
            signature=_wrapped(f"def {self.function}(", [*self.parameters, SCRATCH, KEPT], "):"),
            body=[*unpack, *self.body, *self._result_lines()],
        )
        return {
            "source": source,
            "constants": self.names.constants,
            "name": self.function,
            "title": self.title,
            "scratch_bytes": sizes[SCRATCH],
            "kept_bytes": sizes[KEPT],
            "intermediate_bytes": sum(node.nbytes for node in self.plan.block),
            "scratch": tuple(self.entries[SCRATCH].values()),
            "kept": tuple(self.entries[KEPT].values()),
        }

    def _render(
        self,
        *,
        title: str,
        summary: list[str],
        header: list[str],
        signature: list[str],
        body: list[str],
    ) -> str:
        """The text of the program.

        Without a template: to compile one would take longer than to write most programs.
        """
        head = [f'"""{title}', "", *summary, '"""', "import numpy as np", "", *header, "", ""]
        lines = [*head, *signature, *[f"    {line}" for line in body]]
        return "\n".join(lines) + "\n"

    def _summary(self, sizes: dict[str, int]) -> list[str]:
        inputs = [
            f"    {name}: {type_text(node)} {node.attr('kind')}"
            for name, node in zip(self.parameters, self.graph.inputs, strict=True)
        ]
        return [*inputs, "", f"Scratch memory: {sizes[SCRATCH]} bytes, kept: {sizes[KEPT]} bytes."]

    # -- memory --------------------------------------------------------------------------------

    def _arena(self, where: str) -> tuple[dict[Node, int], int]:
        times = lifetime(self.plan, self.graph.nodes)
        end = len(self.graph.nodes)
        spans = {
            node: Span(
                needed_bytes(node, self.plan),
                times[node][0],
                end if where == KEPT else times[node][1],
            )
            for node in blocks(self.plan, where)
        }
        return place(spans)

    def _entry(self, node: Node, where: str) -> str:
        """The name of an array in an arena, which the first line of the function unpacks."""
        name = self.names.new(self._value_name(node))
        offset = self.arenas[where][0][self.plan.block_of(node)]
        is_view = self.plan.root(node) is not node
        view = moved(node, self.located[node.inputs[0]]) if is_view else whole(node, offset)
        self.located[node] = view
        self.entries[where][name] = tile_view(node, view, self.plan)
        return name

    def _value_name(self, node: Node) -> str:
        return f"v{self.numbers[node][1:]}"

    def _unpack(self, where: str) -> list[str]:
        names = list(self.entries[where])
        return _wrapped("(", names, f",) = {where}") if names else []

    # -- lines ---------------------------------------------------------------------------------

    def _write(self, node: Node) -> None:
        where, row = self.plan.place_of(node), OPS[node.op]
        if self.plan.root(node) is not node:
            self._view(node)
        elif node in self.plan.reused:
            self._reuse(node)
            self._line(node, self._call(node, self.text[node]))
        elif row.kind == "update":
            self._allocate(node, where)
            pair = f"{self.text[node]}, {self.operand(node.inputs[0])}"
            self._line(node, f"{self.names.numpy('copyto')}({pair})")
            self._line(node, self._call(node, self.text[node]))
        elif where in (SCRATCH, KEPT) or where == FRESH and needs_buffer(node):
            self._allocate(node, where)
            self._line(node, self._call(node, self.text[node]))
        else:
            self._natural(node)

    def _view(self, node: Node) -> None:
        """A view; that of an array in an arena is made once, with the arena."""
        if not (OPS[node.op].view and node.inputs[0] in self.located):
            self._natural(node)
            return
        self.text[node] = self._entry(node, self.plan.place_of(node) or SCRATCH)
        self._line(node, f"# {self.text[node]} = {self._call(node)}")

    def _write_tiles(self, tile: Tile) -> None:
        """A loop over a few rows at a time; what outlives it is allocated before."""
        for node in tile.group:
            if self.plan.root(node) is not node:
                self._view(node)
            elif node in self.plan.reused:
                self._reuse(node)
            else:
                self._allocate(node, self.plan.place_of(node))
        self.body.append(f"for {tile.letters} in {self.names.tiles(tile.slices)}:")
        slices = _Slices(self, tile)
        for node in tile.group:
            if self.plan.root(node) is node:
                slices.write(node)
        # The last ones would keep arrays that are freed soon.
        names = slices.names.items()
        self._delete([name for (node, _), name in names if node in self.freed])

    def _reuse(self, node: Node) -> None:
        taken = self.plan.reused[node]
        self.text[node] = self.text[taken]
        if taken in self.located:
            self.located[node] = self.located[taken]

    def _allocate(self, node: Node, where: str | None) -> None:
        if where in (SCRATCH, KEPT):
            self.text[node] = self._entry(node, where)
            return
        self.text[node] = self.names.new(self._value_name(node))
        self._line(node, f"{self.text[node]} = {self._fresh(node)}")

    def _fresh(self, node: Node) -> str:
        return fresh_text(node, self.names)

    def _natural(self, node: Node) -> None:
        call = self._call(node)
        if node.op == "write":
            self._line(node, call)
            return
        if node.shape == () and node.is_array and not OPS[node.op].view:
            call = f"{self.names.numpy('asarray')}({call})"
        self.text[node] = self.names.new(self._value_name(node))
        self._line(node, f"{self.text[node]} = {call}")

    def _call(self, node: Node, out: str | None = None) -> str:
        return OPS[node.op].text(node, self._arguments(node), self.names, out)

    def _arguments(self, node: Node) -> list[str]:
        return self.arguments(node, self.operand)

    def arguments(self, node: Node, operand: Callable[[Node], str]) -> list[str]:
        """Texts of the inputs, Python scalars as 0-d arrays where that is the same."""
        held = hoisted(node)
        return [
            self.names.scalar(*held[k]) if k in held else operand(x)
            for k, x in enumerate(node.inputs)
        ]

    def operand(self, node: Node) -> str:
        if node.is_leaf and node not in self.text:
            return OPS[node.op].text(node, (), self.names)
        return self.text[node]

    def _result_lines(self) -> list[str]:
        results = [self._result(node) for node in self.graph.outputs]
        return _wrapped("return (", results, ",)") if results else ["return ()"]

    def _result(self, node: Node) -> str:
        """An output; a Python scalar becomes an array."""
        text = self.operand(node)
        return text if node in self.text else f"{self.names.numpy('array')}({text})"

    def _line(self, node: Node, text: str) -> None:
        self.body.append(with_comment(text, node.origin))

    def _free(self, nodes: Sequence[Node]) -> None:
        self._delete([self.text[node] for node in nodes if node in self.text])

    def _delete(self, names: Sequence[str]) -> None:
        if names:
            self.body.append(f"del {', '.join(dict.fromkeys(names))}")


def _wrapped(start: str, items: Sequence[str], end: str) -> list[str]:
    """``start a, b, c end``, on as many lines as it needs."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= LINE_LENGTH:
        return [line]
    return [start, *textwrap.wrap(f"{', '.join(items)},", LINE_LENGTH, **_INDENT), end.lstrip(",")]


class _Slices:
    """The lines inside a loop over tiles: values stand for their part in the tile."""

    def __init__(self, writer: Writer, tile: Tile) -> None:
        self.writer, self.tile = writer, tile
        self.names: dict[tuple[Node, str], str] = {}

    def write(self, node: Node) -> None:
        args = self.writer.arguments(node, lambda source: self._part(source, node))
        text = OPS[node.op].text(node, args, self.writer.names, self._part(node, node))
        self.writer.body.append(with_comment(f"    {text}", node.origin))

    def _part(self, source: Node, node: Node) -> str:
        whole, index = self.writer.operand(source), self.tile.index(source, node)
        if not index:
            return whole
        if (source, index) not in self.names:
            name = self.writer.names.new(f"{whole}_{''.join(filter(str.isalpha, index))}")
            self.names[source, index] = name
            self.writer.body.append(f"    {name} = {whole}{index}")
        return self.names[source, index]


def _fills(tiles: Mapping[Node, Tile]) -> Callable[[Node], bool]:
    """Whether a result is computed into a given buffer: a ``where`` into one is two calls."""
    return lambda node: can_fill(node) and (node.op != "where" or node in tiles)


def needs_buffer(node: Node) -> bool:
    """Whether NumPy's own allocation would give something else than the recorded array."""
    row = OPS[node.op]
    if not row.has_out or node.dtype is None or node.dtype.hasobject or goes_round(node):
        return False
    if node.op in ("cast", "copy"):
        return order_letter(node) is None
    natural = row.kind != "elementwise" or node.strides == allocated(
        node.inputs, {}, node.dims, node.dtype
    )
    return node.shape == () or not natural


def _frees(graph: Graph, plan: Storage) -> dict[int, list[Node]]:
    """For each line, the values in memory of their own that nothing reads after it."""
    lines = tile_lines(plan, graph.nodes)
    end: dict[Node, int] = {}
    for node in graph.nodes:
        block = plan.block_of(node)
        end[block] = max(end.get(block, 0), plan.last.get(plan.root(node), 0))
    found: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if plan.place_of(node) not in (FRESH, OWN) or node.op == "write":
            continue
        line = end[plan.block_of(node)]
        if line < len(graph.nodes):
            found.setdefault(lines.get(line, (line, line))[1], []).append(node)
    return found
