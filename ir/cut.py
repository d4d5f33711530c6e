"""Cuts the joint graph into a forward and backward programs where the fewest bytes are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from .alias import roots_of, viewed
from .graph import Graph, is_effect
from .make import make, remake
from .mincut import Network
from .node import Node
from .op import OPS

Nodes = Sequence[Node]

LARGE_BYTES = 1 << 16


def storage_roots(nodes: Iterable[Node], graph: Graph) -> set[Node]:
    """The values whose memory the given nodes show."""
    roots = roots_of(graph.nodes)
    return {roots.get(node, node) for node in nodes}


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
    old, nodes = _Snapshots(roots_of(joint.nodes), written), list[Node]()
    for node in joint.nodes:
        if node not in before:
            nodes += old.of_inputs(node)
            old.new[node] = old.moved(node)
        nodes.append(old.new.get(node, node))
    outputs = tuple(old.new.get(node, node) for node in joint.outputs)
    return Graph(joint.inputs, tuple(nodes), outputs, joint.name)


class _Snapshots:
    """Copies of arrays that will be written, and the same views into the copies."""

    def __init__(self, roots: Mapping[Node, Node], written: set[Node]) -> None:
        self.roots, self.written = roots, written
        self.new: dict[Node, Node] = {}

    def moved(self, node: Node) -> Node:
        inputs = tuple(self.new.get(source, source) for source in node.inputs)
        return node if inputs == node.inputs else remake(node, inputs)

    def of_inputs(self, node: Node) -> list[Node]:
        """The nodes to add so that all inputs of a node show the old state."""
        shown = [x for x in node.inputs if x not in self.new and self._shows(x)]
        return [made for source in shown for made in self._snapshot(source)]

    def _shows(self, value: Node) -> bool:
        """Whether a value looks into what is written (of several results, one may)."""
        if self.roots.get(value, value) in self.written:
            return True
        several = value.shape is None and OPS[value.op].kind == "library"
        return several and any(map(self._shows, value.inputs))

    def _snapshot(self, value: Node) -> list[Node]:
        if value in self.new:
            return []
        if value in self.written:
            self.new[value] = make("copy", value, strides=value.strides, origin=value.origin)
            return [self.new[value]]
        made = self.of_inputs(value)
        self.new[value] = self.moved(value)
        return [*made, self.new[value]]


def saved_values(joint: Graph, primal: set[Node], forward: Nodes, targets: Nodes) -> list[Node]:
    """What forward hands to backward: the cheapest set from which all that backward reads follows.

    Arrays the caller holds anyway (inputs, outputs) cost next to nothing. Views are always taken
    anew; large values of cheap ops may be computed again, small ones are kept as they are read.
    A step done again is charged one byte for each element, about the time that a byte takes to
    be stored and read, so that four steps are not repeated to spare one float32.
    """
    later = [node for node in joint.nodes if node not in primal]
    wanted = {source for node in later for source in node.inputs} | set(targets)
    choice = _Choice(joint, set(forward))
    reached = choice.reach([node for node in _values(joint) if node in primal and node in wanted])
    if any(node.nbytes >= LARGE_BYTES and choice.is_open(node) for node in reached):
        kept = _minimum_cut(reached, wanted, choice)
    else:
        kept = {node for node in reached if not choice.is_open(node)}
    return [node for node in _values(joint) if node in kept]


def _values(joint: Graph) -> tuple[Node, ...]:
    return (*joint.inputs, *joint.nodes)


class _Choice:
    """What may be kept at which cost, and what may be computed again."""

    def __init__(self, joint: Graph, forward: set[Node]) -> None:
        self.forward = forward
        self.held = {*joint.inputs, *storage_roots(joint.outputs, joint)}
        self.written = {node.inputs[0] for node in joint.nodes if node.op == "write"}
        self.roots = roots_of(joint.nodes)

    def is_open(self, node: Node) -> bool:
        """Whether backward may take the value from its inputs instead of from forward."""
        if node.op == "placeholder" or any(self._changes(source) for source in node.inputs):
            return False
        if node.op == "pick":
            return node.inputs[0] not in self.forward
        if node not in self.forward or viewed(node) is not None and not _is_call(node):
            return True
        return OPS[node.op].cheap and node.nbytes >= LARGE_BYTES

    def _changes(self, node: Node) -> bool:
        return self.roots.get(node, node) in self.written

    def cost(self, node: Node) -> int | None:
        """The bytes that keeping a value takes; None where it is not to be kept."""
        if node.shape is None and node.dtype is None:
            return None
        if viewed(node) is not None and not _is_call(node):
            return None
        if node in self.held:
            return 1
        small = node.nbytes < LARGE_BYTES
        return None if small and self.is_open(node) else node.nbytes + 1

    def again(self, node: Node) -> int:
        """What computing a value once more costs, in bytes; nothing if forward does not do it."""
        return node.size if node in self.forward and viewed(node) is None else 0

    def reach(self, wanted: Nodes) -> list[Node]:
        """All values that a choice may be about, going back from what is wanted."""
        found: dict[Node, None] = {}
        waiting = list(wanted)
        while waiting:
            node = waiting.pop()
            if node in found or node.op in ("literal", "constant"):
                continue
            found[node] = None
            if self.is_open(node):
                waiting.extend(node.inputs)
        return list(found)


def _is_call(node: Node) -> bool:
    """Whether a view of an array takes a call to be found, which is not repeated."""
    return node.op == "pick" or OPS[node.op].kind == "library"


def _minimum_cut(reached: Nodes, wanted: Iterable[Node], choice: _Choice) -> set[Node]:
    """Each value is an edge as wide as its bytes, from what it is made of to what needs it."""
    place = {node: k for k, node in enumerate(reached)}
    network = Network()
    for node, k in place.items():
        cost = choice.cost(node)
        network.add((k, 0), (k, 1), math.inf if cost is None else cost)
        if not choice.is_open(node):
            network.add("source", (k, 0))
            continue
        if choice.again(node):
            network.add("source", (k, 0), choice.again(node))
        for source in node.inputs:
            if source in place:
                network.add((place[source], 1), (k, 0))
    for node in wanted:
        if node in place:
            network.add((place[node], 1), "sink")
    after = network.sink_side("source", "sink")
    return {node for node, k in place.items() if (k, 0) not in after and (k, 1) in after}
