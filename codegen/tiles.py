"""Row tiles: a fused group runs over a few rows at a time, so that these stay in the cache."""

from __future__ import annotations

from dataclasses import dataclass

from chainwright.ir import Graph, Node
from chainwright.ir.alias import roots_of, viewed
from chainwright.ir.fusion import by_rows

TILE_BYTES = 1 << 17
WORTHWHILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A group that runs in tiles of ``height`` rows.

    ``local`` are the values that nothing outside the group reads: only a tile of them exists.
    """

    group: tuple[Node, ...]
    rows: int
    height: int
    local: frozenset[Node]

    @property
    def starts(self) -> str:
        """Python text of the first rows; the last tile may repeat rows of the one before."""
        whole = f"range(0, {self.rows}, {self.height})"
        if self.rows % self.height == 0:
            return whole
        last = self.rows - self.height
        return f"(*range(0, {last}, {self.height}), {last})"


def tiles_of(graph: Graph) -> dict[Node, Tile]:
    """For each node of a group that is worth it, its tile."""
    found: dict[Node, Tile] = {}
    roots = roots_of(graph.nodes)
    escaping = _escaping(graph, roots)
    for group in graph.groups:
        height = _height(group)
        if height:
            local = frozenset(n for n in group if _is_local(n, group, roots, escaping))
            tile = Tile(group, group[0].dims[0], height, local)
            found.update(dict.fromkeys(group, tile))
    return found


def _height(group: tuple[Node, ...]) -> int:
    """How many rows a tile has; 0 where tiles do not pay."""
    values = {*group, *(s for node in group for s in node.inputs if s.shape and by_rows(s, node))}
    rows = group[0].dims[0]
    widest = max(node.nbytes for node in values)
    height = TILE_BYTES * rows // max(widest, 1)
    total = sum(node.nbytes for node in values if viewed(node) is None)
    return height if 2 <= height < rows and total >= WORTHWHILE_BYTES else 0


def _escaping(graph: Graph, roots: dict[Node, Node]) -> set[Node]:
    """Values whose memory is read outside the group that computes them."""
    member = {node: k for k, group in enumerate(graph.groups) for node in group}
    found = {roots.get(node, node) for node in graph.outputs}
    for node in graph.nodes:
        for source in (*node.inputs, node):
            root = roots.get(source, source)
            if member.get(root) != member.get(node):
                found.add(root)
    return found


def _is_local(
    node: Node, group: tuple[Node, ...], roots: dict[Node, Node], escaping: set[Node]
) -> bool:
    return roots[node] in group and roots[node] not in escaping
