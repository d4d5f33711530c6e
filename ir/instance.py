"""Graphs of any sizes at certain sizes.

In: a graph that :class:`.unify.Unified` has made. Out: the graph that it stands for at a probe.
What may not happen: a layout of the first probe in the place of that of another one.
"""

from __future__ import annotations

from typing import Any

from .graph import Graph
from .layout import dense_strides, is_dense, order_of
from .make import make
from .node import Node
from .op import OPS
from .size import STRIDES, Probe, at
from .unify import Different


def graph_at(graph: Graph, probe: Probe) -> Graph:
    """The graph at certain lengths of the symbols.

    Raises:
        Different: If the layout of a value is not known there.
    """
    known: dict[Node, Node] = {}

    def instance(node: Node) -> Node:
        made = known.get(node)
        if made is None:
            made = known[node] = _instance(node, tuple(map(instance, node.inputs)), probe)
        return made

    inputs = tuple(map(instance, graph.inputs))
    nodes = tuple(map(instance, graph.nodes))
    return Graph(inputs, nodes, tuple(map(instance, graph.outputs)), graph.name)


def _instance(node: Node, inputs: tuple[Node, ...], probe: Probe) -> Node:
    if node.op == "constant":
        return node
    attrs = tuple([(name, at(value, probe)) for name, value in node.attrs])
    if node.shape is None or node.dtype is None:
        shape = None if node.shape is None else at(node.shape, probe)
        return Node(node.op, inputs, attrs, shape, node.dtype, node.strides, node.origin)
    shape = at(node.shape, probe)
    strides = _strides(node, inputs, dict(attrs), shape, probe)
    return Node(node.op, inputs, attrs, shape, node.dtype, strides, node.origin)


def _strides(
    node: Node, inputs: tuple[Node, ...], attrs: dict[str, Any], shape: tuple[int, ...],
    probe: Probe,
) -> tuple[int, ...]:
    assert node.dtype is not None
    if node.op == "literal":
        return ()
    size = node.dtype.itemsize
    if is_dense(node.dims, node.steps, size):
        return dense_strides(shape, size, order_of(node.steps))
    if STRIDES in node.found:
        return at(node.found[STRIDES], probe)
    if OPS[node.op].strides is None:
        raise Different(f"the layout of {node!r} at other sizes is not known")
    return make(node.op, *inputs, shape=shape, dtype=node.dtype, **attrs).steps
