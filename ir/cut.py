"""Cuts the joint graph into a forward and backward programs where the fewest bytes are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .alias import roots_of, viewed
from .graph import Graph, is_effect
from .make import remake
from .node import Node

Nodes = Sequence[Node]


def needed_by(targets: Iterable[Node], nodes: Nodes, given: Iterable[Node] = ()) -> list[Node]:
    """The nodes that compute the targets, going back no further than the given values."""
    known = set(given)
    wanted = set(targets) - known
    for node in reversed(nodes):
        if node in wanted:
            wanted.update(source for source in node.inputs if source not in known)
    return [node for node in nodes if node in wanted]


def primal_nodes(joint: Graph, inputs: Iterable[Node], first: Iterable[Node]) -> set[Node]:
    """Values that the forward program could compute: nothing in them comes from backward."""
    effects, known = set(first), set(inputs)
    for node in joint.nodes:
        if is_effect(node) and node not in effects:
            continue
        if all(source in known or source.op in ("literal", "constant") for source in node.inputs):
            known.add(node)
    return known


def keep_old_state(joint: Graph, forward: Iterable[Node]) -> Graph:
    """Let what runs after forward read copies of the state that forward writes."""
    before = set(forward)
    written = {node.inputs[0] for node in before if node.op == "write"}
    if not written:
        return joint
    roots, old, nodes = roots_of(joint.nodes), dict[Node, Node](), list[Node]()
    for node in joint.nodes:
        if node in before:
            nodes.append(node)
            continue
        for source in node.inputs:
            if source not in old and roots.get(source, source) in written:
                nodes += _snapshot(source, old)
        old[node] = _moved(node, old)
        nodes.append(old[node])
    outputs = tuple(old.get(node, node) for node in joint.outputs)
    return Graph(joint.inputs, tuple(nodes), outputs, joint.name)


def _moved(node: Node, old: dict[Node, Node]) -> Node:
    inputs = tuple(old.get(source, source) for source in node.inputs)
    return node if inputs == node.inputs else remake(node, inputs)


def _snapshot(value: Node, old: dict[Node, Node]) -> list[Node]:
    """A copy of the array that a value looks into, and the same look into the copy."""
    if value in old:
        return []
    base = viewed(value)
    made = [] if base is None else _snapshot(base, old)
    if base is None:
        old[value] = Node(
            "copy", (value,), (), value.shape, value.dtype, value.strides, value.origin
        )
    else:
        old[value] = _moved(value, old)
    return [*made, old[value]]


def saved_values(joint: Graph, primal: set[Node], forward: Nodes, targets: Nodes) -> list[Node]:
    """What forward hands to backward: what it computed and backward reads, views being taken anew."""
    computed, later = set(forward), [node for node in joint.nodes if node not in primal]
    wanted = {source for node in later for source in node.inputs} | set(targets)
    saved: dict[Node, None] = {}
    for node in [*reversed(joint.nodes), *joint.inputs]:
        if node not in wanted or node not in primal:
            continue
        if node.op == "placeholder" or node in computed and viewed(node) is None:
            saved[node] = None
        else:
            wanted.update(node.inputs)
    return [node for node in (*joint.inputs, *joint.nodes) if node in saved]
