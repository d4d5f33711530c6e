"""The rewrites: each row where it fits, and where it must not."""

import numpy as np
import pytest
from ir_graphs import Building, array, values_of

from chainwright.ir import constant, interpret, literal, make
from chainwright.ir.algebra import ROWS, rewritten

X, INTS, C = array("x", 3, 4), array("i", 3, 4, dtype="i4"), array("c", 3, 4, dtype="c8")
T = array("t", 3, 4, strides=(4, 12))


def n(op, *inputs, **facts):
    nodes = [literal(x) if isinstance(x, int | float) else x for x in inputs]
    return make(op, *nodes, **facts)


# (row, node, what stands in for it: a node's op, or the node itself)
FITS = [
    ("x * 1 -> x", n("multiply", X, 1), X),
    ("x * 1 -> x", n("multiply", 1.0, X), X),
    ("x * 1 -> x", n("divide", X, 1.0), X),
    ("x * 1 -> x", n("multiply", INTS, 1), INTS),
    ("x - 0 -> x", n("subtract", X, 0), X),
    ("--x -> x", n("negative", n("negative", X)), X),
    ("cast to the same -> x", n("cast", X, dtype="f4"), X),
    ("cast to the same -> x", n("copy", T), T),
    ("cast to the same -> x", n("positive", X), X),
    ("reshape to the same -> x", n("reshape", X, shape=(3, 4)), X),
    ("reshape to the same -> x", n("broadcast_to", X, shape=(3, 4)), X),
    ("reshape of reshape", n("reshape", n("reshape", X, shape=(12,)), shape=(2, 6)), "reshape"),
    ("transpose of transpose", n("transpose", n("transpose", T)), "transpose"),
    ("transpose to the same -> x", n("transpose", X, axes=(0, 1)), X),
    ("elementwise of broadcast_to", n("add", X, n("broadcast_to", X, shape=(3, 4))), "add"),
    ("mean -> sum / n", n("mean", X, axis=0), "divide"),
    ("mean -> sum / n", n("mean", T, axis=(1,), keepdims=True), "divide"),
    ("mean -> sum / n", n("mean", n("greater", X, 0.5), axis=0), "divide"),
    ("x ** 2 -> square", n("pow", X, 2), "square"),
    ("x ** 2 -> square", n("pow", X, 0.5), "sqrt"),
    ("x ** 2 -> square", n("pow", X, -1.0), "reciprocal"),
    ("x ** 2 -> square", n("pow", X, constant(np.float32(2))), "square"),
    ("x ** 2 -> square", n("pow", X, constant(np.array(0.5, "f"))), "sqrt"),
    ("stack -> concatenate", n("stack", X, X, axis=-1), "concatenate"),
    ("stack -> concatenate", n("stack", T, X, axis=0), "concatenate"),
]
STAYS = [
    n("multiply", INTS, 1.0),  # gives float64
    n("multiply", C, 1),  # inf * (1 + 0j) is nan
    n("multiply", array("h", 4), n("cast", array("o", 1), dtype="f4")),
    n("divide", INTS, 1),
    n("divide", 1.0, X),
    n("multiply", X, 1.0, compute="f8"),
    n("multiply", array("v", 3, 4, strides=(32, 4)), 1),  # gives another layout
    n("add", X, 0.0),  # turns -0.0 into 0.0
    n("subtract", X, -0.0),
    n("subtract", 0.0, X),
    n("cast", X, dtype="f8"),
    n("stack", n("sum", X), 1.0),
    n("copy", T, strides=(16, 4)),
    n("reshape", X, shape=(4, 3)),
    n("mean", INTS),
    n("mean", array("e", 3, 4, dtype="f2")),  # accumulates in float32
    n("mean", array("z", 0, 4)),
    n("pow", INTS, 2),
    n("pow", X, 3),
    n("pow", X, constant(np.float64(2))),  # gives float64
    n("pow", X, constant(np.full(4, 2, "f"))),
]


@pytest.mark.parametrize("name, node, expected", FITS, ids=[f"{c[0]} {c[1]}" for c in FITS])
def test_fits(name, node, expected):
    row = next(row for row in ROWS if row.name == name)
    new = row.build(node)
    assert new is expected or new.op == expected
    assert (new.shape, new.dtype, new.strides) == (node.shape, node.dtype, node.strides)
    same_bits(node, rewritten(node))


@pytest.mark.parametrize("node", STAYS, ids=str)
def test_stays(node):
    assert rewritten(node) is node


def test_every_row_is_tested():
    assert {row.name for row in ROWS} == {case[0] for case in FITS}


def same_bits(node, new):
    inputs = tuple(dict.fromkeys(x for x in _ancestors(node) if x.op == "placeholder"))
    arrays = values_of(Building().graph(inputs))
    with np.errstate(all="ignore"):
        for special in (1.0, np.nan, -0.0, np.inf, 1e-42):
            arrays[0].flat[1] = special if arrays[0].dtype.kind == "f" else 1
            old_bits, new_bits = (run(x, inputs, arrays) for x in (node, new))
            assert old_bits == new_bits


def run(node, inputs, arrays):
    b = Building()
    b.nodes = [x for x in reversed(_ancestors(node)) if not x.is_leaf]
    b.nodes = list(dict.fromkeys(b.nodes))
    (value,) = interpret(b.graph(inputs, node), *arrays)
    value = np.asarray(value)
    return value.tobytes(), value.dtype, value.shape


def _ancestors(node):
    found, waiting = [], [node]
    while waiting:
        found.append(waiting.pop(0))
        waiting.extend(found[-1].inputs)
    return found


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("exponent", [2, 0.5, -1, 2.0, -0.5, 3])
@pytest.mark.parametrize("kind", ["number", "scalar", "array"])
def test_powers_are_those_of_numpy(dtype, exponent, kind):
    """NumPy takes short cuts for some exponents, by their type; -0.0 and -inf tell."""
    x = np.array([-0.0, -np.inf, np.inf, np.nan, 4, -1, 6e-8, 60000], dtype)
    value = exponent if kind == "number" else x.dtype.type(exponent)
    value = np.array(value) if kind == "array" else value
    node = literal(value) if kind == "number" else constant(value)
    leaf = array("x", 8, dtype=dtype)
    with np.errstate(all="ignore"):
        bits, *_ = run(rewritten(make("pow", leaf, node)), (leaf,), [x])
        assert bits == (x**value).tobytes()
