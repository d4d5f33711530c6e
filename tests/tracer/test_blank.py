"""Traces whose values nobody wants: no memory, and no large products."""

import contextlib

import numpy as np
import pytest

from chainwright import tracer
from chainwright.runtime import kernels
from chainwright.runtime.kernels import products

A, B = np.ones((300, 120), "f"), np.ones((120, 260), "f")
LAYOUTS = {
    "rows": (A, B),
    "columns": (np.asfortranarray(A), np.asfortranarray(B)),
    "transposed": (np.ones((120, 300), "f").T, np.ones((260, 120), "f").T),
    "with gaps": (np.ones((300, 240), "f")[:, ::2], np.ones((240, 260), "f")[::2]),
    "backwards": (A[::-1], B[:, ::-1]),
    "double": (A.astype("d"), B.astype("d")),
    "with a vector": (np.ones((1100, 1000), "f"), np.ones(1000, "f")),
    "of two dtypes": (A, B.astype("d")),
    "few rows": (A[:3].repeat(12, 0), np.ones((120, 900), "f")),
}


def recorded(a, b, virtual):
    """The node of a product, and the array in its place."""
    rec = tracer.Recorder()
    with tracer.virtual() if virtual else contextlib.nullcontext():
        made = products.dot(rec.wrap(a), rec.wrap(b))
    return made.node(), made.held


@pytest.mark.parametrize("name", LAYOUTS)
def test_large_products_have_their_form_and_no_values(name):
    a, b = LAYOUTS[name]
    node, value = recorded(a, b, virtual=True)
    real, computed = recorded(a, b, virtual=False)
    assert (node.op, node.shape, node.dtype, node.strides) == (
        real.op, real.shape, real.dtype, real.strides)
    assert value.strides == computed.strides and value.dtype == computed.dtype
    assert not value.any() and computed.all()


OPERATIONS = {
    "add": lambda x: x + x,
    "scaled": lambda x: x * 2,
    "with doubles": lambda x: x * np.ones(x.shape[-1]),
    "with a column": lambda x: x - x[:, :1],
    "compared": lambda x: x > 0.5,
    "other layout": lambda x: x[:120] + x[:120].T,
    "exp": lambda x: np.exp(x),
    "joined": lambda x: np.concatenate((x, x), axis=1),
    "stacked": lambda x: np.stack([x, x, x], axis=1),
    "running": lambda x: np.cumsum(x, axis=0),
    "running flat": lambda x: np.cumsum(x),
    "running counts": lambda x: np.cumsum(x > 0.5, axis=1),
}
FORMS = {
    "rows": A, "columns": np.asfortranarray(A), "gaps": np.ones((300, 240), "f")[:, ::2],
    "backwards": A[::-1], "integers": A.astype("i"), "halves": A.astype("e"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_large_results_have_the_form_that_numpy_gives_them(name, form):
    """By rule or computed: what comes after them depends on it to the last bit."""
    array = FORMS[form]
    rec = tracer.Recorder()
    with tracer.virtual():
        made = OPERATIONS[name](rec.wrap(array))
    expected, node = OPERATIONS[name](array), made.node()
    assert rec.live
    for found in (made.held, node):
        assert (found.shape, found.dtype, found.strides) == (
            expected.shape, expected.dtype, expected.strides)


def test_what_is_large_is_not_computed(monkeypatch):
    """Nor is what is written into it."""
    x, computed = tracer.Recorder().wrap(A), []
    monkeypatch.setattr(tracer.recarray, "unwrap", computed.append)
    with tracer.virtual():
        y = np.concatenate((np.exp(x) + x, x), axis=1)
        y += y
    assert y.shape == (300, 240) and not computed


def test_small_products_are_computed():
    node, value = recorded(A[:5], B[:, :5], virtual=True)
    assert node.shape == (5, 5) and (value == 120).all()


def test_how_things_are_recorded_is_a_matter_of_the_thread_and_the_block():
    with kernels.recording(for_any_sizes=True):
        with kernels.recording(loops_are_ops=True):
            assert kernels.RECORDING.for_any_sizes and kernels.RECORDING.loops_are_ops
        assert kernels.RECORDING.for_any_sizes and not kernels.RECORDING.loops_are_ops
    with pytest.raises(ValueError), kernels.recording(for_any_sizes=True):
        raise ValueError
    assert not kernels.RECORDING.for_any_sizes


def test_small_results_have_no_memory_either():
    """Those of numbers that no index can be: they lie in memory that nothing is written to."""
    rec = tracer.Recorder()
    x, tiny = rec.wrap(np.ones((8, 40), "f")), rec.wrap(np.ones((2, 40), "f"))
    with tracer.virtual():
        y, z = x + x, x * x
        small = tiny + tiny
        index = rec.wrap(np.ones((8, 40), "i4")) + rec.wrap(np.ones((8, 40), "i4"))
    assert not y.held.any() and y.held.strides == (160, 4)
    assert not np.may_share_memory(y.held, z.held)
    assert (small.held == 2).all() and (index.held == 2).all()
    assert ((x + x).held == 2).all()


def test_what_is_written_to_them_is_let_go_of():
    with tracer.virtual():
        first = tracer.blank((16, 16), "f4")
        first[...] = 1
        tracer.let_go()
        assert not first.any()
        backwards = tracer.blank((16, 16), "f4", (64, -4))
        backwards[...] = 2
        assert (backwards == 2).all() and not first.any()
    after = tracer.blank((16, 16), "f4")
    after[...] = 3
    assert (backwards == 2).all()


def test_many_small_ones_are_apart():
    with tracer.virtual():
        found = [tracer.blank((k % 7 + 3, 333), "f4") for k in range(400)]
        for k, array in enumerate(found):
            array[...] = k
    assert all([(array == k).all() for k, array in enumerate(found)])
