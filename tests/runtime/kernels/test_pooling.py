"""Pooling kernels against their definition."""

import itertools

import numpy as np
import pytest

from chainwright.runtime.kernels import pooling

# spatial, ksize, outsize, stride, pad
CASES = {
    "side by side": ((6, 8), (2, 2), (3, 4), (2, 2), (0, 0)),
    "overlapping": ((7, 6), (3, 2), (4, 5), (2, 1), (1, 0)),
    "with gaps": ((8, 7), (2, 1), (3, 3), (3, 2), (0, 0)),
    "over the end": ((5, 5), (2, 3), (3, 2), (2, 3), (0, 0)),
    "all": ((4, 3), (4, 3), (1, 1), (1, 1), (0, 0)),
    "one axis": ((9,), (3,), (5,), (2,), (1,)),
    "three axes": ((4, 3, 5), (2, 2, 3), (3, 2, 2), (2, 1, 2), (1, 0, 0)),
    "more than 256 places": ((18, 18), (17, 17), (2, 2), (1, 1), (0, 0)),
}


def settings_of(case):
    _, ksize, _, stride, pad = case
    return {"ksize": ksize, "stride": stride, "pad": pad}


def columns(x, case, fill):
    """Windows as (n, c, prod(ksize), *outsize), taken one by one."""
    spatial, ksize, outsize, stride, pad = case
    result = np.full((*x.shape[:2], int(np.prod(ksize)), *outsize), fill)
    for place in itertools.product(*map(range, outsize)):
        for k, offset in enumerate(itertools.product(*map(range, ksize))):
            at = [i * s + o - p for i, s, o, p in zip(place, stride, offset, pad, strict=True)]
            if all(0 <= a < n for a, n in zip(at, spatial, strict=True)):
                result[(slice(None), slice(None), k, *place)] = x[(slice(None), slice(None), *at)]
    return result


def image(case, values=None):
    rng = np.random.RandomState(0)
    shape = (2, 3, *case[0])
    return rng.standard_normal(shape) if values is None else rng.choice(values, shape)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize(
    "values",
    [None, [0.0, 1.0], [-np.inf, 2.0, 3.0], [np.nan, 0.0, 1.0]],
    ids=["random", "ties", "infinite", "nan"],
)
def test_max_pooling(case, values):
    x = image(case, values)
    y, indexes = pooling.max_pooling(x, outsize=case[2], **settings_of(case))
    col = columns(x, case, -np.inf)
    np.testing.assert_array_equal(y, col.max(axis=2))
    np.testing.assert_array_equal(indexes, col.argmax(axis=2))
    assert indexes.dtype == np.int64


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gather_and_scatter(case):
    x = image(case)
    settings = settings_of(case)
    y, indexes = pooling.max_pooling(x, outsize=case[2], **settings)
    np.testing.assert_array_equal(pooling.max_pooling_gather(x, indexes, **settings), y)
    gy = np.random.RandomState(1).standard_normal(y.shape)
    gx = pooling.max_pooling_scatter(gy, indexes, shape=case[0], **settings)
    other = np.random.RandomState(2).standard_normal(x.shape)
    np.testing.assert_allclose(
        np.vdot(gx, other),
        np.vdot(gy, pooling.max_pooling_gather(other, indexes, **settings)),
        rtol=1e-10,
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sum_and_spread(case):
    x = image(case)
    settings = settings_of(case)
    y = pooling.sum_pooling(x, outsize=case[2], **settings)
    np.testing.assert_allclose(y, columns(x, case, 0.0).sum(axis=2), rtol=1e-10, atol=1e-12)
    gy = np.random.RandomState(1).standard_normal(y.shape)
    gx = pooling.sum_pooling_spread(gy, shape=case[0], **settings)
    np.testing.assert_allclose(np.vdot(gx, x), np.vdot(gy, y), rtol=1e-10)


def test_a_maximum_in_the_padding_is_dropped():
    x = np.full((1, 1, 2), -np.inf)
    settings = {"ksize": (2,), "stride": (1,), "pad": (1,)}
    y, indexes = pooling.max_pooling(x, outsize=(3,), **settings)
    np.testing.assert_array_equal(indexes[0, 0], [0, 0, 0])
    gx = pooling.max_pooling_scatter(np.ones_like(y), indexes, shape=(2,), **settings)
    np.testing.assert_array_equal(gx[0, 0], [1, 1])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_layout_of_maxima_does_not_depend_on_values(case, order):
    x = image(case).astype(np.float32, order)
    for _ in range(2):
        for y in pooling.max_pooling(x, outsize=case[2], **settings_of(case)):
            assert y.strides == np.empty(y.shape, y.dtype).strides
        x[0, 0] = np.nan
