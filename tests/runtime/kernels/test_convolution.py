"""Convolution kernels against their definition, on shapes that take each of their ways."""

import itertools
import math

import numpy as np
import pytest

from chainwright.runtime.kernels import convolution as kernels
from chainwright.runtime.kernels import windows

# name: n, c, co, spatial, ksize, stride, pad, dilate, groups, outsize (None: all that fit)
CASES = {
    "small images together": (5, 3, 4, (5, 6), (3, 2), (1, 1), (1, 0), (1, 1), 1, None),
    "one image at a time": (2, 2, 3, (18, 17), (3, 3), (1, 1), (0, 0), (1, 1), 1, None),
    "some rows at a time": (1, 2, 2, (30, 40), (3, 3), (1, 1), (1, 1), (1, 1), 1, None),
    "pointwise": (3, 4, 6, (4, 5), (1, 1), (1, 1), (0, 0), (1, 1), 2, None),
    "pointwise with stride": (3, 4, 6, (5, 5), (1, 1), (2, 2), (0, 0), (1, 1), 1, None),
    "stride, dilation, groups": (2, 4, 6, (9, 8), (3, 2), (2, 3), (1, 2), (2, 1), 2, None),
    "many results, no mirroring": (2, 2, 12, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 1, None),
    "pad over the filter": (2, 3, 2, (4, 4), (2, 2), (1, 1), (3, 3), (1, 1), 1, None),
    "reaching over the end": (2, 2, 2, (5, 6), (2, 2), (3, 2), (0, 1), (1, 1), 1, (2, 4)),
    "depthwise": (2, 4, 4, (6, 5), (3, 2), (1, 1), (1, 0), (1, 1), 4, None),
    "one result": (2, 3, 1, (6, 5), (3, 2), (1, 1), (1, 0), (1, 1), 1, None),
    "one axis": (3, 2, 4, (12,), (5,), (2,), (2,), (1,), 2, None),
    "three axes": (2, 2, 3, (4, 3, 5), (2, 1, 3), (1, 1, 2), (1, 0, 1), (1, 1, 1), 1, None),
    "one pixel": (7, 40, 24, (3, 2), (3, 2), (1, 1), (0, 0), (1, 1), 1, None),
    "one pixel, in groups": (6, 48, 24, (3, 3), (3, 3), (1, 1), (0, 0), (1, 1), 2, None),
    "one pixel with pad": (6, 40, 24, (2, 1), (3, 3), (2, 2), (1, 1), (1, 1), 1, None),
    "one row": (6, 40, 24, (3, 5), (3, 2), (1, 1), (0, 0), (1, 1), 1, None),
    "no image": (0, 2, 3, (5, 6), (2, 2), (1, 1), (0, 0), (1, 1), 1, None),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(kernels, "_IMAGE_BYTES", 1 << 16)


def make(name, dtype=np.float64):
    n, c, co, spatial, ksize, stride, pad, dilate, groups, outsize = CASES[name]
    rng = np.random.RandomState(0)
    if outsize is None:
        outsize = tuple(
            (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, k, s, p, d in zip(spatial, ksize, stride, pad, dilate, strict=True)
        )
    x = rng.standard_normal((n, c, *spatial)).astype(dtype)
    W = rng.standard_normal((co, c // groups, *ksize)).astype(dtype)
    gy = rng.standard_normal((n, co, *outsize)).astype(dtype)
    settings = {"stride": stride, "pad": pad, "dilate": dilate, "groups": groups}
    return x, W, gy, settings, outsize


def by_definition(x, W, outsize, stride, pad, dilate, groups):
    y = np.zeros((len(x), len(W), *outsize))
    per_group = len(W) // groups
    for place in itertools.product(*map(range, outsize)):
        for offset in itertools.product(*map(range, W.shape[2:])):
            at = [
                i * s + k * d - p
                for i, s, k, d, p in zip(place, stride, offset, dilate, pad, strict=True)
            ]
            if any(a < 0 or a >= size for a, size in zip(at, x.shape[2:], strict=True)):
                continue
            pixel = x[(slice(None), slice(None), *at)]
            for o in range(len(W)):
                first = o // per_group * W.shape[1]
                y[(slice(None), o, *place)] += (
                    pixel[:, first : first + W.shape[1]] @ W[(o, slice(None), *offset)]
                )
    return y


@pytest.mark.parametrize("name", CASES)
def test_convolution(name):
    x, W, _, settings, outsize = make(name)
    y = kernels.convolution(x, W, outsize=outsize, **settings)
    np.testing.assert_allclose(y, by_definition(x, W, outsize, **settings), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_adjoints(name):
    # <gy, x * W> is the same whichever of the three is taken out.
    x, W, gy, settings, outsize = make(name)
    expected = np.vdot(gy, kernels.convolution(x, W, outsize=outsize, **settings))
    gx = kernels.convolution_transpose(gy, W, outsize=x.shape[2:], **settings)
    gW = kernels.convolution_weight(x, gy, ksize=W.shape[2:], **settings)
    assert gx.shape == x.shape
    assert gW.shape == W.shape
    np.testing.assert_allclose([np.vdot(gx, x), np.vdot(gW, W)], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["small images together", "one image at a time", "pointwise"])
def test_half_precision_is_summed_in_single(name):
    x, W, gy, settings, outsize = make(name, np.float16)
    single = kernels.convolution(x.astype("f"), W.astype("f"), outsize=outsize, **settings)
    y = kernels.convolution(x, W, outsize=outsize, **settings)
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, single.astype(np.float16))
    gW = kernels.convolution_weight(x, gy, ksize=W.shape[2:], dtype=np.dtype("f"), **settings)
    assert gW.dtype == np.float32


def test_inputs_are_not_written_to_and_results_are_their_own():
    for name in CASES:
        x, W, gy, settings, outsize = make(name)
        kept = x.copy(), W.copy(), gy.copy()
        results = [
            kernels.convolution(x, W, outsize=outsize, **settings),
            kernels.convolution_transpose(gy, W, outsize=x.shape[2:], **settings),
            kernels.convolution_weight(x, gy, ksize=W.shape[2:], **settings),
        ]
        for result in results:
            assert result.flags.writeable and result.flags.c_contiguous
            assert not any(np.shares_memory(result, a) for a in (x, W, gy))
        for a, b in zip((x, W, gy), kept, strict=True):
            np.testing.assert_array_equal(a, b)


def test_windows_and_their_sum_are_adjoint():
    rng = np.random.RandomState(0)
    x = rng.standard_normal((2, 3, 7, 6))
    settings = {"stride": (2, 1), "pad": (1, 2), "dilate": (1, 2)}
    col = windows.im2col(x, ksize=(3, 2), outsize=(4, 8), **settings)
    assert col.shape == (2, 3, 3, 2, 4, 8)
    weights = rng.standard_normal(col.shape)
    image = windows.col2im(weights, shape=(7, 6), **settings)
    np.testing.assert_allclose(np.vdot(weights, col), np.vdot(image, x), rtol=1e-10)


def test_padding_of_windows_can_be_filled():
    col = windows.im2col(
        np.zeros((1, 1, 2)),
        ksize=(3,),
        outsize=(2,),
        stride=(1,),
        pad=(1,),
        dilate=(1,),
        fill=-math.inf,
    )
    np.testing.assert_array_equal(col[0, 0, :, 0], [-math.inf, 0, 0])
