"""An execution order: data flow, effects in their order, reads before writes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from .alias import roots_of
from .graph import is_effect
from .node import Node


def ordering_edges(nodes: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Pairs (earlier, later) that data flow does not say: between effects, reads before writes."""
    effects = [node for node in nodes if is_effect(node)]
    edges = list(zip(effects, effects[1:], strict=False))
    writes = {node.inputs[0]: node for node in nodes if node.op == "write"}
    if not writes:
        return edges
    roots = roots_of(nodes)
    for node in nodes:
        for source in node.inputs:
            write = writes.get(roots.get(source, source))
            if write is not None and node is not write:
                edges.append((node, write))
    return edges


def schedule(nodes: Sequence[Node], units: Mapping[Node, object] | None = None) -> list[Node]:
    """Nodes in a valid order that stays close to the given one.

    ``units`` maps nodes that must come as neighbours to a common key.
    """
    units = units or {}
    unit = {node: units.get(node, node) for node in nodes}
    members: dict[object, list[Node]] = {}
    for node in nodes:
        members.setdefault(unit[node], []).append(node)
    after: dict[object, set[object]] = {key: set() for key in members}
    for earlier, later in [*_data_edges(nodes, unit), *ordering_edges(nodes)]:
        if unit[earlier] is not unit[later]:
            after[unit[earlier]].add(unit[later])
    return [node for key in _sorted(list(members), after) for node in members[key]]


def _data_edges(nodes: Iterable[Node], known: Mapping[Node, object]) -> list[tuple[Node, Node]]:
    return [(source, node) for node in nodes for source in node.inputs if source in known]


def _sorted(keys: list[object], after: Mapping[object, set[object]]) -> list[object]:
    """Kahn's algorithm; among the units that are ready, the one first met goes first."""
    place = {key: k for k, key in enumerate(keys)}
    waiting = dict.fromkeys(keys, 0)
    for later in after.values():
        for key in later:
            waiting[key] += 1
    ready = [place[key] for key in keys if not waiting[key]]
    result: list[object] = []
    while ready:
        key = keys[heapq.heappop(ready)]
        result.append(key)
        for later in after[key]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, place[later])
    if len(result) < len(keys):
        raise AssertionError("the units to schedule depend on each other in a circle")
    return result
