"""The constructor of nodes: rules, and what it refuses."""

import numpy as np
import pytest

from chainwright.ir import IRError, Slot, constant, literal, make, placeholder, register_library
from chainwright.ir.op import OPS

X = placeholder("x", (3, 4), "f4")
T = placeholder("t", (3, 4), "f4", strides=(4, 12))


def test_a_node_is_complete_at_birth():
    node = make("sum", X, axis=0)
    assert (node.shape, node.dtype, node.strides) == ((4,), np.float32, (4,))
    assert node.attr("keepdims") is False
    assert repr(node) == "<sum f32[4]>"


def test_nodes_compare_by_identity():
    assert make("exp", X) != make("exp", X)


@pytest.mark.parametrize(
    "other, dtype",
    [
        (literal(2), "f4"),
        (literal(0.5), "f4"),
        (literal(2j), "c8"),
        (constant(np.float64(2)), "f8"),
        (constant(np.arange(4)), "f8"),
    ],
)
def test_promotion(other, dtype):
    assert make("multiply", X, other).dtype == dtype


def test_layouts_follow_the_inputs():
    assert make("exp", T).strides == (4, 12)
    assert make("add", T, X).strides == (16, 4)
    assert make("transpose", X).strides == (4, 16)
    assert make("getitem", X, index=(slice(None, None, -1), 1)).strides == (-16,)
    assert make("reshape", X, shape=(2, 6)).strides == (24, 4)
    assert make("reshape", T, shape=(12,)).strides == (4,)
    assert make("zeros", shape=(2, 3), dtype="f4", order=(1, 0)).strides == (4, 8)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: make("addd", X, X), "there is no op 'addd'"),
        (lambda: make("add", X), "add takes 2 inputs, got 1"),
        (lambda: make("sum", X, axes=0), "sum has no attribute axes"),
        (lambda: make("getitem", X), "getitem needs the attribute index"),
        (lambda: make("exp", X, shape=(4, 3)), r"the shape is \(4, 3\), the rule says \(3, 4\)"),
        (lambda: make("exp", X, dtype="f8"), "the dtype is float64, the rule says float32"),
        (lambda: make("reshape", X), "no rule for its shape: pass shape="),
        (lambda: make("cast", X), "no rule for its dtype: pass dtype="),
        (lambda: make("dot", X, X), "do not fit"),
        (lambda: make("sum", X, axis=2), "axis 2 is out of bounds"),
        (lambda: make("transpose", X, axes=(0, 0)), "do not permute"),
        (lambda: make("add", X, placeholder("o", (3, 4), "O"), dtype="f4"), "dtype"),
        (lambda: make("exp", placeholder("s", (2,), "U3")), "exp has no loop for"),
        (lambda: placeholder("x", (3,), "f4", kind="input"), "no kind of placeholder 'input'"),
        (lambda: literal(np.float32(1)), "make it a constant"),
        (lambda: make("call", X, fn=np.exp, args=(np.zeros(2),), shape=(), dtype="f4"), "Slot"),
        (lambda: X.attr("axis"), "op 'placeholder' has no attribute 'axis'"),
    ],
)
def test_errors_say_what_is_wrong(build, message):
    with pytest.raises(IRError, match=message):
        build()


def test_an_index_by_a_mask_has_no_shape_to_know():
    mask = placeholder("m", (3, 4), "?")
    with pytest.raises(IRError, match="depends on data: use where"):
        make("getitem", X, mask, index=Slot(0))


def test_several_results_are_picked():
    pair = make("host", X, fn=divmod, n_outputs=2)
    assert pair.shape is None and pair.dtype is None
    first = make("pick", pair, k=0, shape=(3,), dtype="f4")
    second = make("pick", pair, k=1, dtype=object)
    assert first.is_array and not second.is_array


def test_a_constant_is_kept_by_reference_and_keeps_its_layout():
    array = np.ones((2, 3)).T
    node = constant(array)
    assert node.attr("box").value is array and node.strides == array.strides


def test_libraries_register_once():
    name = "test_make_double"
    try:
        register_library(name, lambda x: x * 2)
        assert make(name, X, shape=(3, 4), dtype="f4").op == name
        with pytest.raises(ValueError, match="registered already"):
            register_library(name, lambda x: x)
    finally:
        OPS.pop(name, None)
