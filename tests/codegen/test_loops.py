"""What programs rely on: NumPy's loops give an element the same bits wherever it stands."""

import warnings

import numpy as np
import pytest
from ir_graphs import Building, array, values_of

from chainwright.codegen.numpy_target import generate, tiles
from chainwright.ir import OPS, build, interpret

UFUNCS = [name for name, row in OPS.items() if "casting" in row.attrs]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def operands(ufunc, kind, count):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(count) * 4 for _ in range(ufunc.nin)]
    if kind == "?":
        return [value > 0 for value in values]
    if ufunc.__name__ in ("log", "log2", "log10", "sqrt", "power", "float_power", "arccosh"):
        values = [abs(value) + (ufunc is np.arccosh) for value in values]
    elif ufunc.__name__ in ("arcsin", "arccos", "arctanh"):
        values = [np.sin(value) for value in values]
    elif kind not in "efd":
        values = [abs(value) for value in values]
    return [value.astype(kind) for value in values]


@pytest.mark.parametrize("name", UFUNCS)
def test_in_pieces_and_in_place(name):
    ufunc = getattr(np, name)
    for kind in "?bBhHiIlLefd":
        inputs = operands(ufunc, kind, 1013)
        try:
            whole = ufunc(*inputs)
        except (TypeError, ValueError):
            continue
        for size in (1, 2, 5, 16, 37, 500):
            pieces = [ufunc(*(x[k : k + size] for x in inputs)) for k in range(0, 1013, size)]
            assert np.concatenate(pieces).tobytes() == whole.tobytes(), (kind, size)
        for k, x in enumerate(inputs):
            if x.dtype == whole.dtype:
                copies = [value.copy() for value in inputs]
                ufunc(*copies, out=copies[k])
                assert copies[k].tobytes() == whole.tobytes(), (kind, k)


def rowwise(x, w, op, axis):
    """A chain with a reduction inside rows and what follows it."""
    b = Building()
    h = b.exp(b.multiply(b.add(b.multiply(x, w), 0.25), 0.1))
    r = getattr(b, op)(h, axis=axis, keepdims=True)
    y = b.divide(b.subtract(h, b.multiply(r, 0.01)), b.add(b.absolute(r), 1.0))
    return b.graph((x, w), y, getattr(b, op)(b.square(y), axis=axis))


SHAPES = [
    ((50, 1000), (1000,), 1, 90_000, 1),
    ((23, 7, 401), (1, 1, 401), 2, 40_000, 1),
    ((23, 7, 401), (7, 1), (1, 2), 40_000, 1),
    ((23, 7, 401), (1, 7, 1), 1, 40_000, 1),
    ((3, 64, 9, 11), (64, 1, 1), (2, 3), 9_000, 2),
    ((3, 64, 9, 11), (1, 64, 9, 11), 3, 9_000, 2),
    ((2, 5, 4099), (2, 5, 1), 2, 40_000, 2),
    ((999, 1), (1,), 1, 400, 1),
]


@pytest.mark.parametrize("op", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, other, axis, size, depth", SHAPES)
def test_tiles_change_no_bit(op, dtype, shape, other, axis, size, depth, monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", size * np.dtype(dtype).itemsize // 4)
    monkeypatch.setattr(tiles, "WORTHWHILE_BYTES", 1)
    x, w = array("x", *shape, dtype=dtype), array("w", *other, dtype=dtype)
    graph = rowwise(x, w, op, axis)
    values = values_of(graph)
    program = generate(build(graph, {}).forward, title="rows")
    assert ("for i in tiles:" if depth == 1 else "for i, j in tiles:") in program.source
    loaded = program.load()
    got = loaded.function(*values, loaded.new_scratch(), ())
    for one, two in zip(got, interpret(graph, *values), strict=True):
        assert one.tobytes() == two.tobytes() and one.strides == two.strides


def test_the_last_tile_repeats_rows_of_the_one_before():
    x = array("x", 1000, 1000)
    b = Building()
    graph = b.graph((x,), b.tanh(b.multiply(b.add(x, 1.0), 2.0)))
    source = generate(build(graph, {}).forward, title="rest").source
    assert "[slice(i, i + 32) for i in (*range(0, 968, 32), 968)]" in source


def test_other_layouts_of_what_is_read(monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", 4000)
    monkeypatch.setattr(tiles, "WORTHWHILE_BYTES", 1)
    x = array("x", 50, 40, strides=(4, 200))
    y, z = array("y", 50, 40, strides=(-400, 8)), array("z", 1, 40, strides=(0, 4))
    b = Building()
    total = b.add(b.add(b.copy(x, strides=(160, 4)), y, strides=(160, 4)), z, strides=(160, 4))
    graph = b.graph((x, y, z), b.sum(b.tanh(total), axis=1))
    loaded = generate(build(graph, {}).forward, title="layouts").load()
    assert "y_i = y[i]" in loaded.program.source
    values = [
        np.random.default_rng(0).standard_normal((40, 50)).astype("f").T,
        np.random.default_rng(1).standard_normal((50, 100)).astype("f")[::-1, 10:90:2],
        np.random.default_rng(2).standard_normal((1, 40)).astype("f"),
    ]
    (got,) = loaded.function(*values, loaded.new_scratch(), ())
    assert got.tobytes() == interpret(graph, *values)[0].tobytes()
