"""Native forms of library ops give the bits of their NumPy kernels."""

import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from chainwright.codegen.native_target import program
from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import Graph, build, make, placeholder
from chainwright.runtime import OPTIONS, eager
from chainwright.runtime.kernels import convolution as kernels
from chainwright.runtime.kernels import products
from chainwright.runtime.native import native_target, own_products

sys.path.append(str(Path(__file__).parents[1] / "kernels"))
import test_convolution as cases  # noqa: E402

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch):
    """So that there are several blocks of images, and a smaller one at the end."""
    monkeypatch.setattr(kernels, "_BUFFER_BYTES", 1 << 12)
    monkeypatch.setattr(kernels, "_COLUMNS", 50)


@pytest.fixture
def all_products(monkeypatch):
    """Products of any size are of our own; what define-by-run has compiled is set aside."""
    monkeypatch.setattr(products, "WORK", 1)
    monkeypatch.setattr(eager, "_known", OrderedDict())


def prepared(name, arrays, settings, made):
    inputs = [placeholder(f"x{k}", a.shape, a.dtype, a.strides) for k, a in enumerate(arrays)]
    facts = {"shape": made.shape, "dtype": made.dtype, "strides": made.strides}
    node = make(name, *inputs, kwargs=settings, **facts)
    return build(Graph(tuple(inputs), (node,), (node,), name), {}, TARGET.passes).forward


def check(name, *arrays, native=True, **settings):
    wanted = getattr(kernels, name)(*arrays, **settings)
    graph = prepared(name, arrays, settings, wanted)
    assert all(part.native for part in parts_of(graph, Forms(TARGET.machine))) is native
    loaded = TARGET.program(graph, "test").load()
    scratch, kept = loaded.new_scratch(), loaded.new_kept()
    for _ in range(2):  # the memory is not clean the second time
        (got,) = loaded.function(*arrays, scratch, kept)
        assert got.strides == wanted.strides and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("name", cases.CASES)
def test_convolution(name, dtype):
    x, W, gy, settings, outsize = cases.make(name, dtype)
    images, native = x.shape[2:], x.size > 0 and dtype != np.float16
    forward, back = ways_of(name)
    check("convolution", x, W, native=native and forward, outsize=outsize, **settings)
    check("convolution_transpose", gy, W, native=native and back, outsize=images, **settings)
    check("convolution_weight", x, gy, native=native and forward, ksize=W.shape[2:], **settings)


def ways_of(name):
    """Whether there is native code: dense layers, of which results have one pixel, are NumPy's.

    Their adjoint goes over the pixels of the images where the stride is one.
    """
    dense = name.startswith("one pixel")
    return not dense, not dense or name != "one pixel with pad"


def test_convolutions_work_in_the_same_memory():
    """Also behind a line of Python, before which all of their memory could be made."""
    facts = {"shape": (1, 8, 40, 40), "dtype": np.dtype("f"), "strides": (51200, 6400, 160, 4)}
    settings = {"stride": (1, 1), "pad": (1, 1), "dilate": (1, 1), "groups": 1}
    x, W = placeholder("x", **facts), placeholder("W", (8, 8, 3, 3), np.dtype("f"))
    host = make("host", x, fn=lambda a: (a,))
    nodes = [host, make("pick", host, k=0, **facts)]

    def scratch_bytes():
        graph = Graph((x, W), tuple(nodes), (nodes[-1],), "convolutions")
        return TARGET.program(build(graph, {}, TARGET.passes).forward, "test").scratch_bytes

    sizes = []
    for _ in range(6):
        nodes.append(
            make("convolution", nodes[-1], W, kwargs={"outsize": (40, 40)} | settings, **facts)
        )
        sizes.append(scratch_bytes())
    image = 8 * 40 * 40 * 4
    assert sizes[-1] <= sizes[0] + 3 * image < 2 * sizes[0]


@pytest.mark.skipif(own_products() is None, reason="there are no products of our own here")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", cases.CASES)
def test_products_of_our_own(monkeypatch, all_products, name, dtype, threads):
    """The same bits as the kernel, which asks for each product; nearly those of NumPy's."""
    x, W, gy, settings, outsize = cases.make(name, dtype)
    if not x.size:
        return
    monkeypatch.setattr(OPTIONS, "threads", lambda: threads)
    monkeypatch.setattr(program, "SHARED_BYTES", 1)
    forward, back = ways_of(name)
    calls = [
        ("convolution", x, W, forward, {"outsize": outsize}),
        ("convolution_transpose", gy, W, back, {"outsize": x.shape[2:]}),
        ("convolution_weight", x, gy, forward, {"ksize": W.shape[2:]}),
    ]
    for op, a, b, native, more in calls:
        check(op, a, b, native=native, **more, **settings)
        got = getattr(kernels, op)(a, b, **more, **settings)
        with monkeypatch.context() as patch:
            patch.setattr(OPTIONS, "target", lambda: "numpy")
            wanted = getattr(kernels, op)(a, b, **more, **settings)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(own_products() is None, reason="there are no products of our own here")
@pytest.mark.parametrize("threads", [1, 3])
def test_programs_ask_for_the_setting_when_they_run(monkeypatch, all_products, threads):
    rng = np.random.default_rng(0)
    x, W = (rng.standard_normal(s).astype("f") for s in ((3, 40, 8, 9), (6, 40, 3, 3)))
    outsize, settings = (8, 9), {"stride": (1, 1), "pad": (1, 1), "dilate": (1, 1), "groups": 1}
    monkeypatch.setattr(OPTIONS, "threads", lambda: threads)
    found = {}
    for target in ("native", "numpy"):
        monkeypatch.setattr(OPTIONS, "target", lambda target=target: target)
        found[target] = kernels.convolution(x, W, outsize=outsize, **settings)
    assert found["native"].tobytes() != found["numpy"].tobytes()
    graph = prepared("convolution", (x, W), {"outsize": outsize} | settings, found["native"])
    made = TARGET.program(graph, "test")
    assert made.multiplies
    loaded = made.load()
    for target, wanted in found.items():
        monkeypatch.setattr(OPTIONS, "target", lambda target=target: target)
        (got,) = loaded.function(x, W, loaded.new_scratch(), ())
        assert got.tobytes() == wanted.tobytes()


def test_images_that_are_cut_stay_with_numpy(monkeypatch):
    monkeypatch.setattr(kernels, "_IMAGE_BYTES", 1 << 12)
    x, W, _, settings, outsize = cases.make("some rows at a time", np.float32)
    check("convolution", x, W, native=False, outsize=outsize, **settings)


def test_other_layouts_stay_with_numpy():
    x, W, _, settings, outsize = cases.make("one image at a time", np.float32)
    check("convolution", np.asfortranarray(x), W, native=False, outsize=outsize, **settings)
    check("convolution", x, W.astype("d"), native=False, outsize=outsize, **settings)
