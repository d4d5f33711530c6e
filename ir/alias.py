"""Which values share memory: views and the arrays they look into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .node import Node
from .op import OPS
from .shapes import is_basic, reshape_view


def viewed(node: Node) -> Node | None:
    """The value that a result looks into, or None where it has its own memory.

    A call says so by its attribute ``view``: True for its first input, a number for another one,
    and one such entry (or None) for each result where there are several.
    """
    found = node.found  # nodes never change, and this is asked often
    if "viewed" not in found:
        found["viewed"] = _viewed(node)
    return found["viewed"]


def _viewed(node: Node) -> Node | None:
    source, place = node, None
    if node.op == "pick":
        source, place = node.inputs[0], node.attr("k")
    if "view" in OPS[source.op].attrs:
        return _viewed_by_call(source, source.attr("view"), place)
    return node.inputs[0] if _is_view(node) else None


def _viewed_by_call(call: Node, view: Any, place: int | None) -> Node | None:
    if isinstance(view, tuple):
        view = None if place is None else view[place]
    if view is None or view is False:
        return None
    return call.inputs[0 if view is True else view]


def _is_view(node: Node) -> bool:
    if node.op == "reshape":
        return reshape_view(node.inputs[0], node.dims, node.attr("fortran")) is not None
    if node.op == "getitem":
        return is_basic(node.attr("index"))
    return OPS[node.op].view


def roots_of(nodes: Iterable[Node]) -> dict[Node, Node]:
    """For each node, in execution order, the value whose memory it shows."""
    roots: dict[Node, Node] = {}
    for node in nodes:
        source = viewed(node)
        roots[node] = node if source is None else roots.get(source, source)
    return roots
