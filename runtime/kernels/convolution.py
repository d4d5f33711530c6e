"""Convolution over any number of spatial axes, and its two adjoints.

In: images (n, c, *spatial) and filters (co, c / groups, *ksize); every setting is a tuple of
one int per spatial axis. Out: an array of the first argument's dtype (of the filters' for
`convolution_weight`). Half precision is summed in single precision.

Each image is unrolled into one buffer and multiplied at once, into its place in the result;
images too small to keep a matrix product busy are unrolled together, large ones row by row.
On a device, where each block costs launches, as many images are unrolled together as there is
scratch memory for (``OPTIONS.scratch``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..options import OPTIONS
from . import library_op, products
from .windows import (
    Ints,
    add_windows,
    array_module,
    crop_spatial,
    pad_spatial,
    reach,
    window_view,
)

_COLUMNS = 256  # a matrix product with fewer columns spends its time on reading the filters
_BUFFER_BYTES = 1 << 20  # images are unrolled together up to this size
_IMAGE_BYTES = 1 << 22  # and one image is cut above this one: threads want large products


def _work_dtype(a: Any, b: Any) -> numpy.dtype:
    dtype = numpy.result_type(a.dtype, b.dtype)
    return numpy.dtype(numpy.float32) if dtype == numpy.float16 else dtype


def _is_pointwise(ksize: Ints, stride: Ints, pad: Ints) -> bool:
    return set(ksize) | set(stride) <= {1} and not any(pad)


def _images_per_block(n: int, outsize: Ints) -> int:
    return min(n, -(-_COLUMNS // max(math.prod(outsize), 1)))


def _images_on_device(n: int, outsize: Ints, height: int, itemsize: int) -> int:
    fit = OPTIONS.scratch() // max(height * math.prod(outsize) * itemsize, 1)
    return max(1, min(n, fit))


def _images_per_buffer(n: int, outsize: Ints, height: int, itemsize: int) -> int:
    fit = _BUFFER_BYTES // max(height * math.prod(outsize) * itemsize, 1)
    return max(_images_per_block(n, outsize), fit, 1)


def _rows_per_block(
    rows: int, row_size: int, height: int, itemsize: int, limit: int | None = None
) -> int:
    limit = _IMAGE_BYTES if limit is None else limit
    fit = limit // max(height * row_size * itemsize, 1)
    return min(rows, max(fit, -(-_COLUMNS // row_size)))


@library_op("convolution")
def convolution(
    x: Any, W: Any, *, outsize: Ints, stride: Ints, pad: Ints, dilate: Ints, groups: int
) -> Any:
    """Correlate ``x`` (n, c, *spatial) with filters ``W`` (co, c / groups, *ksize).

    ``outsize`` is the spatial shape of the result (n, co, *outsize); where it reaches over the
    padded end of ``x``, zeros are read.
    """
    xp = array_module(x)
    n, c, *_ = x.shape
    co, ksize = W.shape[0], W.shape[2:]
    out_dtype, dtype = x.dtype, _work_dtype(x, W)
    x = x.astype(dtype, copy=False)
    filters = W.astype(dtype, copy=False).reshape(groups, co // groups, -1)
    size = math.prod(outsize)
    if _is_pointwise(ksize, stride, pad) and x.shape[2:] == outsize:
        columns = x.reshape(n, groups, c // groups, size)
        y = products.matmul(filters, columns, xp=xp)
        return y.reshape((n, co) + outsize).astype(out_dtype, copy=False)

    padded = pad_spatial(x, pad, reach(outsize, ksize, stride, dilate), 0)
    windows = window_view(padded, ksize, outsize, stride, dilate)
    y = xp.empty((n, co) + outsize, dtype)
    if xp is numpy:
        images = _images_per_block(n, outsize)
    else:
        images = _images_on_device(n, outsize, c * math.prod(ksize), dtype.itemsize)
    if images > 1:
        _convolve_together(windows, filters, y, images, len(ksize))
    else:
        _convolve_each(windows, filters, y, len(ksize))
    return y.astype(out_dtype, copy=False)


def _convolve_each(windows: Any, filters: Any, y: Any, ndim: int) -> None:
    """Fill ``y``, one image (or some rows of one) at a time."""
    xp = array_module(y)
    groups = filters.shape[0]
    n, co, rows, *rest = y.shape
    height = math.prod(windows.shape[1 : 2 + ndim])
    row_size = math.prod(rest)
    if row_size == 0:
        return
    limit = None if xp is numpy else OPTIONS.scratch()
    step = _rows_per_block(rows, row_size, height, y.itemsize, limit)
    buffer = xp.empty(height * step * row_size, y.dtype)
    results = y.reshape(n, groups, co // groups, rows * row_size)
    for image in range(n):
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            block = windows[image][(slice(None),) * (1 + ndim) + (slice(start, stop),)]
            columns = buffer[: block.size]
            columns.reshape(block.shape)[...] = block
            products.matmul(
                filters,
                columns.reshape(groups, height // groups, (stop - start) * row_size),
                results[image, :, :, start * row_size : stop * row_size],
                xp,
            )


def _convolve_together(windows: Any, filters: Any, y: Any, images: int, ndim: int) -> None:
    """Fill ``y``, several small images at a time."""
    xp = array_module(y)
    groups, per_group, height = filters.shape
    n, co, *outsize = y.shape
    size = math.prod(outsize)
    # (c, *ksize, n, *outsize)
    windows = xp.moveaxis(windows, 0, 1 + ndim)
    for start in range(0, n, images):
        block = windows[(slice(None),) * (1 + ndim) + (slice(start, start + images),)]
        count = block.shape[1 + ndim]
        columns = _matrices(block, size, (groups, height, count * size))
        result = products.matmul(filters, columns, xp=xp).reshape(co, count, *outsize)
        y[start : start + count] = xp.moveaxis(result, 0, 1)
        del columns, result  # before the next ones are made


def _matrices(block: Any, pixels: int, shape: Ints) -> Any:
    """What products are made of: what they add up, in which order, goes by the layout.

    Rows are contiguous, as native code has them, whether or not a view would do. Where results are
    of one pixel it does: these are dense layers, nothing is copied, and native code leaves
    them to this.
    """
    if pixels > 1:
        block = array_module(block).ascontiguousarray(block)
    return block.reshape(shape)


@library_op("convolution_transpose")
def convolution_transpose(
    y: Any, W: Any, *, outsize: Ints, stride: Ints, pad: Ints, dilate: Ints, groups: int
) -> Any:
    """Spread ``y`` (n, co, *spatial) through filters ``W`` (co, c / groups, *ksize).

    The adjoint of `convolution` in its images: the result is (n, c, *outsize), where ``outsize``
    is the spatial shape of what was convolved.
    """
    xp = array_module(y)
    n, co = y.shape[:2]
    spatial, ksize = y.shape[2:], W.shape[2:]
    c = W.shape[1] * groups
    out_dtype, dtype = y.dtype, _work_dtype(y, W)
    y = y.astype(dtype, copy=False)
    W = W.astype(dtype, copy=False)
    if _is_pointwise(ksize, stride, pad) and spatial == outsize:
        filters = W.reshape(groups, co // groups, -1).transpose(0, 2, 1)
        x = products.matmul(filters, y.reshape(n, groups, co // groups, -1), xp=xp)
        return x.reshape((n, c) + outsize).astype(out_dtype, copy=False)
    if _prefers_flipping(c, co, ksize, stride, pad, dilate):
        return _convolve_flipped(y, W, outsize, pad, dilate, groups).astype(out_dtype, copy=False)

    filters = W.reshape(groups, co // groups, -1).transpose(0, 2, 1)
    lengths, size = reach(spatial, ksize, stride, dilate), math.prod(spatial)
    lengths = tuple(max(a, p + o) for a, p, o in zip(lengths, pad, outsize, strict=True))
    padded = xp.zeros((n, c) + lengths, dtype)
    together = _images_per_buffer if xp is numpy else _images_on_device
    images = together(n, spatial, c * math.prod(ksize), dtype.itemsize)
    for start in range(0, n, images):
        block = y[start : start + images]
        count = block.shape[0]
        values = _matrices(xp.moveaxis(block, 0, 1), size, (groups, co // groups, -1))
        columns = products.matmul(filters, values, xp=xp).reshape((c,) + ksize + (count,) + spatial)
        # (count, c, *ksize, *spatial)
        columns = xp.moveaxis(columns, 1 + len(ksize), 0)
        add_windows(padded[start : start + count], columns, ksize, spatial, stride, dilate)
        del columns
    return crop_spatial(padded, pad, outsize).astype(out_dtype, copy=False)


def _prefers_flipping(c: int, co: int, ksize: Ints, stride: Ints, pad: Ints, dilate: Ints) -> bool:
    """Gathering windows of ``y`` beats adding up windows of ``x`` unless ``y`` is far wider."""
    return (
        set(stride) <= {1}
        and 2 * co <= 3 * c
        and all(p <= d * (k - 1) for p, d, k in zip(pad, dilate, ksize, strict=True))
    )


def _convolve_flipped(y: Any, W: Any, outsize: Ints, pad: Ints, dilate: Ints, groups: int) -> Any:
    """With stride one the adjoint is a convolution with the mirrored filters."""
    co, per_group, *ksize = W.shape
    mirror = (slice(None),) * 3 + (slice(None, None, -1),) * len(ksize)
    flipped = W.reshape(groups, co // groups, per_group, *ksize)[mirror].swapaxes(1, 2)
    # In one piece, also where the mirrored view is of this shape: products want it.
    flipped = array_module(W).ascontiguousarray(
        flipped.reshape(groups * per_group, co // groups, *ksize)
    )
    rest = tuple(d * (k - 1) - p for d, k, p in zip(dilate, ksize, pad, strict=True))
    return convolution(
        y,
        flipped,
        outsize=outsize,
        stride=(1,) * len(ksize),
        pad=rest,
        dilate=dilate,
        groups=groups,
    )


@library_op("convolution_weight")
def convolution_weight(
    x: Any,
    gy: Any,
    *,
    ksize: Ints,
    stride: Ints,
    pad: Ints,
    dilate: Ints,
    groups: int,
    dtype: Any = None,
) -> Any:
    """Correlate images ``x`` (n, c, *spatial) with the results' weights ``gy`` (n, co, *outsize).

    The adjoint of `convolution` in its filters: (co, c / groups, *ksize), of ``dtype`` (that of
    ``x`` if it is None).
    """
    xp = array_module(x)
    n, c = x.shape[:2]
    co, outsize = gy.shape[1], gy.shape[2:]
    ndim, size = len(ksize), math.prod(outsize)
    out_dtype, work = dtype or x.dtype, _work_dtype(x, gy)
    x = x.astype(work, copy=False)
    gy = gy.astype(work, copy=False)
    height = c // groups * math.prod(ksize)
    total = xp.zeros((groups, co // groups, height), work)
    padded = pad_spatial(x, pad, reach(outsize, ksize, stride, dilate), 0)
    # (c, *ksize, n, *outsize)
    windows = xp.moveaxis(window_view(padded, ksize, outsize, stride, dilate), 0, 1 + ndim)
    together = _images_per_buffer if xp is numpy else _images_on_device
    images = together(n, outsize, c * math.prod(ksize), work.itemsize)
    for start in range(0, n, images):
        block = windows[(slice(None),) * (1 + ndim) + (slice(start, start + images),)]
        columns = _matrices(block, size, (groups, height, -1))
        values = xp.moveaxis(gy[start : start + images], 0, 1)
        values = _matrices(values, size, (groups, co // groups, -1))
        total += products.matmul(values, columns.swapaxes(1, 2), xp=xp)
        del columns, values
    return total.reshape((co, c // groups) + ksize).astype(out_dtype, copy=False)


def _local_columns(x: Any, ksize: Ints, outsize: Ints, stride: Ints) -> Any:
    """Windows of ``x`` as (*outsize, n, c * prod(ksize)), without padding."""
    ones, zeros = (1,) * len(ksize), (0,) * len(ksize)
    padded = pad_spatial(x, zeros, reach(outsize, ksize, stride, ones), 0)
    windows = window_view(padded, ksize, outsize, stride, ones)
    ndim = len(ksize)
    order = (*range(2 + ndim, 2 + 2 * ndim), 0, 1, *range(2, 2 + ndim))
    length = x.shape[1] * math.prod(ksize)
    return windows.transpose(order).reshape(outsize + (x.shape[0], length))


def _local_filters(W: Any, ndim: int) -> Any:
    """Filters (co, *outsize, c, *ksize) as (*outsize, co, c * prod(ksize))."""
    outsize = W.shape[1 : 1 + ndim]
    filters = W.reshape((W.shape[0],) + outsize + (math.prod(W.shape[1 + ndim :]),))
    return filters.transpose((*range(1, 1 + ndim), 0, 1 + ndim))


@library_op("local_convolution")
def local_convolution(x: Any, W: Any, *, stride: Ints) -> Any:
    """Correlate ``x`` (n, c, *spatial) with filters of each place its own.

    ``W`` is (co, *outsize, c, *ksize), the result (n, co, *outsize).
    """
    xp = array_module(x)
    ndim = len(stride)
    outsize, ksize = W.shape[1 : 1 + ndim], W.shape[2 + ndim :]
    dtype = _work_dtype(x, W)
    columns = _local_columns(x.astype(dtype, copy=False), ksize, outsize, stride)
    filters = _local_filters(W.astype(dtype, copy=False), ndim)
    y = xp.matmul(columns, filters.swapaxes(-1, -2))
    return xp.moveaxis(y, (-2, -1), (0, 1)).astype(x.dtype, order="C")


@library_op("local_convolution_transpose")
def local_convolution_transpose(y: Any, W: Any, *, outsize: Ints, stride: Ints) -> Any:
    """The adjoint of `local_convolution` in its images, which were (n, c, *outsize)."""
    xp = array_module(y)
    ndim = len(stride)
    spatial, c, ksize = W.shape[1 : 1 + ndim], W.shape[1 + ndim], W.shape[2 + ndim :]
    dtype = _work_dtype(y, W)
    values = xp.moveaxis(y.astype(dtype, copy=False), (0, 1), (-2, -1))
    columns = xp.matmul(values, _local_filters(W.astype(dtype, copy=False), ndim))
    columns = columns.reshape(spatial + (y.shape[0], c) + ksize)
    columns = xp.moveaxis(columns, range(ndim), range(-ndim, 0))
    x = xp.zeros((y.shape[0], c) + outsize, dtype)
    add_windows(x, columns, ksize, spatial, stride, (1,) * ndim)
    return x.astype(y.dtype, copy=False)


@library_op("local_convolution_weight")
def local_convolution_weight(
    x: Any, gy: Any, *, ksize: Ints, stride: Ints, dtype: Any = None
) -> Any:
    """The adjoint of `local_convolution` in its filters: (co, *outsize, c, *ksize)."""
    xp = array_module(x)
    outsize = gy.shape[2:]
    work = _work_dtype(x, gy)
    columns = _local_columns(x.astype(work, copy=False), ksize, outsize, stride)
    values = xp.moveaxis(gy.astype(work, copy=False), (0, 1), (-1, -2))
    filters = xp.moveaxis(xp.matmul(values, columns), -2, 0)
    shape = (gy.shape[1],) + outsize + (x.shape[1],) + ksize
    return filters.reshape(shape).astype(dtype or x.dtype, copy=False)
