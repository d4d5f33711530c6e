"""Native forms of pooling give the bits of their NumPy kernels."""

import numpy as np
import pytest

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir.passes import prepare
from chainwright.runtime import eager
from chainwright.runtime.kernels import pooling
from chainwright.runtime.native import native_target, same_bits

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")

#: Shape, size of windows, how many, strides, pads.
CASES = {
    "2 by 2": ((2, 3, 8, 8), (2, 2), (4, 4), (2, 2), (0, 0)),
    "apart": ((2, 3, 9, 9), (2, 2), (3, 3), (3, 3), (0, 0)),
    "overlapping": ((2, 3, 8, 8), (3, 3), (4, 4), (2, 2), (0, 0)),
    "padded": ((2, 3, 9, 8), (3, 2), (5, 5), (2, 2), (1, 1)),
    "one axis": ((2, 3, 9), (3,), (9,), (1,), (1,)),
    "three axes": ((2, 3, 6, 7, 8), (2, 3, 2), (4, 4, 4), (2, 2, 2), (1, 1, 0)),
    "whole images": ((4, 5, 5, 5), (5, 5), (1, 1), (5, 5), (0, 0)),
    "large windows": ((2, 2, 9, 9), (7, 7), (3, 3), (1, 1), (0, 0)),
}


def run_natively(name, arrays, settings, wanted):
    """What a program of one op gives, or None if not all of it is native."""
    layouts = [(a.shape, a.dtype, a.strides) for a in arrays]
    graph = eager._op(name, layouts, settings, [(w.shape, w.dtype, w.strides) for w in wanted])
    graph = prepare(graph, TARGET.passes)
    if not all(part.native for part in parts_of(graph, Forms(TARGET.machine))):
        return None
    loaded = TARGET.program(graph, "test").load()
    memory, kept = loaded.new_scratch(), loaded.new_kept()
    loaded.function(*arrays, memory, kept)  # the memory is not clean the second time
    return loaded.function(*arrays, memory, kept)


def check(name, *arrays, native=True, **settings):
    function = getattr(pooling, name).__wrapped__
    wanted = function(*arrays, **settings)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    found = run_natively(name, arrays, settings, several)
    assert (found is not None) is native
    for got, one in zip(found or (), several, strict=native):
        assert got.strides == one.strides and same_bits(got, one)
    return wanted


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    return request.param


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["numbers", "ties", "special"])
def test_all(name, kind, dtype):
    shape, ksize, outsize, stride, pad = CASES[name]
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    if kind == "ties":
        x = np.round(x)  # with zeros of both signs
    if kind == "special":
        x.flat[::7], x.flat[3::11], x.flat[5::13] = np.nan, np.inf, -np.inf
    same = {"ksize": ksize, "stride": stride, "pad": pad}
    few = name != "large windows"
    with np.errstate(all="ignore"):
        y, indexes = check("max_pooling", x, native=few, outsize=outsize, **same)
        sums = few or name == "whole images"
        check("sum_pooling", x, native=sums, outsize=outsize, **same)
    gy = rng.standard_normal(y.shape).astype(dtype)
    gy.flat[:2] = -0.0
    check("max_pooling_scatter", gy, indexes, shape=shape[2:], **same)
    check("sum_pooling_spread", gy, shape=shape[2:], **same)


def test_other_types_and_layouts_stay_with_numpy():
    shape, ksize, outsize, stride, pad = CASES["2 by 2"]
    same = {"ksize": ksize, "stride": stride, "pad": pad}
    x = np.random.default_rng(0).standard_normal(shape)
    y, indexes = check("max_pooling", x.astype("e"), native=False, outsize=outsize, **same)
    check("max_pooling_scatter", y, indexes, native=False, shape=shape[2:], **same)
    y = y.astype("f")
    check("max_pooling_scatter", y, indexes.astype("i"), native=False, shape=shape[2:], **same)
    turned = y.transpose(0, 1, 3, 2)
    check("max_pooling_scatter", turned, indexes, native=False, shape=shape[2:], **same)


def test_images_may_lie_in_any_order():
    shape, ksize, outsize, stride, pad = CASES["padded"]
    x = np.random.default_rng(0).standard_normal((*shape[::-1],)).astype("f").transpose()
    check("max_pooling", x, outsize=outsize, ksize=ksize, stride=stride, pad=pad)
    check("sum_pooling", x, outsize=outsize, ksize=ksize, stride=stride, pad=pad)


@pytest.mark.parametrize("index", [4, -5, 1 << 40])
def test_an_index_out_of_bounds_raises(index, monkeypatch):
    monkeypatch.setattr(eager.OPTIONS, "target", lambda: "native")
    monkeypatch.setattr(eager, "_known", type(eager._known)())
    settings = {"ksize": (2, 2), "shape": (4, 4), "stride": (2, 2), "pad": (0, 0)}
    y, indexes = np.ones((1, 1, 2, 2), "f"), np.zeros((1, 1, 2, 2), np.int64)
    for _ in range(6):
        pooling.max_pooling_scatter(y, indexes, **settings)
    assert [p.trusted for p in eager._known.values()] == [True]
    indexes[0, 0, 1, 1] = -1  # the last place, as ever
    wanted = pooling.max_pooling_scatter.__wrapped__(y, indexes, **settings)
    assert same_bits(pooling.max_pooling_scatter(y, indexes, **settings), wanted)
    indexes[0, 0, 1, 1] = index
    with pytest.raises(IndexError):
        pooling.max_pooling_scatter(y, indexes, **settings)
