"""The rules that every graph keeps; each pass has to leave them whole."""

from __future__ import annotations

from .graph import Graph
from .node import FAULT, IRError, Node
from .op import OPS
from .text import neighbourhood, number_nodes

Fault = tuple[str, Node] | None
WRITABLE = ("external", "state")


def verify(graph: Graph, after: str = "") -> Graph:
    """Return the graph, or raise :class:`IRError` naming the pass and the nodes around the fault.

    Inputs are placeholders; each value is computed before it is used, once; ops, arity and types
    agree with the table; writes go to external or state placeholders which nothing reads later;
    the nodes of a group are neighbours.
    """
    return _checked(graph, after, _fault(graph) or _write_fault(graph))


def verify_nodes(graph: Graph, after: str = "") -> Graph:
    """The same without the rule for writes, which a joint forward and backward graph may break."""
    return _checked(graph, after, _fault(graph))


def _checked(graph: Graph, after: str, fault: Fault) -> Graph:
    if fault is None:
        return graph
    message, node = fault
    place = graph.nodes.index(node) if node in graph.nodes else 0
    around = neighbourhood(graph.nodes[max(place - 2, 0) : place + 3], number_nodes(graph))
    where = f" after the pass {after}" if after else ""
    raise IRError(f"graph {graph.name}{where}: {message}\n{around}")


def _fault(graph: Graph) -> Fault:
    for node in graph.inputs:
        if node.op != "placeholder":
            return f"the input {node!r} is no placeholder", node
    known = set(graph.inputs)
    for node in graph.nodes:
        if node in known:
            return f"{node!r} is computed twice", node
        for source in node.inputs:
            if source not in known and source.op not in ("literal", "constant"):
                return f"{node.op} reads {source!r}, which is not computed before", node
        if FAULT not in node.found:  # nodes never change
            node.found[FAULT] = _own_fault(node)
        if node.found[FAULT]:
            return node.found[FAULT], node
        known.add(node)
    for node in graph.outputs:
        if not (node in known or node.op in ("literal", "constant")):
            return f"the output {node!r} is not computed", node
    return _group_fault(graph)


def _own_fault(node: Node) -> str | None:
    row = OPS.get(node.op)
    if row is None or row.kind == "leaf":
        return f"there is no op {node.op!r}" if row is None else f"{node.op} is a leaf"
    if row.arity is not None and len(node.inputs) != row.arity:
        return f"{node.op} takes {row.arity} inputs, has {len(node.inputs)}"
    if tuple(key for key, _ in node.attrs) != tuple(row.attrs):
        return f"{node.op} has attributes {[key for key, _ in node.attrs]}, not {list(row.attrs)}"
    return _type_fault(node)


def _type_fault(node: Node) -> str | None:
    row, attrs = OPS[node.op], dict(node.attrs)
    if node.shape is None:
        return None
    # Rules compute with the lengths of the first probe, where these are expressions.
    found = node.dims if row.shape is None else row.shape(node.inputs, attrs)
    if [*map(int, found)] != [*map(int, node.dims)]:
        return f"{node.op} has shape {node.shape}, the rule says otherwise"
    if row.dtype is not None and row.dtype(node.inputs, attrs) != node.dtype:
        return f"{node.op} has dtype {node.dtype}, the rule says otherwise"
    return None


def _write_fault(graph: Graph) -> Fault:
    aliases: dict[Node, Node] = {node: node for node in graph.inputs}
    written: set[Node] = set()
    for node in graph.nodes:
        if node.op == "write":
            target = node.inputs[0]
            if target.op != "placeholder" or target.attr("kind") not in WRITABLE:
                return "a write goes to an external or state placeholder", node
        late = [s for s in node.inputs if aliases.get(s) in written]
        if late and not (node.op == "write" and late == [node.inputs[0]]):
            return f"{node.op} reads {late[0]!r} after it was written", node
        if node.op == "write":
            written.add(node.inputs[0])
        elif OPS[node.op].view and node.inputs[0] in aliases:
            aliases[node] = aliases[node.inputs[0]]
    return None


def _group_fault(graph: Graph) -> Fault:
    place = {node: k for k, node in enumerate(graph.nodes)}
    seen: set[Node] = set()
    for group in graph.groups:
        for node in group:
            if node not in place or node in seen:
                return (
                    f"a group holds {node!r}, which the graph does not or another group does",
                    node,
                )
            seen.add(node)
        places = [place[node] for node in group]
        if places != list(range(places[0], places[0] + len(places))):
            return "the nodes of a group are not neighbours", group[0]
    return None
