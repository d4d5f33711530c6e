"""Minimum cuts: those of networkx, which is slower to load than most graphs are to compile."""

import math
import random

import networkx
import pytest

from chainwright.ir.mincut import Network


def both(edges, source, sink):
    ours, theirs = Network(), networkx.DiGraph()
    theirs.add_nodes_from([source, sink])
    for a, b, capacity in edges:
        ours.add(a, b, capacity)
        bound = {} if capacity == math.inf else {"capacity": capacity}
        theirs.add_edge(a, b, **bound)
    _, (_, after) = networkx.minimum_cut(theirs, source, sink)
    return ours.sink_side(source, sink), after


@pytest.mark.parametrize("seed", range(60))
def test_random_networks(seed):
    r = random.Random(seed)
    n = r.randint(2, 30)
    pairs = {(r.randrange(n), r.randrange(n)) for _ in range(r.randint(1, 4 * n))}
    edges = [(a, b, r.choice([1, 1, 2, 5, 10**12])) for a, b in sorted(pairs) if a != b]
    ours, theirs = both(edges, 0, n - 1)
    assert ours == theirs


@pytest.mark.parametrize("seed", range(30))
def test_networks_like_those_of_graphs(seed):
    """Each value is an edge; where it comes from and where it goes to have no bounds."""
    r = random.Random(seed)
    n, edges = r.randint(2, 40), []
    for k in range(n):
        edges.append(((k, 0), (k, 1), r.choice([1, 1, 3, 10, 4096, 70000])))
        inputs = r.sample(range(k), min(k, r.randint(0, 3)))
        edges += [((j, 1), (k, 0), math.inf) for j in inputs]
        if not inputs or r.random() < 0.3:
            edges.append(("source", (k, 0), r.choice([math.inf, 7, 1000])))
        if r.random() < 0.3 or k == n - 1:
            edges.append(((k, 1), "sink", math.inf))
    ours, theirs = both(edges, "source", "sink")
    assert ours == theirs


def test_no_way_to_the_sink():
    network = Network()
    network.add("a", "b", 2)
    network.add("c", "d", 2)
    assert network.sink_side("a", "d") == {"c", "d"}


def test_no_finite_cut():
    network = Network()
    network.add("a", "b")
    network.add("b", "c")
    with pytest.raises(ValueError, match="finite"):
        network.sink_side("a", "c")
