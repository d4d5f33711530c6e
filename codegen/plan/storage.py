"""Where each value of a graph lives.

Results the caller may keep (outputs, and what host calls receive) get fresh memory; saved values
live in the kept arena, everything else in the scratch arena. What cannot be computed into a given
buffer lies where the call that computes it puts it. An elementwise result or an update takes the
memory of an input that nothing reads afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chainwright.ir import Graph, Node
from chainwright.ir.alias import roots_of
from chainwright.ir.op import OPS

FRESH, KEPT, SCRATCH, OWN = "fresh", "kept", "scratch", "own"
OURS = frozenset({"elementwise", "reduction", "scan", "creation", "update", "product", "shape"})


class Region(Protocol):
    """Nodes that run together, a part of their rows at a time.

    ``local`` are the values that nothing outside reads: only the part, of ``shape(node)``, exists.
    """

    @property
    def group(self) -> tuple[Node, ...]: ...

    @property
    def local(self) -> frozenset[Node]: ...

    def shape(self, node: Node) -> tuple[int, ...]: ...


@dataclass(slots=True)
class Storage:
    """The plan: ``block`` maps each value to the first value in its memory.

    ``handed`` is what host calls receive: they may keep it, so that it is never overwritten.
    """

    roots: dict[Node, Node]
    last: dict[Node, int]
    tiles: Mapping[Node, Region]
    handed: frozenset[Node]
    block: dict[Node, Node] = field(default_factory=dict)
    reused: dict[Node, Node] = field(default_factory=dict)
    place: dict[Node, str] = field(default_factory=dict)

    def root(self, node: Node) -> Node:
        return self.roots.get(node, node)

    def block_of(self, node: Node) -> Node:
        root = self.root(node)
        return self.block.get(root, root)

    def is_local(self, node: Node) -> bool:
        """Whether only a tile of the value exists at a time."""
        return node in self.tiles and node in self.tiles[node].local

    def place_of(self, node: Node) -> str | None:
        """The kind of memory of a computed value; None for inputs and constants."""
        return self.place.get(self.block_of(node))


def plan_storage(
    graph: Graph,
    saved_count: int,
    tiles: Mapping[Node, Region],
    fills: Callable[[Node], bool],
    reuses: Callable[[Node, Node], bool] = lambda node, taken: True,
) -> Storage:
    """Decide for every value of a graph where it lives.

    ``fills`` says of which nodes the result is computed into a given buffer, ``reuses`` whether a
    node may take over the memory of an input.
    """
    roots = roots_of(graph.nodes)
    plan = Storage(roots, _last_uses(graph, roots), tiles, _handed(graph, roots))
    for k, node in enumerate(graph.nodes):
        if plan.root(node) is not node:
            continue
        target = _reusable(node, k, plan)
        if target is not None and not reuses(node, target):
            target = None
        if target is not None:
            plan.reused[node] = target
        plan.block[node] = node if target is None else plan.block[plan.root(target)]
    _place(graph, plan, len(graph.outputs) - saved_count, fills)
    return plan


def _last_uses(graph: Graph, roots: dict[Node, Node]) -> dict[Node, int]:
    """The last line that reads the memory of a value; outputs are read after all lines."""
    last: dict[Node, int] = {}
    for k, node in enumerate(graph.nodes):
        last.setdefault(node, k)
        for source in node.inputs:
            last[roots.get(source, source)] = k
    last.update((roots.get(node, node), len(graph.nodes)) for node in graph.outputs)
    return last


def _handed(graph: Graph, roots: dict[Node, Node]) -> frozenset[Node]:
    hosts = (node for node in graph.nodes if node.op == "host")
    return frozenset(roots.get(source, source) for node in hosts for source in node.inputs)


def _reusable(node: Node, k: int, plan: Storage) -> Node | None:
    """The input whose memory the result takes over."""
    row = OPS[node.op]
    if row.kind == "update":
        return node.inputs[0] if _ends_here(node.inputs[0], node, k, plan) else None
    if not row.in_place:
        return None
    fitting = (x for x in node.inputs if _fits(x, node) and _ends_here(x, node, k, plan))
    return next((x for x in fitting if _tile_allows(x, node, plan)), None)


def _tile_allows(x: Node, node: Node, plan: Storage) -> bool:
    """Tiles may repeat rows, so that inside them only what is local can be overwritten."""
    return node not in plan.tiles or plan.is_local(x) and plan.is_local(node)


def _fits(x: Node, node: Node) -> bool:
    same = (x.shape, x.dtype, x.strides) == (node.shape, node.dtype, node.strides)
    return same and node.size > 1 and node.dtype is not None and node.dtype.kind in "biuf"


def _ends_here(x: Node, node: Node, k: int, plan: Storage) -> bool:
    """Whether this node is the last to read an array that the program itself made."""
    if x.is_leaf or plan.root(x) is not x or plan.last[x] != k or x in plan.handed:
        return False
    if OPS[x.op].kind not in OURS or x.op == "pick":
        return False
    return all(other is x or plan.root(other) is not x for other in node.inputs) and (
        node.inputs.count(x) == 1 or OPS[node.op].kind == "elementwise"
    )


def _place(graph: Graph, plan: Storage, fresh_count: int, fills: Callable[[Node], bool]) -> None:
    fresh = {plan.block_of(node) for node in (*graph.outputs[:fresh_count], *plan.handed)}
    saved = {plan.block_of(node) for node in graph.outputs[fresh_count:]}
    for node in plan.block.values():
        if node in fresh:
            plan.place[node] = FRESH
        elif not fills(node):
            plan.place[node] = OWN
        else:
            plan.place[node] = KEPT if node in saved else SCRATCH


def can_fill(node: Node) -> bool:
    """Whether the result can be computed into a buffer of ours."""
    row = OPS[node.op]
    if node.dtype is None or node.dtype.hasobject or node.shape is None:
        return False
    return row.kind == "update" or row.has_out and not goes_round(node)


def goes_round(node: Node) -> bool:
    """Whether NumPy before 2.2 adds in another order if it gets a buffer."""
    return OPS[node.op].kind == "reduction" and min(node.inputs[0].steps, default=0) < 0


def blocks(plan: Storage, where: str) -> list[Node]:
    """The first values of all blocks of one kind, in order."""
    return [node for node, place in plan.place.items() if place == where]


def lifetime(plan: Storage, nodes: Sequence[Node]) -> dict[Node, tuple[int, int]]:
    """For each block, its first and last line; what tiles read or fill lives as long as they do."""
    lines = tile_lines(plan, nodes)
    spans: dict[Node, tuple[int, int]] = {}
    for k, node in enumerate(nodes):
        if node not in plan.block:
            continue
        block, last = plan.block[node], plan.last.get(node, k)
        start, stop = spans.get(block, (k, k))
        if not plan.is_local(node):
            start, last = lines.get(start, (start, start))[0], lines.get(last, (last, last))[1]
        spans[block] = start, max(stop, last)
    return spans


def tile_lines(plan: Storage, nodes: Sequence[Node]) -> dict[int, tuple[int, int]]:
    """For each line inside tiles, the first and last line of these."""
    place = {node: k for k, node in enumerate(nodes)}
    found: dict[int, tuple[int, int]] = {}
    for node, tile in plan.tiles.items():
        found[place[node]] = place[tile.group[0]], place[tile.group[-1]]
    return found
