"""Which nodes share a kernel."""

import numpy as np
import pytest
from ir_graphs import Building, array, values_of

from chainwright.ir import constant, interpret, verify
from chainwright.ir.fusion import fuse, has_rows

X, Y, W = array("x", 8, 5), array("y", 8, 5), array("w", 5)


def fused(b, inputs, *outputs):
    graph = b.graph(inputs, *outputs)
    result = fuse(graph)
    assert fuse(result) is result
    verify(result)
    arrays = values_of(graph)
    for one, other in zip(interpret(graph, *arrays), interpret(result, *arrays), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return [[node.op for node in group] for group in result.groups]


def test_chains_rows_and_what_is_the_same_for_all_rows():
    b = Building()
    out = b.tanh(b.add(b.multiply(X, W), 0.5))
    assert fused(b, (X, W), out) == [["multiply", "add", "tanh"]]


def test_reductions_within_rows_and_what_follows():
    b = Building()
    e = b.exp(b.subtract(X, b.max(X, axis=1, keepdims=True)))
    out = b.divide(e, b.sum(e, axis=(1,), keepdims=True))
    assert fused(b, (X,), out) == [["max", "subtract", "exp", "sum", "divide"]]


def test_a_reduced_row_takes_its_axis_back():
    b = Building()
    total = b.reshape(b.sum(X, axis=1), shape=(8, 1))
    assert fused(b, (X,), b.divide(X, total)) == [["sum", "reshape", "divide"]]


def test_a_reduction_over_rows_ends_the_group():
    b = Building()
    centred = b.subtract(X, b.sum(b.square(X), axis=0))
    assert fused(b, (X,), b.tanh(centred)) == [["subtract", "tanh"]]


def test_a_product_between_two_chains():
    b = Building()
    one = b.exp(b.negative(X))
    out = b.tanh(b.negative(b.dot(b.transpose(one), Y)))
    assert fused(b, (X, Y), out) == [["negative", "exp"], ["negative", "tanh"]]


def test_no_circle_through_a_foreign_node():
    """x -> exp -> sum over rows -> add, and exp -> add: the sum lies between exp and add."""
    b = Building()
    e = b.exp(b.negative(X))
    out = b.tanh(b.add(e, b.sum(e, axis=0)))
    assert fused(b, (X,), out) == [["negative", "exp"], ["add", "tanh"]]


def test_what_is_needed_late_is_computed_late():
    b = Building()
    early = b.greater(X, 0.0)
    product = b.dot(Y, b.reshape(W, shape=(5, 1)))
    out = b.multiply(b.add(product, Y), early)
    assert fused(b, (X, Y, W), out) == [["greater", "add", "multiply"]]


def test_neighbours_that_read_one_array():
    b = Building()
    assert fused(b, (X,), b.exp(X), b.tanh(X)) == [["exp", "tanh"]]


@pytest.mark.parametrize(
    "node",
    [
        lambda b: b.exp(array("s", 5, 8, strides=(4, 20))),  # rows are not together in memory
        lambda b: b.exp(array("o", 1, 5)),  # one row
        lambda b: b.sum(array("h", 8, 5, dtype="f2"), axis=1, compute="f4"),  # casts in pieces
        lambda b: b.sum(array("i", 8, 5, dtype="i4"), axis=1),
        lambda b: b.sum(X, axis=None),
        lambda b: b.sum(X, axis=()),
        lambda b: b.mean(X, axis=1),
        lambda b: b.exp(array("c", 8, 5, dtype="c8")),
        lambda b: b.getitem(X, index=slice(None, None, 2)),
        lambda b: b.getitem(X, index=(slice(None), slice(1, 3))),
        lambda b: b.transpose(X),
        lambda b: b.cumsum(X, axis=1, strides=(20, 4)),
        lambda b: b.pow(X, 3),
        lambda b: b.exp(constant(np.float32(1))),
    ],
)
def test_what_has_no_rows(node):
    assert not has_rows(node(Building()))


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("terms, rows, together", [(9, 512, False), (3, 512, True), (9, 8, True)])
def test_sums_of_many_large_products(terms, rows, together, start):
    """A group would keep all of the products until the last one is there."""
    b = Building()
    pairs = [(array(f"a{k}", rows, 3), array(f"b{k}", 3, 512)) for k in range(terms)]
    total = b.tanh(array("s", rows, 512)) if start else b.matmul(*pairs.pop(0))
    for pair in pairs:
        total = b.add(total, b.matmul(*pair))
    inputs = dict.fromkeys(x for node in b.nodes for x in node.inputs if x.op == "placeholder")
    found = fused(b, tuple(inputs), b.tanh(b.negative(total)))
    assert [group.count("add") for group in found] == [len(pairs) if together else 0]


def test_alone_is_no_group():
    b = Building()
    graph = b.graph((X,), b.exp(X))
    assert fuse(graph) is graph


def test_groups_respect_effects_and_writes():
    """The second chain may not join the first: the write and the host call lie between them."""
    state = array("s", 8, 5, kind="state")
    b = Building()
    before = b.multiply(b.exp(state), state)
    b.write(state, X)
    given = b.pick(b.host(X, fn=lambda x: (x,)), k=0, shape=(8, 5), dtype="f4")
    out = b.tanh(b.add(before, given))
    graph = fuse(b.graph((X, state), out))
    verify(graph)
    groups = [[node.op for node in group] for group in graph.groups]
    assert groups == [["exp", "multiply"], ["add", "tanh"]]
    order = [node.op for node in graph.nodes]
    assert order.index("multiply") < order.index("write") < order.index("host") < order.index("add")
