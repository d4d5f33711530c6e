"""Tiles: a fused group runs over a part of its rows at a time, so that this stays in the cache.

A tile is a run of rows; where one row alone is too large, a run along the second axis of one row.
Each element is computed by the same NumPy call on the same neighbours within its row, so that
values do not change. (Only the sign of a NaN made of two NaNs may: NumPy's loops take either.)
"""

from __future__ import annotations

from dataclasses import dataclass

from chainwright.ir import Graph, Node
from chainwright.ir.alias import roots_of, viewed
from chainwright.ir.fusion import by_rows
from chainwright.ir.op import OPS

TILE_BYTES = 1 << 17
WORTHWHILE_BYTES = 1 << 21
LETTERS = "ij"


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A group that runs in tiles of ``lengths`` along its leading axes, which have ``dims``.

    ``local`` are the values that nothing outside the group reads: only a tile of them exists.
    """

    group: tuple[Node, ...]
    dims: tuple[int, ...]
    lengths: tuple[int, ...]
    local: frozenset[Node]

    @property
    def letters(self) -> str:
        """The loop variables, ``i, j``."""
        return ", ".join(LETTERS[: len(self.dims)])

    @property
    def slices(self) -> str:
        """Python text of the list of all tiles."""
        axes = list(zip(LETTERS, self.dims, self.lengths, strict=False))
        cuts = [f"slice({letter}, {letter} + {length})" for letter, _, length in axes]
        loops = [f"for {letter} in {_starts(dim, length)}" for letter, dim, length in axes]
        item = cuts[0] if len(cuts) == 1 else f"({', '.join(cuts)})"
        return f"[{item} {' '.join(loops)}]"

    def shape(self, node: Node) -> tuple[int, ...]:
        """The shape of one tile of a member."""
        return (*self.lengths, *node.dims[len(self.lengths) :])

    def index(self, source: Node, node: Node) -> str:
        """What cuts an input down to the tile of a member, ``[i, j]``; nothing if all is needed."""
        if source.op == "literal" or source in self.local:
            return ""
        aligned = viewed(node) is not None or OPS[node.op].kind == "reduction"
        missing = 0 if aligned else len(node.dims) - len(source.dims)
        cuts = [
            LETTERS[axis] if source.dims[axis - missing] > 1 else ":"
            for axis in range(missing, len(self.dims))
        ]
        while cuts and cuts[-1] == ":":
            cuts.pop()
        return f"[{', '.join(cuts)}]" if cuts else ""


def _starts(dim: int, length: int) -> str:
    """Text of the places where tiles begin; the last may repeat a part of the one before."""
    if dim % length == 0:
        return f"range(0, {dim}, {length})"
    return f"(*range(0, {dim - length}, {length}), {dim - length})"


def tiles_of(graph: Graph) -> dict[Node, Tile]:
    """For each node of a group that is worth it, its tile."""
    found: dict[Node, Tile] = {}
    roots = roots_of(graph.nodes)
    outside = escaping(graph, roots)
    for group in graph.groups:
        lengths = _lengths(group)
        if lengths:
            members = set(group)
            local = (n for n in group if roots[n] in members and roots[n] not in outside)
            tile = Tile(group, group[0].dims[: len(lengths)], lengths, frozenset(local))
            found.update(dict.fromkeys(group, tile))
    return found


def _lengths(group: tuple[Node, ...]) -> tuple[int, ...]:
    """How long tiles are along the leading axes; nothing where tiles do not pay."""
    read = (x for node in group for x in node.inputs if x.shape and by_rows(x, node))
    values = list(dict.fromkeys([*group, *read]))
    if sum(node.nbytes for node in values if viewed(node) is None) < WORTHWHILE_BYTES:
        return ()
    widest = max(values, key=lambda node: node.nbytes)
    rows = _fitting(widest, 1)
    if rows >= 2:
        return (rows,) if rows < widest.dims[0] else ()
    if not all(_splits(node, widest.dims[:2]) for node in group):
        return ()
    parts = _fitting(widest, 2)
    return (1, parts) if 2 <= parts < widest.dims[1] else ()


def _fitting(widest: Node, axes: int) -> int:
    """How many items along the last of the leading axes fit into a tile."""
    items = 1
    for length in widest.dims[:axes]:
        items *= length
    return TILE_BYTES * items // max(widest.nbytes, 1)


def _splits(node: Node, dims: tuple[int, ...]) -> bool:
    """Whether a member can be computed along its second axis as well."""
    if len(dims) < 2 or node.dims[:2] != dims:
        return False
    x = node.inputs[0] if node.inputs else node
    if viewed(node) is not None:
        return x.dims[:2] == dims and x.steps[:2] == node.steps[:2]
    if OPS[node.op].kind == "reduction":
        return x.dims[:2] == dims and 1 not in _reduced(node, len(x.dims))
    return True


def _reduced(node: Node, ndim: int) -> list[int]:
    axis = node.attr("axis")
    return [a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))]


def escaping(graph: Graph, roots: dict[Node, Node]) -> set[Node]:
    """Values whose memory is read outside the group that computes them."""
    member = {node: k for k, group in enumerate(graph.groups) for node in group}
    found = {roots.get(node, node) for node in graph.outputs}
    for node in graph.nodes:
        for source in (*node.inputs, node):
            root = roots.get(source, source)
            if member.get(root) != member.get(node):
                found.add(root)
    return found
