"""Pictures of graphs, without other programs: boxes in layers, one for each kernel and each node.

In: a graph. Out: where everything stands (:class:`Picture`), and an SVG of it. Every node has a row
with its line of the printed form; the rows of a kernel stand in one box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .node import Node
from .op import OPS
from .template import template
from .text import node_line, number_nodes

if TYPE_CHECKING:
    from .graph import Graph

CHAR, ROW, GAP, LAYER = 6.7, 16, 14, 34  # sizes: a letter, a row, between boxes and layers
LONGEST = 64  # letters of a row


class Line(NamedTuple):
    """A row of a box: a node, and what is written there; ``title`` is the whole line, if longer.

    All of it is safe in an SVG.
    """

    text: str
    origin: str
    title: str
    y: int


@dataclass(slots=True)
class Box:
    """Nodes that stand together; ``kind`` is that of their looks, ``x`` and ``y`` the corner."""

    kind: str
    title: str
    lines: list[Line]
    width: float
    height: float
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def corner(self) -> str:
        """Where text begins, for SVG."""
        return f"{self.x + 7:.0f} {self.y:.0f}"

    @property
    def size(self) -> str:
        """Attributes of an SVG rectangle."""
        return f'width="{self.width:.0f}" height="{self.height:.0f}"'

    @property
    def round(self) -> int:
        """The radius of the corners; inputs look round."""
        return 9 if self.kind.startswith(("input", "parameter")) else 3

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


class Edge(NamedTuple):
    """From a box to another."""

    source: Box
    target: Box

    @property
    def path(self) -> str:
        """An SVG path."""
        a, b = self.source, self.target
        bend = max((b.y - a.bottom) / 2, 12)
        return (
            f"M{a.middle:.0f} {a.bottom:.0f}C{a.middle:.0f} {a.bottom + bend:.0f} "
            f"{b.middle:.0f} {b.y - bend:.0f} {b.middle:.0f} {b.y:.0f}"
        )


class Picture(NamedTuple):
    """Boxes and edges in a rectangle of ``width`` and ``height``."""

    boxes: list[Box]
    edges: list[Edge]
    width: float
    height: float


def picture(graph: Graph) -> Picture:
    """Where the nodes of a graph stand."""
    boxes, of = _boxes(graph)
    edges = dict[tuple[int, int], Edge]()
    for node in graph.nodes:
        for source in node.inputs:
            if source in of and of[source] is not of[node]:
                edge = Edge(of[source], of[node])
                edges[id(edge.source), id(edge.target)] = edge
    found = list(edges.values())
    _layers(boxes, found)
    width = _places(boxes, found)
    return Picture(boxes, found, width, max((b.bottom for b in boxes), default=0.0))


def svg(graph: Graph) -> str:
    """An SVG of a graph; it follows the light or dark setting of whoever shows it."""
    # What is not safe by itself is escaped here and in ``_boxes``.
    return template("chainwright.ir", "graph.svg.j2").render(
        picture=picture(graph), name=escape(graph.name))


def _boxes(graph: Graph) -> tuple[list[Box], dict[Node, Box]]:
    names, results = number_nodes(graph), set(graph.outputs)
    groups = {node: k for k, group in enumerate(graph.groups) for node in group}
    boxes, of, last = list[Box](), dict[Node, Box](), -1
    for node in (*graph.inputs, *graph.nodes):
        group = groups.get(node, -1)
        if group < 0 or group != last:
            title = f"kernel {group}" if group >= 0 else ""
            kind = "kernel" if group >= 0 else _kind(node)
            boxes.append(Box(kind, title, [], 0, ROW * bool(title) + 6))
        box, text = boxes[-1], node_line(node, names)
        shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
        title = "" if shown is text else escape(text)
        origin = escape(str(node.origin or ""))
        box.lines.append(Line(escape(shown), origin, title, round(box.height) + 8))
        box.width, box.height = max(box.width, len(shown) * CHAR + 14), box.height + ROW
        if node in results:
            box.kind = f"{box.kind} result" if "result" not in box.kind else box.kind
        of[node], last = box, group
    return boxes, of


def _kind(node: Node) -> str:
    if node.op == "placeholder":
        return "input" if node.attr("kind") != "parameter" else "parameter"
    kind = OPS[node.op].kind
    if OPS[node.op].effect:
        return "effect"
    return "library" if kind in ("product", "library") else "plain"


def _layers(boxes: Sequence[Box], edges: Iterable[Edge]) -> None:
    """Each box below all that it needs; inputs right above their first use."""
    into = dict[int, list[Box]]()
    users = dict[int, list[Box]]()
    for edge in edges:
        into.setdefault(id(edge.target), []).append(edge.source)
        users.setdefault(id(edge.source), []).append(edge.target)
    for box in boxes:
        box.layer = 1 + max((source.layer for source in into.get(id(box), ())), default=0)
    for box in boxes:
        if not into.get(id(box)) and users.get(id(box)):
            box.layer = min(user.layer for user in users[id(box)]) - 1


def _places(boxes: Sequence[Box], edges: Iterable[Edge]) -> float:
    """Put neighbours near each other: each layer in the order of what it is connected to."""
    layers = dict[int, list[Box]]()
    for box in boxes:
        layers.setdefault(box.layer, []).append(box)
    above, below = dict[int, list[Box]](), dict[int, list[Box]]()
    for edge in edges:
        above.setdefault(id(edge.target), []).append(edge.source)
        below.setdefault(id(edge.source), []).append(edge.target)
    order = [layers[k] for k in sorted(layers)]
    y = 0.0
    for layer in order:
        _settle(layer, {})
        for box in layer:
            box.y = y
        y += max(box.height for box in layer) + LAYER
    for neighbours, rows in ((above, order), (below, order[::-1]), (above, order)):
        for layer in rows:
            _settle(layer, neighbours)
    left = min((box.x for box in boxes), default=0.0)
    for box in boxes:
        box.x -= left
    return max((box.x + box.width for box in boxes), default=0.0)


def _settle(layer: list[Box], neighbours: dict[int, list[Box]]) -> None:
    wanted = {}
    for k, box in enumerate(layer):
        near = neighbours.get(id(box))
        middle = sum(b.middle for b in near) / len(near) if near else box.middle
        wanted[id(box)] = middle, k
    layer.sort(key=lambda box: wanted[id(box)])
    end = None
    for box in layer:
        start = wanted[id(box)][0] - box.width / 2
        box.x = start if end is None else max(start, end + GAP)
        end = box.x + box.width
    shift = sum(wanted[id(box)][0] - box.middle for box in layer) / len(layer)
    for box in layer:
        box.x += shift
