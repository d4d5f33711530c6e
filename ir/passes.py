"""The passes that make a graph smaller, each ``Graph -> Graph``, and the runner.

A pass with nothing to do returns the graph it got. None changes a bit of any result: values, the
memory layout of every array that a sum or product reads, and which outputs share memory stay.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from .algebra import rewritten, rewritten_anywhere
from .alias import roots_of, viewed
from .frozen import exact_key
from .graph import Graph, is_effect, users_of
from .interpret import run_node, value_of
from .make import constant, remake
from .node import Node
from .op import OPS
from .verify import verify, verify_nodes

Pass = Callable[[Graph], Graph]
FOLDED_BYTES = 1 << 16


def rebuild(graph: Graph, replace: Callable[[Node, Node], Node]) -> Graph:
    """Walk in order; ``replace`` gets a node on its new inputs, and the node it was."""
    new: dict[Node, Node] = {}
    nodes: dict[Node, None] = {}
    for node in graph.nodes:
        inputs = tuple([new.get(source, source) for source in node.inputs])
        kept = node if inputs == node.inputs else remake(node, inputs)
        found = new[node] = replace(kept, node)
        if found is kept:  # whose inputs are there
            nodes[found] = None
        elif found not in nodes:
            nodes.update(dict.fromkeys(_fresh(found, nodes)))
    outputs = tuple(new.get(node, node) for node in graph.outputs)
    if tuple(nodes) == graph.nodes and outputs == graph.outputs:
        return graph
    return Graph(graph.inputs, tuple(nodes), outputs, graph.name)


def _fresh(node: Node, known: dict[Node, None]) -> list[Node]:
    """A new node and the new ones among its inputs, these first."""
    if node.is_leaf or node in known:
        return []
    return [made for source in node.inputs for made in _fresh(source, known)] + [node]


def _given_out(graph: Graph, roots: dict[Node, Node]) -> set[Node]:
    """Values that must keep memory of their own, since the caller may write to them: outputs."""
    return _with_roots(graph.outputs, roots)


def _handed_over(graph: Graph, roots: dict[Node, Node]) -> set[Node]:
    """The same for what host calls receive and may keep."""
    return _with_roots((s for n in graph.nodes if n.op == "host" for s in n.inputs), roots)


def _with_roots(nodes: Iterable[Node], roots: dict[Node, Node]) -> set[Node]:
    found = set(nodes)
    return found | {roots[node] for node in found if node in roots}


def fold_constants(graph: Graph) -> Graph:
    """Compute what depends on constants only, once, now."""
    users, roots = users_of(graph), roots_of(graph.nodes)
    kept = _given_out(graph, roots) | _handed_over(graph, roots)

    def replace(node: Node, was: Node) -> Node:
        if not _foldable(node) or was in kept or _is_base(was, users):
            return node
        value = _computed(node)
        same = value is not None and value.strides == node.strides
        return constant(value, node.origin) if same else node

    return rebuild(graph, replace)


def _computed(node: Node) -> np.ndarray | None:
    """The value of a node; None where computing it warns, which every replay should do again."""
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.asarray(run_node(node, [value_of(source, {}) for source in node.inputs]))
    except (FloatingPointError, Warning):
        return None


def _foldable(node: Node) -> bool:
    if not node.is_array or is_effect(node) or node.nbytes > FOLDED_BYTES:
        return False
    return all(source.op in ("constant", "literal") for source in node.inputs)


def _is_base(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether a later node writes into a version of this value."""
    return any(
        OPS[user.op].kind == "update" and user.inputs[0] is node for user in users.get(node, ())
    )


def simplify(graph: Graph) -> Graph:
    """Apply the rows of ``algebra`` wherever one fits."""
    return replace_nodes(graph, rewritten)


def simplify_anywhere(graph: Graph) -> Graph:
    """The same without the rows that tell how NumPy computes."""
    return replace_nodes(graph, rewritten_anywhere)


def replace_nodes(graph: Graph, rewrite: Callable[[Node], Node | None]) -> Graph:
    """Put what ``rewrite`` gives in the place of each node, where no memory is shared by that."""
    known, roots = set(graph.nodes), roots_of(graph.nodes)
    kept = _given_out(graph, roots) | _handed_over(graph, roots) | _kept_apart(graph, roots)

    def replace(node: Node, was: Node) -> Node:
        new = rewrite(node) or node
        if new is not node and was in kept:
            root = _root(new)
            new = node if root in known or root.is_leaf else new
        known.add(new)
        return new

    return rebuild(graph, replace)


def _root(node: Node) -> Node:
    while (base := viewed(node)) is not None:
        node = base
    return node


def merge_common(graph: Graph) -> Graph:
    """Compute equal expressions once; effects and arrays that are written into stay apart."""
    roots = roots_of(graph.nodes)
    outputs, apart = _given_out(graph, roots), _kept_apart(graph, roots)
    apart |= _handed_over(graph, roots)
    # By op and inputs; most stand there alone, and nobody has to know their attributes.
    alone, first, owned = dict[Hashable, Node](), dict[Hashable, Node](), set[Node]()

    def replace(node: Node, was: Node) -> Node:
        if is_effect(node) or OPS[node.op].kind == "creation" or was in apart:
            return node
        inputs = tuple(map(_leaf_key, node.inputs))
        found = before = alone.setdefault((node.op, inputs), node)
        if before is not node:
            first.setdefault(_key(before, inputs), before)
            found = first.setdefault(_key(node, inputs), node)
        if was not in outputs:
            return found
        if found in owned:
            return node
        owned.add(found)
        return found

    return rebuild(graph, replace)


def _key(node: Node, inputs: Hashable) -> Hashable:
    attrs = tuple([exact_key(value) for _, value in node.attrs])
    return node.op, inputs, attrs, node.shape, node.dtype, node.strides


def _leaf_key(node: Node) -> Hashable:
    return ("literal", exact_key(node.attr("value"))) if node.op == "literal" else id(node)


def _kept_apart(graph: Graph, roots: dict[Node, Node]) -> set[Node]:
    """Operands of products that would become one array: BLAS multiplies ``x x^T`` differently."""
    found: set[Node] = set()
    for node in graph.nodes:
        if OPS[node.op].kind in ("product", "library"):
            operands = {roots.get(source, source) for source in node.inputs}
            sizes = [source.size for source in operands]
            found.update(source for source in operands if sizes.count(source.size) > 1)
    return found


def drop_dead(graph: Graph) -> Graph:
    """Drop nodes that no output and no effect needs."""
    alive: set[Node] = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in alive or is_effect(node):
            alive.add(node)
            alive.update(node.inputs)
    nodes = tuple(node for node in graph.nodes if node in alive)
    if len(nodes) == len(graph.nodes):
        return graph
    return Graph(graph.inputs, nodes, graph.outputs, graph.name)


PASSES: tuple[Pass, ...] = (drop_dead, fold_constants, simplify, merge_common, drop_dead)
#: Where another library than NumPy computes: what NumPy would give is not folded in.
PASSES_ANYWHERE: tuple[Pass, ...] = (drop_dead, simplify_anywhere, merge_common, drop_dead)


def run_passes(graph: Graph, passes: tuple[Pass, ...] = PASSES) -> tuple[Graph, list[str]]:
    """The graph after all passes, and one line for each that changed it."""
    log: list[str] = []
    for apply in passes:
        result = apply(graph)
        if result is not graph:
            log.append(f"{apply.__name__}: {len(graph.nodes)} -> {len(result.nodes)} nodes")
            graph = verify_nodes(result, apply.__name__)
    return graph, log


def prepare(graph: Graph, passes: Iterable[Pass]) -> Graph:
    """The graph after the passes of a target, checked after each."""
    for apply in passes:
        result = apply(graph)
        graph = graph if result is graph else verify(result, apply.__name__)
    return graph
