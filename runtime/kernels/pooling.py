"""Pooling over any number of spatial axes.

In: arrays (n, c, *spatial); every setting is a tuple of one int per spatial axis, ``outsize``
being the number of windows. Windows are separable: the last axis is reduced first, then the
one before it, so that a window of k by k costs 2 k passes, not k squared.

The index of a maximum is its place in the window in row-major order; of equal maxima the first
counts, and a NaN is greater than anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..options import OPTIONS
from . import library_op
from .windows import (
    Ints,
    array_module,
    crop_spatial,
    pad_spatial,
    reach,
    strided_slices,
    window_view,
)

_BLOCK_BYTES = 1 << 18  # what one pass over a block of images reads should stay in the cache


def _slice(axis: int, offset: int, count: int, stride: int) -> tuple[slice, ...]:
    """Index for every ``stride``-th place from ``offset`` on along ``axis``."""
    return (slice(None),) * axis + strided_slices((offset,), (count,), (stride,), (1,))


def _ones(ksize: Ints) -> Ints:
    return (1,) * len(ksize)


@library_op("max_pooling")
def max_pooling(x: Any, *, ksize: Ints, outsize: Ints, stride: Ints, pad: Ints) -> tuple[Any, Any]:
    """Maximum of every window, and its index (both (n, c, *outsize), the index as int64)."""
    xp = array_module(x)
    padded = pad_spatial(x, pad, reach(outsize, ksize, stride, _ones(ksize)), -math.inf)
    if xp is not numpy:
        return _maxima_of_windows(padded, ksize, outsize, stride)
    lead = padded.shape[0] * padded.shape[1]
    images = padded.reshape((lead,) + padded.shape[2:])
    y = xp.empty((lead,) + outsize, x.dtype)
    indexes = xp.empty((lead,) + outsize, numpy.int64)
    # The index is small, and arithmetic on bytes is fast.
    small = numpy.min_scalar_type(math.prod(ksize) - 1)
    step = max(1, _BLOCK_BYTES // max(math.prod(images.shape[1:]) * x.itemsize, 1))
    for start in range(0, lead, step):
        block = slice(start, start + step)
        y[block], indexes[block] = _block_maximum(images[block], ksize, outsize, stride, small)
    shape = x.shape[:2] + outsize
    y, indexes = y.reshape(shape), indexes.reshape(shape)
    if y.size and xp.isnan(y.max()):
        # The layout of the result does not depend on the values: it is C order, as ever.
        y[...], indexes[...] = _maxima_of_windows(padded, ksize, outsize, stride)
    return y, indexes


def _block_maximum(
    x: Any, ksize: Ints, outsize: Ints, stride: Ints, small: numpy.dtype
) -> tuple[Any, Any]:
    """Reduce one spatial axis after the other, the last one first."""
    xp = array_module(x)
    best, index = x, None
    weight = 1
    for axis in range(x.ndim - 1, 0, -1):
        k, count, s = ksize[axis - 1], outsize[axis - 1], stride[axis - 1]
        values, places = best, index
        first = _slice(axis, 0, count, s)
        best = values[first].copy()
        index = xp.zeros(best.shape, small) if places is None else places[first].copy()
        for offset in range(1, k):
            here = _slice(axis, offset, count, s)
            greater = values[here] > best
            xp.maximum(best, values[here], out=best)
            place = small.type(offset * weight)
            place = place if places is None else places[here] + place
            # A later place has a higher index, so the maximum of the two is the later one.
            xp.maximum(index, greater * place, out=index)
        weight *= k
    return best, index


def _maxima_of_windows(padded: Any, ksize: Ints, outsize: Ints, stride: Ints) -> tuple[Any, Any]:
    """Reduce whole windows, copied: right for NaN, and few launches on a GPU, without a wait."""
    xp = array_module(padded)
    n, shape = padded.shape[0], padded.shape[:2] + outsize
    if not math.prod(shape):
        return xp.empty(shape, padded.dtype), xp.empty(shape, numpy.int64)
    windows = window_view(padded, ksize, outsize, stride, _ones(ksize))
    step = max(1, OPTIONS.scratch() // (math.prod(windows.shape[1:]) * padded.itemsize))
    parts = [_maxima(windows[k : k + step], len(ksize)) for k in range(0, n, step)]
    if len(parts) == 1:
        return parts[0]
    y, indexes = (xp.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return y, indexes


def _maxima(windows: Any, ndim: int) -> tuple[Any, Any]:
    n, c, *sizes = windows.shape
    columns = windows.reshape((n, c, -1) + tuple(sizes[ndim:]))
    return columns.max(axis=2), columns.argmax(axis=2)


def _flat_places(indexes: Any, ksize: Ints, stride: Ints, lengths: Ints) -> Any:
    """Places of ``indexes`` (n, c, *outsize) in the raveled padded array (n, c, *lengths)."""
    xp = array_module(indexes)
    n, c, *outsize = indexes.shape
    ndim = len(ksize)
    steps = [math.prod(lengths[axis + 1 :]) for axis in range(ndim)]
    # All on the device of ``indexes``: copies to a GPU would be waited for.
    within = xp.zeros((1,) * ndim, numpy.int64)
    for axis in range(ndim):
        shape = (1,) * axis + (-1,) + (1,) * (ndim - 1 - axis)
        within = within + (xp.arange(ksize[axis]) * steps[axis]).reshape(shape)
    places = within.ravel()[indexes]
    for axis in range(ndim):
        across = xp.arange(outsize[axis]) * (steps[axis] * stride[axis])
        places += across.reshape((-1,) + (1,) * (ndim - 1 - axis))
    places += (xp.arange(n * c) * math.prod(lengths)).reshape((n, c) + (1,) * ndim)
    return places


@library_op("max_pooling_scatter")
def max_pooling_scatter(
    y: Any, indexes: Any, *, ksize: Ints, shape: Ints, stride: Ints, pad: Ints
) -> Any:
    """Add each value of ``y`` onto the place of its window that ``indexes`` names.

    The result is (n, c, *shape); values whose place lies in the padding are dropped.
    """
    xp = array_module(y)
    outsize = y.shape[2:]
    lengths = reach(outsize, ksize, stride, _ones(ksize))
    lengths = tuple(max(a, p + n) for a, p, n in zip(lengths, pad, shape, strict=True))
    padded = xp.zeros(y.shape[:2] + lengths, y.dtype)
    places = _flat_places(indexes, ksize, stride, lengths).ravel()
    if all(s >= k for s, k in zip(stride, ksize, strict=True)):
        padded.ravel()[places] = y.ravel()
    else:
        xp.add.at(padded.ravel(), places, y.ravel())
    return crop_spatial(padded, pad, shape)


@library_op("max_pooling_gather")
def max_pooling_gather(x: Any, indexes: Any, *, ksize: Ints, stride: Ints, pad: Ints) -> Any:
    """Read from ``x`` (n, c, *spatial) the place of each window that ``indexes`` names."""
    outsize = indexes.shape[2:]
    padded = pad_spatial(x, pad, reach(outsize, ksize, stride, _ones(ksize)), 0)
    places = _flat_places(indexes, ksize, stride, padded.shape[2:])
    return padded.reshape(-1)[places]


@library_op("sum_pooling")
def sum_pooling(x: Any, *, ksize: Ints, outsize: Ints, stride: Ints, pad: Ints) -> Any:
    """Sum of every window, zeros outside; half precision is summed (and returned) in single."""
    if x.dtype == numpy.float16:
        x = x.astype(numpy.float32)
    if x.shape[2:] == ksize and set(outsize) <= {1} and not any(pad):
        return x.sum(axis=tuple(range(2, x.ndim)), keepdims=True)
    padded = pad_spatial(x, pad, reach(outsize, ksize, stride, _ones(ksize)), 0)
    total = padded
    for axis in range(x.ndim - 1, 1, -1):
        k, count, s = ksize[axis - 2], outsize[axis - 2], stride[axis - 2]
        values = total
        total = values[_slice(axis, 0, count, s)].copy()
        for offset in range(1, k):
            total += values[_slice(axis, offset, count, s)]
    return total


@library_op("sum_pooling_spread")
def sum_pooling_spread(y: Any, *, ksize: Ints, shape: Ints, stride: Ints, pad: Ints) -> Any:
    """Add each value of ``y`` (n, c, *outsize) onto its whole window of an (n, c, *shape) array.

    The adjoint of `sum_pooling`.
    """
    xp = array_module(y)
    outsize = y.shape[2:]
    lengths = reach(outsize, ksize, stride, _ones(ksize))
    lengths = tuple(max(a, p + n) for a, p, n in zip(lengths, pad, shape, strict=True))
    for axis in range(2, y.ndim):
        spread = xp.zeros(
            y.shape[:axis] + lengths[axis - 2 : axis - 1] + y.shape[axis + 1 :], y.dtype
        )
        for offset in range(ksize[axis - 2]):
            spread[_slice(axis, offset, outsize[axis - 2], stride[axis - 2])] += y
        y = spread
    return crop_spatial(y, pad, shape)
