"""Groups what one kernel can compute row by row.

Elementwise ops and reductions within rows that share their number of rows form a group, as long
as nothing outside lies between them. Values keep their rows: row k of every member needs row k of
its inputs only (and inputs that are the same for all rows).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from .alias import viewed
from .graph import Graph, users_of
from .layout import is_contiguous
from .node import Node
from .op import OPS
from .schedule import ordering_edges, schedule

NUMBERS = frozenset("biuf")
# Of a sum, as terms that are kept for a group.
_MOST_TERMS, _MOST_BYTES = 4, 1 << 22


class Rows:
    """What may be one group: nodes that are computed row by row."""

    def has(self, node: Node) -> bool:
        """Whether a node can be a member."""
        return has_rows(node)

    def joins(self, source: Node, node: Node) -> bool:
        """Whether a member may read another one of its group."""
        return by_rows(source, node) and source.dims[0] == node.dims[0]

    def shared(self, source: Node, node: Node) -> Hashable | None:
        """Equal for nodes that had better be one group since they read the same value."""
        rows = node.dims[0]
        return rows if by_rows(source, node) and source.size > rows else None


def fuse(
    graph: Graph, takes: Callable[[Node], bool] | None = None, kin: Rows | None = None
) -> Graph:
    """Find the groups and bring the nodes of each together.

    ``takes`` says which nodes may be part of one, of those that have rows (or are ``kin``).
    """
    if graph.groups:
        return graph
    kin = kin or Rows()
    rows = {node for node in graph.nodes if kin.has(node) and (takes is None or takes(node))}
    rows -= _long_sums(graph, rows)
    groups = _groups(graph, _levels(graph, rows, kin), kin)
    if not groups:
        return graph
    units = {node: k for k, group in enumerate(groups) for node in group}
    nodes = tuple(schedule(graph.nodes, units))
    place = {node: k for k, node in enumerate(nodes)}
    ordered = sorted(groups, key=lambda group: place[group[0]])
    return Graph(graph.inputs, nodes, graph.outputs, graph.name, tuple(ordered))


def _long_sums(graph: Graph, rows: set[Node]) -> set[Node]:
    """Additions of many large values that are no rows: a group would keep all of these.

    The gradients of a matrix that is used in every step of a recurrent network are such a sum.
    """
    users, kept = users_of(graph), {*graph.outputs}
    chains: dict[Node, list[Node]] = {}  # the additions of a sum, by the last one so far
    long: set[Node] = set()
    for node in graph.nodes:
        if node.op != "add" or node not in rows:
            continue
        sums = [x for x in node.inputs if x in chains and len(users[x]) == 1 and x not in kept]
        terms = [x for x in node.inputs if x not in rows and _is_made(x, node.nbytes)]
        if not terms:
            continue
        chain = chains[node] = chains.pop(sums[0]) if sums else []
        chain.append(node)
        if len(chain) >= _MOST_TERMS and len(chain) * node.nbytes >= _MOST_BYTES:
            long.update(chain)
    return long


def _is_made(node: Node, nbytes: int) -> bool:
    """Whether a value is computed, into so many bytes of its own."""
    return bool(node.inputs) and viewed(node) is None and node.nbytes == nbytes


def has_rows(node: Node) -> bool:
    """Whether a node can be computed row by row into memory of ours."""
    if not node.shape or node.shape[0] < 2 or node.dtype is None or node.dtype.kind not in NUMBERS:
        return False
    if viewed(node) is not None:
        return _is_row_view(node)
    if not is_contiguous(node.shape, node.steps, node.dtype.itemsize):
        return False
    row = OPS[node.op]
    if row.kind == "elementwise":
        return row.has_out and all(_is_operand(source, node) for source in node.inputs)
    return row.rows and _reduces_within_rows(node)


def by_rows(source: Node, node: Node) -> bool:
    """Whether row k of a node needs row k of this input (and not the whole of it)."""
    if viewed(node) is not None or OPS[node.op].kind == "reduction":
        return True
    shape, rows = source.dims, node.dims[0]
    return len(shape) == len(node.dims) and shape[0] == rows


def _is_operand(source: Node, node: Node) -> bool:
    if source.op == "literal":
        return True
    return source.dtype is not None and source.dtype.kind in NUMBERS


def _is_row_view(node: Node) -> bool:
    """A view that shows all elements, each row as a row: other shapes of a row."""
    x = node.inputs[0]
    if not x.shape or x.strides is None or node.strides is None or node.op == "pick":
        return False
    same_rows = x.shape[0] == node.dims[0] and x.strides[0] == node.strides[0]
    inner = all(stride >= 0 for stride in node.strides)
    return same_rows and inner and _in_row(node) == _in_row(x) and x.size == node.size


def _in_row(node: Node) -> int:
    """The bytes that one row spans."""
    steps = zip(node.dims[1:], node.steps[1:], strict=True)
    return sum((length - 1) * stride for length, stride in steps)


def _reduces_within_rows(node: Node) -> bool:
    (x,) = node.inputs
    if x.dtype != node.dtype or x.dtype not in (np.float32, np.float64) or not x.shape:
        return False
    axis = node.attr("axis")
    axes = axis if isinstance(axis, tuple) else (axis,)
    inner = axis is not None and all(a % len(x.shape) for a in axes)
    return inner and bool(axes) and is_contiguous(x.shape, x.steps, x.dtype.itemsize)


def _levels(graph: Graph, rows: set[Node], kin: Rows) -> dict[Node, int]:
    """A number for each node: two nodes of one level and rows have nothing foreign between them."""
    level: dict[Node, int] = {}
    before: dict[Node, list[Node]] = {}
    for earlier, later in ordering_edges(graph.nodes):
        before.setdefault(later, []).append(earlier)
    for node in graph.nodes:
        needs = [level[s] + _hop(s, node, rows, kin) for s in node.inputs if s in level]
        needs += [level[s] + 1 for s in before.get(node, ())]
        level[node] = max(needs, default=0)
    return _sink({node: k for node, k in level.items()}, graph, rows, before, kin)


def _hop(source: Node, node: Node, rows: set[Node], kin: Rows) -> int:
    """0 where a node may follow its input in one group, or needs no group before it."""
    if source not in rows:
        return 0
    return 0 if node in rows and kin.joins(source, node) else 1


def _sink(
    level: dict[Node, int],
    graph: Graph,
    rows: set[Node],
    before: dict[Node, list[Node]],
    kin: Rows,
) -> dict[Node, int]:
    """Move nodes with rows down to the level of what uses them, where all of it comes later."""
    users = users_of(graph)
    for later, nodes in before.items():
        for node in nodes:
            users.setdefault(node, []).append(later)
    kept = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in rows and node not in kept and node in users:
            lowest = min(level[user] - _hop(node, user, rows, kin) for user in users[node])
            level[node] = max(level[node], lowest)
    return {node: k for node, k in level.items() if node in rows}


def _groups(graph: Graph, level: dict[Node, int], kin: Rows) -> list[tuple[Node, ...]]:
    """Connected nodes of one level and one number of rows; at least two that compute."""
    leader: dict[Node, Node] = {}
    first: dict[tuple[Node, int, Hashable], Node] = {}
    for node in graph.nodes:
        if node not in level:
            continue
        leader[node] = node
        for source in node.inputs:
            if source in level and level[source] == level[node] and kin.joins(source, node):
                _unite(source, node, leader)
            elif (key := kin.shared(source, node)) is not None:
                _unite(first.setdefault((source, level[node], key), node), node, leader)
    found: dict[Node, list[Node]] = {}
    for node in leader:
        found.setdefault(_leader(node, leader), []).append(node)
    return [tuple(group) for group in found.values() if _count(group) > 1]


def _leader(node: Node, leader: dict[Node, Node]) -> Node:
    while leader[node] is not node:
        leader[node] = leader[leader[node]]
        node = leader[node]
    return node


def _unite(one: Node, other: Node, leader: dict[Node, Node]) -> None:
    leader[_leader(other, leader)] = _leader(one, leader)


def _count(group: Iterable[Node]) -> int:
    return sum(viewed(node) is None for node in group)
