"""A large ``where`` as operations on bits: where it fits, where it must not, and the same bits."""

import numpy as np
import pytest

from chainwright.codegen.numpy_target.select import select_bits, select_large
from chainwright.ir import Graph, interpret, literal, make, placeholder

X, BIG, SMALL = (
    placeholder(n, s, "f4") for n, s in [("x", (3, 4)), ("b", (128, 256)), ("s", (1, 256))]
)


def where(flags_of, *choices):
    flags = make("less", flags_of, literal(0.0))
    return make("where", flags, *(literal(c) if isinstance(c, float) else c for c in choices))


@pytest.mark.parametrize(
    "node", [where(BIG, BIG, 0.0), where(BIG, -0.0, BIG), where(BIG, SMALL, BIG)]
)
def test_fits(node):
    inputs = (BIG, SMALL)
    graph = Graph(inputs, (node.inputs[0], node), (node,))
    selected = select_large(graph)
    assert select_large(selected) is selected
    (new,) = selected.outputs
    assert new.op == "bitcast"
    assert (new.shape, new.dtype, new.strides) == (node.shape, node.dtype, node.strides)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(x.shape).astype("f") for x in inputs]
    for special in (1.0, np.nan, -0.0, np.inf, 1e-42):
        arrays[0].flat[1] = special
        (old,), (other,) = interpret(graph, *arrays), interpret(selected, *arrays)
        assert old.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    "node",
    [where(X, X, 0.0), where(BIG, BIG, make("cast", BIG, dtype="f8"))],
    ids=["small: branches cost less than calls", "another dtype"],
)
def test_stays(node):
    assert select_bits(node) is None
