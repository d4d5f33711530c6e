"""From recorded graphs to a forward graph and backward graphs that are ready for a program."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from .cut import keep_old_state, needed_by, primal_nodes, saved_values
from .fusion import fuse
from .graph import Graph, is_effect
from .make import placeholder, remake
from .node import Node
from .passes import PASSES, Pass, prepare, run_passes
from .schedule import schedule
from .size import STRIDES
from .verify import verify, verify_nodes


class Built(NamedTuple):
    """What :func:`build` gives; ``saved`` are nodes of ``forward``, its last outputs."""

    forward: Graph
    saved: tuple[Node, ...]
    backwards: Mapping[Hashable, Graph]
    log: tuple[str, ...]

    def prepared(self, passes: Sequence[Pass]) -> Built:
        """The same after the passes that a target wants."""
        backwards = {key: prepare(graph, passes) for key, graph in self.backwards.items()}
        return self._replace(forward=prepare(self.forward, passes), backwards=backwards)


class Part(NamedTuple):
    """What one of the joined graphs has to give in the end."""

    outputs: tuple[Node, ...]
    effects: tuple[Node, ...]


def build(
    forward: Graph,
    backwards: Mapping[Hashable, Graph],
    passes: Sequence[Pass] = (fuse,),
    common: tuple[Pass, ...] = PASSES,
) -> Built:
    """Optimise a recorded forward graph together with its backward graphs, and cut them apart.

    ``passes`` is what the target wants of each of the graphs that come out, ``common`` what is
    done to all of them together.

    A backward graph refers to nodes of the forward graph directly; its other inputs, of kind
    ``'gradient'``, are its own. The forward graph that comes back has the outputs it had, then
    the saved values; each backward graph has inputs of kind ``'saved'`` (their ``index`` counts
    among the saved values) and then its own.

    >>> from chainwright.ir import Graph, make, placeholder
    >>> x, g = placeholder("x", (3,), "f4"), placeholder("g", (3,), "f4", kind="gradient")
    >>> y = make("exp", x)
    >>> gx = make("multiply", g, make("exp", x))
    >>> backward = Graph((g,), (gx.inputs[1], gx), (gx,))
    >>> built = build(Graph((x,), (y,), (y,), "exp"), {0: backward})
    >>> print(built.forward)
    graph exp
      %x: f32[3] = argument
      %1: f32[3] = exp %x
      return %1, %1
    >>> print(built.backwards[0])
    graph graph
      %saved0: f32[3] = saved
      %g: f32[3] = gradient
      %1: f32[3] = multiply %g %saved0
      return %1
    """
    graphs = [forward, *backwards.values()]
    joint, log = run_passes(verify_nodes(_join(graphs)), common)
    first = _parts(joint, graphs)[0]
    joint = keep_old_state(joint, needed_by((*first.outputs, *first.effects), joint.nodes))
    first, *later = _parts(joint, graphs)
    computed = needed_by((*first.outputs, *first.effects), joint.nodes)
    primal = primal_nodes(joint, forward.inputs, first.effects)
    targets = [node for part in later for node in part.outputs if node in primal]
    saved = saved_values(joint, primal, computed, targets) if later else []
    result = _forward_graph(forward, joint, first, saved)
    parts = {
        key: _backward_graph(graph, joint, part, saved, forward.inputs)
        for (key, graph), part in zip(backwards.items(), later, strict=True)
    }
    log.append(f"saved: {len(saved)} values, {sum(node.nbytes for node in saved)} bytes")
    return Built(result, tuple(saved), parts, tuple(log)).prepared(passes)


class Stage(NamedTuple):
    """A graph on the way from the recorded graphs to the finished ones; ``name`` did it last."""

    name: str
    graph: Graph

    @property
    def text(self) -> str:
        """The printed form."""
        return str(self.graph)


def stages(
    forward: Graph,
    backwards: Mapping[Hashable, Graph],
    passes: Sequence[Pass] = (),
    cut: Built | None = None,
    common: tuple[Pass, ...] = PASSES,
) -> list[Stage]:
    """What :func:`build` makes of graphs, pass by pass.

    First come the graphs joined, as they were recorded and after each pass, then the parts into
    which they are cut, each as it was cut and after each of ``passes``. ``cut`` is what ``build``
    has given without any such passes, if that is known.
    """
    joint = _join([forward, *backwards.values()])
    found = [Stage("recorded", joint)]
    for apply in common:
        joint = apply(joint)
        found.append(Stage(apply.__name__, joint))
    built = build(forward, backwards, (), common) if cut is None else cut
    parts = {"forward": built.forward}
    numbered = enumerate(built.backwards.values(), 1)
    parts.update((f"backward {k}", graph) for k, graph in numbered)
    for part, graph in parts.items():
        found.append(Stage(f"cut: {part}", graph))
        for apply in passes:
            graph = prepare(graph, (apply,))
            found.append(Stage(f"{apply.__name__}: {part}", graph))
    return found


def _join(graphs: Sequence[Graph]) -> Graph:
    """One graph that computes everything; what one part computes another may use."""
    inputs = dict.fromkeys(node for graph in graphs for node in graph.inputs)
    nodes = dict.fromkeys(node for graph in graphs for node in graph.nodes)
    outputs = tuple(node for graph in graphs for node in graph.outputs)
    return Graph(tuple(inputs), tuple(nodes), outputs, graphs[0].name)


def _parts(joint: Graph, graphs: Sequence[Graph]) -> list[Part]:
    """The outputs and effects of each graph: passes keep their number and order."""
    effects = [node for node in joint.nodes if is_effect(node)]
    outputs = _pieces(joint.outputs, [len(graph.outputs) for graph in graphs])
    counts = [sum(map(is_effect, graph.nodes)) for graph in graphs]
    pieces = zip(outputs, _pieces(effects, counts), strict=True)
    return [Part(tuple(out), tuple(acts)) for out, acts in pieces]


def _pieces(items: Sequence[Node], counts: Iterable[int]) -> list[Sequence[Node]]:
    return [items[start:stop] for start, stop in pairwise(accumulate(counts, initial=0))]


def _forward_graph(forward: Graph, joint: Graph, part: Part, saved: Sequence[Node]) -> Graph:
    nodes = schedule(needed_by((*part.outputs, *part.effects, *saved), joint.nodes))
    outputs = (*part.outputs, *saved)
    return _finished(Graph(forward.inputs, tuple(nodes), outputs, forward.name))


def _backward_graph(
    graph: Graph, joint: Graph, part: Part, saved: Sequence[Node], shared: Sequence[Node]
) -> Graph:
    nodes = needed_by((*part.outputs, *part.effects), joint.nodes, saved)
    used = {source for node in nodes for source in node.inputs} | set(part.outputs)
    new = {node: _saved_input(node, k) for k, node in enumerate(saved) if node in used}
    inputs = (*new.values(), *(node for node in graph.inputs if node not in shared))
    for node in nodes:
        new[node] = _on(node, new)
    outputs = tuple(new.get(node, node) for node in part.outputs)
    ordered = schedule([new[node] for node in nodes])
    return _finished(Graph(inputs, tuple(ordered), outputs, graph.name))


def _finished(graph: Graph) -> Graph:
    return verify(graph, "cut")


def _on(node: Node, new: Mapping[Node, Node]) -> Node:
    inputs = tuple(new.get(source, source) for source in node.inputs)
    return node if inputs == node.inputs else remake(node, inputs)


def _saved_input(node: Node, index: int) -> Node:
    settings: dict[str, Any] = {"kind": "saved", "index": index, "origin": node.origin}
    name = node.attr("name") if node.op == "placeholder" else f"saved{index}"
    made = placeholder(name, node.shape, node.dtype, node.strides, **settings)
    if STRIDES in node.found:
        made.found[STRIDES] = node.found[STRIDES]
    return made
