"""The printed form of a graph: one line a node, the user's line at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .frozen import exact_key, index_source, source
from .layout import dense_strides, is_dense, order_of
from .node import Box, Node, type_text
from .op import OPS, REQUIRED

if TYPE_CHECKING:
    from .graph import Graph

COMMENT_COLUMN = 60


class PrintScope:
    """Names as they read best, for text that is never run."""

    shares = False

    def numpy(self, path: str) -> str:
        return path

    def value(self, value: object, hint: str) -> str:
        if isinstance(value, float | np.generic):
            return str(value)
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", getattr(value, "__name__", None))
        return f"{module}.{name}" if name and module else name or hint


def graph_text(graph: Graph) -> str:
    """The text of a whole graph."""
    return "\n".join(_lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    names = number_nodes(graph)
    yield f"graph {graph.name}"
    for node in graph.inputs:
        yield f"  {node_line(node, names)}"
    member = {node: k for k, group in enumerate(graph.groups) for node in group}
    inside = None
    for node in graph.nodes:
        group = member.get(node)
        if group != inside and group is not None:
            yield f"  kernel {group}"
        inside = group
        yield with_comment(_indent(node, group) + node_line(node, names), node.origin)
    yield f"  return {', '.join(operand_text(node, names) for node in graph.outputs)}"


def _indent(node: Node, group: int | None) -> str:
    mark = "!" if OPS[node.op].effect else " "
    return f"{mark} " if group is None else f"{mark}   "


def with_comment(line: str, comment: object) -> str:
    """A line with the user's place in one column."""
    return f"{line:<{COMMENT_COLUMN - 2}}  # {comment}" if comment else line


def number_nodes(graph: Graph) -> dict[Node, str]:
    """``%name`` for the inputs, ``%3`` for the nodes."""
    names = {node: f"%{dict(node.attrs).get('name', node.op)}" for node in graph.inputs}
    names.update((node, f"%{k}") for k, node in enumerate(graph.nodes, 1))
    return names


def node_line(node: Node, names: Mapping[Node, str]) -> str:
    """``%3: f32[32,10] = add %1 %2``."""
    kind = "" if node.op == "write" else f": {type_text(node)}{_layout_text(node)}"
    left = f"{names[node]}{kind}"
    if node.op == "placeholder":
        return f"{left} = {node.attr('kind')}"
    operands = [operand_text(source, names) for source in node.inputs]
    settings = node.found.get("settings text")
    if settings is None:
        settings = node.found["settings text"] = tuple(_attr_texts(node))
    return " ".join([f"{left} = {node.op}", *operands, *settings])


def operand_text(node: Node, names: Mapping[Node, str]) -> str:
    """A reference to a node, or the value of a leaf."""
    if node.op == "literal":
        return source(node.attr("value"), (), PrintScope())
    if node.op != "constant":
        return names.get(node, f"%?{node.op}")
    value = node.attr("box").value
    return f"{type_text(node)}({value})" if node.size == 1 else f"constant {type_text(node)}"


def _layout_text(node: Node) -> str:
    """Nothing for C order; ``{1,0}`` for another order of axes; strides where there are gaps."""
    shape, strides, dtype = node.shape, node.strides, node.dtype
    if shape is None or strides is None or dtype is None or 0 in shape:
        return ""
    if strides == dense_strides(shape, dtype.itemsize):
        return ""
    if is_dense(shape, strides, dtype.itemsize):
        return f"{{{','.join(map(str, order_of(strides)))}}}"
    return f"{{strides {','.join(map(str, strides))}}}"


def _attr_texts(node: Node) -> Iterator[str]:
    defaults = OPS[node.op].attrs if node.op in OPS else {}
    for key, value in node.attrs:
        default = defaults.get(key, REQUIRED)
        if default is REQUIRED or exact_key(default) != exact_key(value):
            yield _attr_text(key, value)


def _attr_text(key: str, value: Any) -> str:
    slots = _Slots()
    if key == "index":
        return f"[{index_source(value, slots, PrintScope())}]"
    if isinstance(value, Box):
        value = value.value
    return f"{key}={source(value, slots, PrintScope())}"


class _Slots(tuple[str, ...]):
    """Every slot prints as its number."""

    __slots__ = ()

    def __getitem__(self, k: Any) -> Any:
        return f"<{k}>"


def neighbourhood(nodes: Iterable[Node], names: Mapping[Node, str]) -> str:
    """The lines of a few nodes, for error messages."""
    return "\n".join(f"  {node_line(node, names)}" for node in nodes)
