"""Native code touches no byte beside its arrays: all of them lie between zones that are checked.

A zone holds ones in all bits: a NaN for whoever reads it, so that reading one shows as well.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import Graph, Slot, build, interpret, literal, make, placeholder
from chainwright.ir.layout import extent
from chainwright.runtime import eager
from chainwright.runtime.kernels import pooling, random
from chainwright.runtime.native import draws, native_target, same_bits

sys.path.append(str(Path(__file__).parents[1] / "kernels"))
import test_convolution as convolutions  # noqa: E402

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")
ZONE = 4096  # bytes on either side


class Zones:
    """Makes arrays between two zones each."""

    def __init__(self):
        self.made = []

    def empty(self, shape, dtype=np.float64):
        return self.laid_out(shape, np.dtype(dtype), None)

    def laid_out(self, shape, dtype, strides):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        strides = strides or np.zeros(shape, dtype).strides
        size, first = extent(shape, strides, dtype.itemsize)
        memory = np.full(ZONE + size + ZONE, 255, np.uint8)
        self.made.append((memory, size))
        return np.ndarray(shape, dtype, memory.data, ZONE + first, strides)

    def copy(self, array):
        made = self.laid_out(array.shape, array.dtype, array.strides)
        made[...] = array
        return made

    def check(self):
        assert self.made
        for memory, size in self.made:
            assert (memory[:ZONE] == 255).all() and (memory[ZONE + size :] == 255).all()


def run(graph, arrays, wanted, monkeypatch):
    """Run a prepared graph with all its memory between zones, twice in the same."""
    assert all(part.native for part in parts_of(graph, Forms(TARGET.machine)))
    zones = Zones()
    loaded = TARGET.program(graph, "zones").load()
    names = loaded.function.__globals__
    fresh = [name for name, value in names.items() if value is np.empty]
    for name in fresh:
        monkeypatch.setitem(names, name, zones.empty)
    given = [zones.copy(a) for a in arrays]
    with monkeypatch.context() as m:
        m.setattr(np, "empty", zones.empty)
        memory, kept = loaded.new_scratch(), loaded.new_kept()
    before = len(zones.made)
    for _ in range(2):
        with np.errstate(all="ignore"):
            results = loaded.function(*given, memory, kept)
        assert not fresh or len(zones.made) > before
        for got, one in zip(results, wanted, strict=True):
            assert same_bits(got, one)
        zones.check()
    for a, b in zip(given, arrays, strict=True):
        assert same_bits(a, b)


def numbers(*shape, seed=0, dtype="f"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def nodes_of(arrays):
    return [placeholder(f"x{k}", a.shape, a.dtype, a.strides) for k, a in enumerate(arrays)]


def softmax(x):
    top = make("max", x, axis=1, keepdims=True)
    e = make("exp", make("subtract", x, top))
    return [make("divide", e, make("sum", e, axis=1, keepdims=True))]


def mixed(x, y):
    a = make("multiply", make("tanh", x), y)
    b = make("where", make("greater", a, literal(0.0)), make("square", a), make("negative", y))
    return [b, make("sum", b, axis=0), make("sum", make("add", a, b), axis=1)]


def moved(x, y):
    turned = make("copy", make("transpose", x))
    whole = make("concatenate", x, y, axis=1)
    index = (slice(1, None), slice(None, None, 2))
    part = make("getitem", y, index=index)
    return [turned, make("setitem", whole, make("negative", part), index=index)] if (
        part.dims == make("getitem", whole, index=index).dims
    ) else [turned, whole, make("exp", part)]


def products(x, y):
    return [make("dot", x, make("transpose", y)), make("dot", make("transpose", x), y)]


def placed(x, ids):
    return [make("getitem", x, ids, index=(Slot(0),)), make("sum", x, axis=(0, 1))]


def everything(outputs):
    """The nodes that results need, in order."""
    found = {}

    def reach(node):
        if node not in found and not node.is_leaf:
            for x in node.inputs:
                reach(x)
            found[node] = None

    for node in outputs:
        reach(node)
    return tuple(found)


GRAPHS = {
    "softmax": (softmax, [numbers(7, 37)]),
    "softmax of many rows": (softmax, [numbers(301, 65)]),
    "elementwise and sums": (mixed, [numbers(13, 19), numbers(13, 19, seed=1)]),
    "large": (mixed, [numbers(67, 1031), numbers(67, 1031, seed=1)]),
    "turned": (mixed, [numbers(19, 13).T, numbers(13, 19, seed=1)]),
    "double": (mixed, [numbers(13, 19, dtype="d"), numbers(13, 19, seed=1, dtype="d")]),
    "moves": (moved, [numbers(9, 11), numbers(9, 11, seed=1)]),
    "products": (products, [numbers(5, 17), numbers(5, 17, seed=1)]),
    "rows by number": (placed, [numbers(9, 11), np.array([3, 8, 0, -1, 3])]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name, monkeypatch):
    function, arrays = GRAPHS[name]
    inputs = nodes_of(arrays)
    outputs = function(*inputs)
    graph = Graph(tuple(inputs), everything(outputs), tuple(outputs), "graph")
    with np.errstate(all="ignore"):
        wanted = interpret(graph, *arrays)
    run(build(graph, {}, TARGET.passes).forward, arrays, wanted, monkeypatch)


def library(name, function, arrays, settings, monkeypatch):
    wanted = function(*arrays, **settings)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    layouts = [(a.shape, a.dtype, a.strides) for a in arrays]
    graph = eager._op(name, layouts, settings, [(w.shape, w.dtype, w.strides) for w in wanted])
    run(build(graph, {}, TARGET.passes).forward, arrays, wanted, monkeypatch)


@pytest.mark.parametrize("name", [
    "small images together", "one image at a time", "stride, dilation, groups",
    "pad over the filter", "depthwise", "three axes",
])  # fmt: skip
def test_convolutions(name, monkeypatch):
    x, W, gy, settings, outsize = convolutions.make(name, np.float32)
    kernels = convolutions.kernels
    for op, arrays, more in (
        ("convolution", (x, W), {"outsize": outsize}),
        ("convolution_transpose", (gy, W), {"outsize": x.shape[2:]}),
        ("convolution_weight", (x, gy), {"ksize": W.shape[2:]}),
    ):
        function = getattr(kernels, op).__wrapped__
        library(op, function, arrays, {**more, **settings}, monkeypatch)


@pytest.mark.parametrize("shape, ksize, outsize, stride, pad", [
    ((2, 3, 8, 8), (2, 2), (4, 4), (2, 2), (0, 0)),
    ((2, 3, 9, 8), (3, 2), (5, 5), (2, 2), (1, 1)),
    ((2, 3, 9), (3,), (9,), (1,), (1,)),
])  # fmt: skip
def test_pooling(shape, ksize, outsize, stride, pad, monkeypatch):
    same = {"ksize": ksize, "stride": stride, "pad": pad}
    x = numbers(*shape)
    y, indexes = pooling.max_pooling.__wrapped__(x, outsize=outsize, **same)
    for name, arrays, more in (
        ("max_pooling", (x,), {"outsize": outsize}),
        ("sum_pooling", (x,), {"outsize": outsize}),
        ("max_pooling_scatter", (y, indexes), {"shape": shape[2:]}),
        ("sum_pooling_spread", (y,), {"shape": shape[2:]}),
    ):
        library(name, getattr(pooling, name).__wrapped__, arrays, {**same, **more}, monkeypatch)


@pytest.mark.parametrize("n", [1, 311, 312, 313, 2000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masks(n, dtype, monkeypatch):
    zones, state, scale = Zones(), np.random.RandomState(0), dtype(2)
    call = draws.keep()
    monkeypatch.setattr(draws.np, "empty", zones.empty)
    mask = call(state._bit_generator, (n,), 0.5, scale)
    monkeypatch.undo()
    zones.check()
    assert same_bits(mask, random.plain_mask(np.random.RandomState(0), (n,), 0.5, scale))


def test_a_zone_that_is_written_is_found():
    zones = Zones()
    array = zones.copy(numbers(3, 4))
    beyond = np.lib.stride_tricks.as_strided(array, (3, 5))
    zones.check()
    beyond[2, 4] = 0
    with pytest.raises(AssertionError):
        zones.check()
