"""Indices that are arrays, counted truth values and stacked products in native code."""

import numpy as np
import pytest
from ir_graphs import Building, array

import chainwright.runtime.kernels.embedding  # noqa: F401 - the row of add_rows
from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import Slot, build, interpret, placeholder
from chainwright.runtime.native import native_target

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")
RNG = np.random.default_rng(0)


def native(graph):
    return TARGET.program(prepared(graph), "test")


def prepared(graph):
    return build(graph, {}, TARGET.passes).forward


def run(program, *values):
    loaded = program.load()
    return loaded.function(*values, loaded.new_scratch(), loaded.new_kept())


def check(graph, *values, whole=True):
    """Same values and layouts as NumPy; ``whole``: all of it is native code."""
    program = native(graph)
    parts = parts_of(prepared(graph), Forms(TARGET.machine))
    assert all(part.native for part in parts) is whole
    for _ in range(2):
        for got, wanted in zip(run(program, *values), interpret(graph, *values), strict=True):
            assert got.strides == wanted.strides and got.dtype == wanted.dtype
            assert got.tobytes() == wanted.tobytes()


def floats(*shape, dtype="f"):
    return RNG.standard_normal(shape).astype(dtype)


def ints(low, high, *shape, dtype="i"):
    return RNG.integers(low, high, shape).astype(dtype)


#: Shape of the array, index arrays, what follows them.
CASES = {
    "rows": ((7, 5), [ints(0, 7, 11)], ()),
    "rows from the end": ((7, 5), [ints(-7, 7, 4, 3)], ()),
    "long": ((7, 5), [ints(-7, 7, 9, dtype="l")], (Ellipsis,)),
    "pairs": ((7, 5), [np.arange(6), ints(-5, 5, 6)], ()),
    "pairs of rows": ((7, 5, 3), [np.arange(6), ints(-5, 5, 6)], (Ellipsis,)),
    "an image": (
        (2, 4, 3, 5),
        [np.arange(2).reshape(2, 1, 1), ints(0, 4, 2, 3, 5), np.arange(3)[:, None], np.arange(5)],
        (),
    ),
    "single": ((7, 5), [np.array(3)], ()),
    "one column": ((7, 5), [np.arange(6)[:, None], ints(0, 5, 1, 4)], ()),
}


def made(name, dtype):
    shape, indices, rest = CASES[name]
    x = array("x", *shape) if dtype == "f" else placeholder("x", shape, np.dtype(dtype))
    nodes = [placeholder(f"i{k}", i.shape, i.dtype) for k, i in enumerate(indices)]
    index = (*(Slot(k) for k in range(len(nodes))), *rest)
    return x, nodes, indices, index


@pytest.mark.parametrize("dtype", ["f", "d", "l", "?", "b"])
@pytest.mark.parametrize("name", CASES)
def test_reading(name, dtype):
    x, nodes, indices, index = made(name, dtype)
    b = Building()
    value = (floats(*x.shape) * 9).astype(dtype)
    expected = value[tuple(indices)]
    y = b.getitem(x, *nodes, index=index, strides=expected.strides, shape=expected.shape)
    check(b.graph((x, *nodes), y), value, *indices)


@pytest.mark.parametrize("name", CASES)
def test_writing(name):
    x, nodes, indices, index = made(name, "f")
    shape = np.empty(x.shape)[tuple(indices)].shape
    b, y = Building(), array("y", *shape)
    z = b.setitem(b.add(x, 1.0), b.multiply(y, 2.0), *nodes, index=index)
    check(b.graph((x, y, *nodes), z), floats(*x.shape), floats(*shape), *indices)


def test_writing_a_row_to_all():
    x, y, i = array("x", 7, 5), array("y", 5), placeholder("i", (3,), np.dtype("i"))
    b = Building()
    z = b.setitem(x, y, i, index=(Slot(0),))
    check(b.graph((x, y, i), z), floats(7, 5), floats(5), ints(0, 7, 3))


def test_the_last_value_stays_where_a_place_comes_twice():
    x, y, i = array("x", 7), array("y", 50), placeholder("i", (50,), np.dtype("i"))
    b = Building()
    check(b.graph((x, y, i), b.setitem(x, y, i, index=(Slot(0),))), *map(floats, (7, 50)),
          ints(-7, 7, 50))


@pytest.mark.parametrize("bad", [7, -8, 2**31 - 1])
def test_out_of_bounds_raises_as_numpy(bad):
    x, i, b = array("x", 7, 5), placeholder("i", (4,), np.dtype("i")), Building()
    program = native(b.graph((x, i), b.getitem(b.add(x, 1.0), i, index=(Slot(0),))))
    index = np.array([0, 3, bad, 2], "i")
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 7"):
        run(program, floats(7, 5), index)
    index[2] = 1
    value = floats(7, 5)
    assert run(program, value, index)[0].tobytes() == (value + np.float32(1))[index].tobytes()


def test_nothing_is_written_where_an_index_is_out_of_bounds():
    x, i, b = array("x", 7), placeholder("i", (4,), np.dtype("i")), Building()
    held = placeholder("held", (7,), np.dtype("f"), kind="external")
    y = b.getitem(x, i, index=(Slot(0),))
    b.write(held, b.multiply(x, 2.0))
    program = native(b.graph((x, i, held), y))
    target = np.zeros(7, "f")
    with pytest.raises(IndexError):
        run(program, floats(7), np.array([0, 1, 9, 2], "i"), target)
    assert not target.any()


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("ignore", [None, -1, 3])
@pytest.mark.parametrize("ids", [ints(-9, 9, 40), ints(0, 9, 4, 10, dtype="l")])
def test_adding_rows(dtype, ignore, ids):
    shape = (*ids.shape, 6)
    rows = placeholder("rows", shape, np.dtype(dtype))
    i, b = placeholder("i", ids.shape, ids.dtype), Building()
    table = b.add_rows(
        rows, i, kwargs=(("length", 9), ("ignore_label", ignore)), shape=(9, 6), dtype=dtype
    )
    check(b.graph((rows, i), table), floats(*shape, dtype=dtype), ids)


def test_adding_rows_out_of_bounds():
    rows, i, b = array("rows", 4, 6), placeholder("i", (4,), np.dtype("i")), Building()
    table = b.add_rows(rows, i, kwargs=(("length", 9),), shape=(9, 6), dtype="f")
    program = native(b.graph((rows, i), table))
    with pytest.raises(IndexError):
        run(program, floats(4, 6), np.array([0, 1, 9, 2], "i"))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_counting(axis):
    x, b = array("x", 30, 7), Building()
    check(b.graph((x,), b.sum(b.greater(x, 0.0), axis=axis)), floats(30, 7))


@pytest.mark.parametrize("lead", [(3,), (3, 4), (2, 3, 4)])
def test_stacked_products(lead):
    """Transposed so that the axes of the stack do not lie in one piece."""
    x, y, b = array("x", *lead, 5, 6), array("y", *lead[::-1], 6, 8), Building()
    axes = (*range(len(lead))[::-1], len(lead), len(lead) + 1)
    z = b.matmul(x, b.transpose(y, axes=axes))
    check(b.graph((x, y), z), floats(*lead, 5, 6), floats(*lead[::-1], 6, 8), whole=len(lead) < 3)


def test_other_indices_stay_calls_of_numpy():
    """Slices between arrays, unsigned numbers."""
    x, b = array("x", 4, 5, 6), Building()
    i, u = placeholder("i", (3,), np.dtype("i")), placeholder("u", (3,), np.dtype("u1"))
    y = b.getitem(x, i, i, index=(Slot(0), slice(None), Slot(1)))
    z = b.getitem(x, u, index=(Slot(0),))
    program = native(b.graph((x, i, u), y, z))
    assert "run(arrays)" not in program.source
    values = floats(4, 5, 6), ints(0, 4, 3), ints(0, 4, 3, dtype="u1")
    for got, wanted in zip(run(program, *values), interpret(b.graph((x, i, u), y, z), *values),
                           strict=True):
        assert got.tobytes() == wanted.tobytes()
