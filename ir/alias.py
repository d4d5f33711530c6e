"""Which values share memory: views and the arrays they look into."""

from __future__ import annotations

from collections.abc import Iterable

from .node import Node
from .op import OPS
from .shapes import is_basic, reshape_view


def viewed(node: Node) -> Node | None:
    """The input that the result of a node looks into, or None where it has its own memory."""
    return node.inputs[0] if _is_view(node) else None


def _is_view(node: Node) -> bool:
    if node.op == "pick":
        return _is_view(node.inputs[0])
    if node.op in ("reshape",):
        return reshape_view(node.inputs[0], node.dims, node.attr("fortran")) is not None
    if node.op == "getitem":
        return is_basic(node.attr("index"))
    if any(key == "view" and value for key, value in node.attrs):
        return True
    return OPS[node.op].view


def roots_of(nodes: Iterable[Node]) -> dict[Node, Node]:
    """For each node, in execution order, the value whose memory it shows."""
    roots: dict[Node, Node] = {}
    for node in nodes:
        source = viewed(node)
        if source is not None and node.op == "pick":
            source = source.inputs[0]
        roots[node] = node if source is None else roots.get(source, source)
    return roots
