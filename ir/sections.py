"""A graph in sections, so that some of its outputs are there before all of it has run.

In: a graph as it was cut, without effects, before the passes of a target. Out: graphs that run one
after the other. What may not happen: another value than the whole graph computes, or another
layout of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .graph import Graph, is_effect
from .make import placeholder, remake
from .node import Node
from .verify import verify


class Section(NamedTuple):
    """A graph that runs on values that are there already.

    ``takes`` are the places of its inputs among them: first come the inputs of the whole graph,
    then the outputs of one section after the other. ``finishes`` are those outputs of the whole
    graph that it computes, with their places.
    """

    graph: Graph
    takes: tuple[int, ...]
    finishes: tuple[tuple[int, int], ...]


def sections(graph: Graph, least: int) -> tuple[Section, ...]:
    """Cut a graph where it has computed outputs of at least so many bytes.

    There is one section at least, and a single one if the graph has effects.

    >>> from chainwright.ir import Graph, make, placeholder
    >>> x = placeholder("x", (3,), "f4")
    >>> a = make("exp", x)
    >>> b = make("exp", a)
    >>> first, second = sections(Graph((x,), (a, b), (a, b)), 12)
    >>> print(second.graph)
    graph graph.1
      %between1: f32[3] = saved
      %1: f32[3] = exp %between1
      return %1
    >>> first.finishes, second.takes, second.finishes
    (((0, 1),), (1,), ((1, 2),))
    """
    places = {node: k for k, node in enumerate(graph.inputs)}
    last_use = {source: k for k, node in enumerate(graph.nodes) for source in node.inputs}
    wanted = set(graph.outputs)
    found = list[Section]()
    start = 0
    for stop in _stops(graph, least, last_use):
        nodes = graph.nodes[start:stop]
        given = [n for n in nodes if n in wanted or last_use.get(n, 0) >= stop]
        section, sources = _section(graph, nodes, given, places, len(found))
        takes = tuple([places[source] for source in sources])
        places.update(zip(given, range(len(places), len(places) + len(given)), strict=True))
        here = set(given)
        finishes = [(k, places[n]) for k, n in enumerate(graph.outputs) if n in here]
        found.append(Section(section, takes, tuple(finishes)))
        start = stop
    return tuple(found)


def output_places(graph: Graph, parts: Sequence[Section]) -> list[int]:
    """The places of all outputs; those that are inputs of the whole graph, too."""
    places = {node: k for k, node in enumerate(graph.inputs)}
    computed = {k: place for part in parts for k, place in part.finishes}
    return [computed[k] if k in computed else places[n] for k, n in enumerate(graph.outputs)]


def _stops(graph: Graph, least: int, last_use: dict[Node, int]) -> Iterator[int]:
    """Where sections end: what is used on both sides of it are arrays."""
    nodes, outputs = graph.nodes, set(graph.outputs)
    left = len(outputs.intersection(nodes))
    size, open_ = 0, set[Node]()
    if not any(map(is_effect, nodes)):
        for k, node in enumerate(nodes, 1):
            open_ = {n for n in open_ if last_use.get(n, 0) >= k}
            if last_use.get(node, 0) >= k:
                open_.add(node)
            if node in outputs:
                size, left = size + node.nbytes, left - 1
            if size >= max(least, 1) and left and all(n.is_array for n in open_):
                size = 0
                yield k
    yield len(nodes)


def _section(
    graph: Graph, nodes: Sequence[Node], given: Sequence[Node], places: dict[Node, int], k: int
) -> tuple[Graph, list[Node]]:
    """The graph of some nodes, and what its inputs are in the whole graph."""
    own = set(nodes)
    sources = list(dict.fromkeys(
        source for node in nodes for source in node.inputs if source not in own and source in places
    ))
    new = {source: _between(source, places[source]) for source in sources if not source.is_leaf}
    for node in nodes:
        inputs = tuple([new.get(source, source) for source in node.inputs])
        new[node] = node if inputs == node.inputs else remake(node, inputs)
    result = Graph(
        tuple([new.get(source, source) for source in sources]),
        tuple([new[node] for node in nodes]),
        tuple([new[node] for node in given]),
        f"{graph.name}.{k}",
    )
    return verify(result, "sections"), sources


def _between(node: Node, place: int) -> Node:
    return placeholder(
        f"between{place}", node.shape, node.dtype, node.strides,
        kind="saved", index=place, origin=node.origin,
    )
