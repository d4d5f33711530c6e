"""Runs nodes one after the other as plain NumPy calls: the meaning of a graph."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from .graph import Graph
from .node import Node
from .op import OPS


class Environment:
    """Names for one expression."""

    shares = False

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def numpy(self, path: str) -> str:
        name = path.replace(".", "_")
        self.names[name] = operator.attrgetter(path)(np)
        return name

    def value(self, value: object, hint: str) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> CodeType:
    return compile(text, "<node>", "exec" if _is_statement(text) else "eval")


def _is_statement(text: str) -> bool:
    return "] = " in text


def run_node(node: Node, values: Sequence[Any]) -> Any:
    """What NumPy gives for one node on these inputs; updates work on a copy of their base."""
    row, scope = OPS[node.op], Environment()
    args = [f"x{k}" for k in range(len(values))]
    scope.names.update(zip(args, values, strict=True))
    if row.kind == "update":
        scope.names["x0"] = copy_exactly(values[0])
    text = row.text(node, args, scope)
    result = eval(_compiled(text), scope.names)
    return scope.names["x0"] if row.kind == "update" else result


def copy_exactly(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides where the array is dense, in order 'K' otherwise."""
    return np.array(array, order="K", copy=True)


def interpret(
    graph: Graph, *inputs: Any, known: Mapping[Node, Any] | None = None
) -> tuple[Any, ...]:
    """The outputs of a graph; ``known`` gives values that the graph reads but does not compute."""
    values: dict[Node, Any] = dict(known or {})
    values.update(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        values[node] = run_node(node, [value_of(source, values) for source in node.inputs])
    return tuple(value_of(node, values) for node in graph.outputs)


def value_of(node: Node, values: Mapping[Node, Any]) -> Any:
    """A computed value, or the value of a leaf."""
    if node.op == "literal":
        return node.attr("value")
    return node.attr("box").value if node.op == "constant" else values[node]
