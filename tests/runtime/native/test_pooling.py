"""Native forms of pooling give the bits of their NumPy kernels."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir.passes import prepare
from chainwright.runtime import eager
from chainwright.runtime.background import BACKGROUND
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
    "one axis, unpadded": ((2, 3, 9), (3,), (7,), (1,), (0,)),
    "along one axis": ((2, 3, 6, 8), (3, 1), (4, 8), (1, 1), (0, 0)),
    "one channel": ((3, 1, 8, 3), (3, 3), (2, 1), (3, 3), (0, 0)),
    "one image": ((1, 3, 8, 8), (2, 2), (4, 4), (2, 2), (0, 0)),
    "three axes": ((2, 3, 6, 7, 8), (2, 3, 2), (4, 4, 4), (2, 2, 2), (1, 1, 0)),
    "whole images": ((4, 5, 5, 5), (5, 5), (1, 1), (5, 5), (0, 0)),
    "whole columns": ((2, 3, 7, 1), (7, 1), (1, 1), (1, 1), (0, 0)),
    "large windows": ((2, 2, 9, 9), (7, 7), (3, 3), (1, 1), (0, 0)),
}


def within(x, order="C"):
    """A part of a larger array, with gaps on all sides."""
    whole = np.zeros([n + 2 for n in x.shape], x.dtype, order)
    whole[(slice(1, -1),) * x.ndim] = x
    return whole[(slice(1, -1),) * x.ndim]


def every_second(x):
    whole = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    whole[..., ::2] = x
    return whole[..., ::2]


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "channels last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
    "height and width": lambda x: x.swapaxes(2, -1).copy().swapaxes(2, -1),
    "channels outermost": lambda x: x.swapaxes(0, 1).copy().swapaxes(0, 1),
    "flipped": lambda x: x[..., ::-1].copy()[..., ::-1],
    "flipped everywhere": lambda x: np.flip(np.flip(x).copy()),
    "within": within,
    "within F": lambda x: within(x, "F"),
    "every second": every_second,
    "broadcast": lambda x: np.broadcast_to(x[:1, :1], x.shape),
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


def compared(name, *arrays, **settings):
    """What the kernel gives, and whether all is native: then bits and strides are the same."""
    function = getattr(pooling, name).__wrapped__
    wanted = function(*arrays, **settings)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    found = run_natively(name, arrays, settings, several)
    if found is not None:
        for got, one in zip(found, several, strict=True):
            assert got.strides == one.strides and same_bits(got, one)
    return wanted, found is not None


def check(name, *arrays, native=True, **settings):
    wanted, is_native = compared(name, *arrays, **settings)
    assert is_native is native
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
        sums = few or name.startswith("whole")
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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("first", [0.5, np.nan])
def test_images_may_lie_in_any_order(name, layout, first):
    shape, ksize, outsize, stride, pad = CASES[name]
    same = {"ksize": ksize, "stride": stride, "pad": pad}
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype("f")
    x.flat[0] = first
    laid = LAYOUTS[layout]
    few = name != "large windows"
    _, indexes = check("max_pooling", laid(x), native=few, outsize=outsize, **same)
    # Sums of whole images are native where sums of arrays of this layout are.
    _, native = compared("sum_pooling", laid(x), outsize=outsize, **same)
    assert native is few or name.startswith("whole")
    gy = rng.standard_normal(indexes.shape).astype("f")
    check("sum_pooling_spread", laid(gy), shape=shape[2:], **same)
    compared("max_pooling_scatter", laid(gy), indexes, shape=shape[2:], **same)
    compared("max_pooling_scatter", gy, laid(indexes), shape=shape[2:], **same)


def _indexed(x):
    return F.max_pooling_2d(F.tanh(x), 2, return_indices=True)


def _twice(x):
    return F.max_pooling_2d(F.max_pooling_2d(x, 2) * x[..., ::2, ::2], 2)


def _upsampled(x):
    y, indexes = F.max_pooling_2d(x, 2, return_indices=True)
    return F.upsampling_2d(y * y, indexes, 2, 2, outsize=x.shape[2:])


_ROIS = np.array([[0, 0, 4, 4], [1, 2, 5, 6]], "f"), np.array([0, 1], "i")
#: Functions of images, and the shape of these.
FUNCTIONS = {
    "max": (lambda x: F.max_pooling_2d(x, 2, cover_all=False), (4, 3, 7, 8)),
    "max, overlapping": (lambda x: F.max_pooling_2d(x, 3, 1, cover_all=False), (4, 3, 7, 8)),
    "max, padded": (lambda x: F.max_pooling_2d(x, 3, 2, 1), (4, 3, 7, 8)),
    "max, 1": (lambda x: F.max_pooling_1d(x, 3, 2, cover_all=False), (4, 3, 17)),
    "max, 3": (lambda x: F.max_pooling_3d(x, 2), (2, 3, 4, 4, 6)),
    "max, with indexes": (_indexed, (4, 3, 8, 8)),
    "max, several": (_twice, (4, 3, 8, 8)),
    "average": (lambda x: F.average_pooling_2d(x, 3, 2), (4, 3, 7, 7)),
    "average, one channel": (lambda x: F.average_pooling_2d(x, 3), (5, 1, 8, 3)),
    "average, padded": (lambda x: F.average_pooling_2d(x, 3, 2, 1), (4, 3, 7, 8)),
    "average, 1": (lambda x: F.average_pooling_1d(x, 3, 2, 1, pad_value=None), (4, 3, 17)),
    "average, 3": (lambda x: F.average_pooling_3d(x, 2), (2, 3, 4, 4, 6)),
    "average, all": (lambda x: F.average_pooling_2d(x, (7, 8)), (4, 3, 7, 8)),
    "unpooling": (lambda x: F.unpooling_2d(x, 3, 2, 1), (4, 3, 5, 6)),
    "unpooling, 1": (lambda x: F.unpooling_1d(x, 2), (4, 3, 9)),
    "upsampling": (_upsampled, (4, 3, 6, 8)),
    "pyramid": (lambda x: F.spatial_pyramid_pooling_2d(x, 3, "max"), (4, 3, 8, 8)),
    "regions": (lambda x: F.roi_max_pooling_2d(x, *_ROIS, 2, 1.0), (4, 3, 7, 8)),
    "regions, averages": (lambda x: F.roi_average_align_2d(x, *_ROIS, 2, 1.0, 2), (4, 3, 7, 8)),
    "response": (lambda x: F.local_response_normalization(x), (4, 6, 5, 6)),
}


def trained(function, images, target, decorate, calls=10):
    """Results and gradients of some calls."""

    class Net(chainer.Chain):
        @decorate
        def forward(self, x):
            return function(x)

    net = Net()
    with chainer.using_config("static_target", target):
        for k in range(calls):
            x = chainer.Variable(images)
            results = net(x)
            y, *others = results if isinstance(results, tuple) else (results,)
            loss = F.sum(y * y)
            loss.backward()
            yield y.array, *others, loss.array, x.grad
            if k in (4, 7):
                BACKGROUND.wait(60)


@pytest.mark.parametrize("target", ["numpy", "native", "auto"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_decorated_methods_give_the_layout_of_undecorated_ones(target, layout, monkeypatch):
    monkeypatch.setattr(eager, "_known", type(eager._known)())
    for name, (function, shape) in FUNCTIONS.items():
        x = LAYOUTS[layout](np.random.default_rng(0).standard_normal(shape).astype("f"))
        wanted = next(trained(function, x, "numpy", lambda f: f))
        for decorate in (lambda f: f, chainer.static_graph):
            for got in trained(function, x, target, decorate):
                assert [a.strides for a in got] == [a.strides for a in wanted], name
                assert all(map(same_bits, got, wanted)), name


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
