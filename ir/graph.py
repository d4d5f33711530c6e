"""The graph: inputs, nodes in execution order, outputs; its text, its pictures, its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .node import Node
from .op import OPS
from .text import graph_text, node_line, number_nodes

Group = tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in execution order (every one that is no leaf), between inputs and outputs.

    ``groups`` are runs of neighbouring nodes that one fused kernel computes.
    """

    inputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Node, ...]
    name: str = "graph"
    groups: tuple[Group, ...] = ()

    def __str__(self) -> str:
        return graph_text(self)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.nodes)} nodes>"

    def to_svg(self) -> str:
        """The data flow as an SVG; the rows of a kernel stand in one box."""
        from .picture import svg

        return svg(self)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.to_svg()

    def to_networkx(self) -> Any:
        """The data flow as a ``networkx.DiGraph`` whose nodes are :class:`Node` objects."""
        import networkx

        picture = networkx.DiGraph(name=self.name)
        picture.add_nodes_from(self.inputs)
        for node in self.nodes:
            picture.add_node(node)
            picture.add_edges_from((source, node) for source in node.inputs)
        return picture

    def to_dot(self, results: int | None = None) -> Any:
        """The data flow as a ``graphviz.Digraph``; fused groups are boxes around their nodes.

        Outputs from number ``results`` on are drawn as values that are kept for backward.
        """
        import graphviz

        names = number_nodes(self)
        picture = graphviz.Digraph(self.name, node_attr={"shape": "box", "fontname": "monospace"})
        for node in self.inputs:
            picture.node(
                names[node], node_line(node, names), shape="ellipse", style="filled", color="grey90"
            )
        grouped = {node for group in self.groups for node in group}
        for k, group in enumerate(self.groups):
            cluster = graphviz.Digraph(f"cluster_{k}")
            cluster.attr(label=f"kernel {k}", style="rounded", fontname="monospace")
            _draw(cluster, group, names)
            picture.subgraph(cluster)
        _draw(picture, (node for node in self.nodes if node not in grouped), names)
        for node in self.nodes:
            for source in node.inputs:
                if source in names:
                    picture.edge(names[source], names[node])
        for k, node in enumerate(self.outputs):
            if results is None or k < results:
                picture.node(f"output {k}", shape="ellipse", style="bold")
            else:
                picture.node(f"output {k}", f"kept {k - results}", shape="ellipse", style="dashed")
            if node in names:
                picture.edge(names[node], f"output {k}")
        return picture


def _draw(picture: Any, nodes: Iterable[Node], names: Mapping[Node, str]) -> None:
    for node in nodes:
        where = f"\\l{node.origin}" if node.origin else ""
        color = "red" if is_effect(node) else "black"
        picture.node(names[node], node_line(node, names) + where + "\\l", color=color)


def is_effect(node: Node) -> bool:
    """Whether a node is ordered and must run exactly once."""
    row = OPS[node.op]
    return row.effect or (node.op == "call" and bool(node.attr("impure")))


def leaves(graph: Graph) -> Iterator[Node]:
    """Constants and literals that the graph's nodes and outputs use, each once."""
    seen: set[Node] = set()
    for source in (*(s for node in graph.nodes for s in node.inputs), *graph.outputs):
        if source.is_leaf and source not in seen:
            seen.add(source)
            yield source


def users_of(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes that read each value, in execution order."""
    users: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for source in dict.fromkeys(node.inputs):
            users.setdefault(source, []).append(node)
    return users
