"""Native forms of library ops give the bits of their NumPy kernels."""

import sys
from pathlib import Path

import numpy as np
import pytest

from chainwright.codegen.native_target.steps import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import Graph, build, make, placeholder
from chainwright.runtime.kernels import convolution as kernels
from chainwright.runtime.native import native_target

sys.path.append(str(Path(__file__).parents[1] / "kernels"))
import test_convolution as cases  # noqa: E402

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch):
    """So that there are several blocks of images, and a smaller one at the end."""
    monkeypatch.setattr(kernels, "_BUFFER_BYTES", 1 << 12)
    monkeypatch.setattr(kernels, "_COLUMNS", 50)


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
    native = x.size > 0 and dtype != np.float16
    check("convolution", x, W, native=native, outsize=outsize, **settings)
    images = x.shape[2:]
    check("convolution_transpose", gy, W, native=native, outsize=images, **settings)
    check("convolution_weight", x, gy, native=native, ksize=W.shape[2:], **settings)


def test_images_that_are_cut_stay_with_numpy(monkeypatch):
    monkeypatch.setattr(kernels, "_IMAGE_BYTES", 1 << 12)
    x, W, _, settings, outsize = cases.make("some rows at a time", np.float32)
    check("convolution", x, W, native=False, outsize=outsize, **settings)


def test_other_layouts_stay_with_numpy():
    x, W, _, settings, outsize = cases.make("one image at a time", np.float32)
    check("convolution", np.asfortranarray(x), W, native=False, outsize=outsize, **settings)
    check("convolution", x, W.astype("d"), native=False, outsize=outsize, **settings)
