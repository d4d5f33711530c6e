"""Pictures of graphs, and the interpreter."""

import numpy as np
import pytest
from ir_graphs import Building, array, layer

from chainwright.ir import Slot, build, constant, interpret


def test_networkx():
    forward, _ = layer()
    picture = forward.to_networkx()
    assert picture.number_of_nodes() == 8  # and the literal
    assert picture.number_of_edges() == 7
    assert set(picture.predecessors(forward.nodes[1])) == set(forward.nodes[1].inputs)


def test_graphviz_shows_shapes_lines_and_kernels():
    forward, backward = layer()
    source = build(forward, {"all": backward}).forward.to_dot().source
    assert "f32[100,1000] = dot %x %1" in source
    assert "net.py:15 relu" in source
    assert source.index("cluster_0") < source.index("maximum %3 0.0")


def test_graphviz_marks_effects():
    b = Building()
    drawn = b.random(fn="rand", args=(2,), shape=(2,), dtype="f8")
    assert "color=red" in b.graph((), drawn).to_dot().source


def test_the_interpreter_does_not_write_to_its_inputs():
    x = array("x", 4)
    b = Building()
    at = b.add_at(x, 1.0, constant(np.arange(2)), index=Slot(0))
    graph = b.graph((x,), b.setitem(x, 5.0, index=0), at)
    value = np.zeros(4, "f")
    first, second = interpret(graph, value)
    assert value.tolist() == [0, 0, 0, 0]
    assert first.tolist() == [5, 0, 0, 0] and second.tolist() == [1, 1, 0, 0]


def test_the_interpreter_writes_state():
    state = array("s", 2, kind="state")
    b = Building()
    b.write(state, b.add(state, 1.0))
    value = np.zeros(2, "f")
    assert interpret(b.graph((state,)), value) == ()
    assert value.tolist() == [1, 1]


def test_the_interpreter_wants_all_inputs():
    with pytest.raises(ValueError, match="zip"):
        interpret(layer()[0], np.zeros(1))
