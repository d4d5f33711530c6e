"""Graphs in sections: together they compute what the whole graph does."""

import numpy as np
import pytest
from ir_graphs import Building, array, values_of

from chainwright.ir import Slot, interpret, output_places, sections


def chain(n=6):
    """The gradients of ``n`` scalings one after the other, the last one's first."""
    x, ws = array("g", 8, 8, kind="gradient"), [array(f"w{k}", 8, 8) for k in range(n)]
    b, results = Building(), []
    for w in ws:
        y = b.multiply(x, w)
        results.append(b.dot(y, b.transpose(x)))
        x = b.tanh(y)
    return b.graph([ws[0], *ws[1:], b.nodes[0].inputs[0]], *results)


def several_results():
    """A node with several results, one used early and one late; outputs that are inputs."""
    x = array("x", 4, 4)
    b = Building()
    moved = b.transpose(x)
    early = b.exp(moved)
    late = b.add(b.tanh(early), moved)
    return b.graph([x], early, x, late, early)


def run(graph, parts, values):
    there = list(values)
    for part in parts:
        results = interpret(part.graph, *[there[k] for k in part.takes])
        there += results
    return [there[place] for place in output_places(graph, parts)]


@pytest.mark.parametrize("least", [1, 300, 10**6])
@pytest.mark.parametrize("make", [chain, several_results])
def test_same_values_in_the_same_layout(make, least):
    graph = make()
    values = values_of(graph)
    parts = sections(graph, least)
    for whole, cut in zip(
        interpret(graph, *values), run(graph, parts, values), strict=True
    ):
        assert whole.strides == cut.strides
        np.testing.assert_array_equal(whole, cut)
    assert sum(len(part.graph.nodes) for part in parts) == len(graph.nodes)


@pytest.mark.parametrize("least, finished", [
    (1, [1] * 6), (256, [1] * 6), (257, [2] * 3), (600, [3, 3]), (1200, [5, 1]), (1e6, [6])])
def test_sections_end_where_there_is_enough(least, finished):
    parts = sections(chain(), least)
    assert [len(part.finishes) for part in parts] == finished
    assert [k for part in parts for k, _ in part.finishes] == list(range(6))


def test_no_section_ends_between_a_node_and_its_results():
    x = array("x", 6, 4)
    b = Building()
    both = b.call(x, fn=np.split, args=(Slot(0), 2), n_outputs=2, view=True)
    facts = {"shape": (3, 4), "dtype": "f4", "strides": (16, 4)}
    first = b.exp(b.pick(both, k=0, **facts))
    graph = b.graph([x], first, b.exp(b.pick(both, k=1, **facts)))
    assert [len(part.graph.nodes) for part in sections(graph, 1)] == [4, 1]


def test_effects_keep_a_graph_whole():
    x = array("x", 3, kind="state")
    b = Building()
    y = b.exp(x)
    b.write(x, y)
    assert len(sections(b.graph([x], y, b.tanh(y)), 1)) == 1
