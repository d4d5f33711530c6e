"""Sums of what library ops give, made where the sum lies.

In: a graph. Out: the same with chains ``((p + q) + r) + ...`` of products with few rows, or of rows
added up into tables, as one node each. Gradients of a matrix that is used in every step of a
recurrent network are such sums: their terms would each go to memory and back. The order of
summation stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from chainwright.ir import Graph, Node, make
from chainwright.ir.frozen import thaw
from chainwright.ir.layout import is_contiguous
from chainwright.ir.make import remake
from chainwright.ir.passes import drop_dead
from chainwright.ir.schedule import ordering_edges

#: By the op of the terms, the op of their sum.
SUMS = {"few_rows": "few_rows_sum", "add_rows": "add_rows_sum"}


def sums_of_terms(graph: Graph, takes: Callable[[Node], bool]) -> Graph:
    """Put one node in the place of each sum of at least two terms, if native code ``takes`` it."""
    if not any(node.op in SUMS for node in graph.nodes):
        return graph
    alone = _read_once(graph)
    sums: dict[Node, Node] = {}
    inside: set[Node] = set()
    for last in reversed(graph.nodes):
        if last.op == "add" and last not in inside:
            made = _sum(last, alone, inside)
            if made is not None and takes(made):
                sums[last] = made
    if not sums:
        return graph
    new: dict[Node, Node] = {}
    for was in graph.nodes:
        node = sums.get(was, was)
        inputs = tuple(new.get(x, x) for x in node.inputs)
        new[was] = node if inputs == node.inputs else remake(node, inputs)
    outputs = tuple(new.get(x, x) for x in graph.outputs)
    return drop_dead(replace(graph, nodes=tuple(new.values()), outputs=outputs))


def _read_once(graph: Graph) -> set[Node]:
    """Values with a single reader, which may be computed later than they are now."""
    readers = Counter(x for node in graph.nodes for x in node.inputs)
    kept = {*graph.outputs, *(earlier for earlier, _ in ordering_edges(graph.nodes))}
    return {node for node in graph.nodes if readers[node] == 1 and node not in kept}


def _sum(last: Node, alone: set[Node], inside: set[Node]) -> Node | None:
    """The sum that ends with an addition; None if that adds up no two terms of a kind."""
    terms: list[Node] = []
    node = last
    while node.op == "add" and (node is last or node in alone):
        term = _term(node, terms, alone)
        if term is None:
            break
        inside.add(node)
        terms.append(term)
        node = node.inputs[node.inputs[0] is term]
    if not terms:
        return None
    if _is_term(node, terms, alone):
        terms.append(node)
        rest = ()
    else:
        rest = (node,)
    op = terms[0].op
    if len(terms) < 2 or rest and (op != "few_rows" or not _is_like(node, last)):
        return None
    arrays = (x for term in reversed(terms) for x in term.inputs)
    facts = {"shape": last.shape, "dtype": last.dtype, "strides": last.strides}
    if op == "add_rows":
        facts["kwargs"] = thaw(terms[0].attr("kwargs"), ())
    return make(SUMS[op], *arrays, *rest, origin=last.origin, **facts)  # type: ignore[arg-type]


def _term(node: Node, terms: list[Node], alone: set[Node]) -> Node | None:
    """The input of an addition that is one of the terms; the second if both are."""
    found = [x for x in reversed(node.inputs) if _is_term(x, terms or [x], alone)]
    return found[0] if found and _is_like(found[0], node) else None


def _is_term(x: Node, terms: list[Node], alone: set[Node]) -> bool:
    """Whether a value is a term like the others, of which the first was found first."""
    if x.op not in SUMS or x not in alone or len(x.inputs) != 2:
        return False
    like = terms[0]
    layouts = [[(a.shape, a.strides, a.dtype) for a in node.inputs] for node in (x, like)]
    return layouts[0] == layouts[1] and x.op == like.op and x.attrs == like.attrs


def _is_like(x: Node, node: Node) -> bool:
    if x.dtype is None or x.shape != node.shape or x.dtype != node.dtype:
        return False
    whole = is_contiguous(node.dims, node.steps, x.dtype.itemsize)
    return whole and x.strides == node.strides
