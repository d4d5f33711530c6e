"""Sliding windows over the spatial axes of a batch: the ground of convolution and pooling.

In: arrays of shape (n, c, *spatial) and tuples of one int per spatial axis. Out: views and
buffers with one axis pair (place in the window, place of the window) per spatial axis.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy

from . import library_op

Ints = tuple[int, ...]


class _Instead(threading.local):
    module: Any = None


_instead = _Instead()


def array_module(x: Any) -> Any:
    """Return the module (``numpy`` or ``cupy``) whose array ``x`` is."""
    if isinstance(x, numpy.ndarray):
        return numpy
    return _instead.module or sys.modules[type(x).__module__.partition(".")[0]]


@contextlib.contextmanager
def device_module(module: Any) -> Iterator[None]:
    """Have ``module`` stand for that of arrays on devices, in this thread."""
    before, _instead.module = _instead.module, module
    try:
        yield
    finally:
        _instead.module = before


def pad_spatial(x: Any, pad: Ints, lengths: Ints, fill: float) -> Any:
    """Put ``x`` into a field of ``fill``, ``pad`` from the start and at least ``lengths`` long.

    ``x`` itself comes back where nothing has to be added.
    """
    shape = x.shape[2:]
    lengths = tuple(max(length, p + n) for length, p, n in zip(lengths, pad, shape, strict=True))
    if lengths == shape:
        return x
    xp = array_module(x)
    padded = xp.full(x.shape[:2] + lengths, fill, x.dtype)
    inner = tuple(slice(p, p + n) for p, n in zip(pad, shape, strict=True))
    padded[(slice(None), slice(None), *inner)] = x
    return padded


def reach(outsize: Ints, ksize: Ints, stride: Ints, dilate: Ints) -> Ints:
    """Length of the padded axis that the windows really touch."""
    return tuple(
        (o - 1) * s + (k - 1) * d + 1 if o > 0 else 0
        for o, k, s, d in zip(outsize, ksize, stride, dilate, strict=True)
    )


def window_view(padded: Any, ksize: Ints, outsize: Ints, stride: Ints, dilate: Ints) -> Any:
    """View ``padded`` as (n, c, *ksize, *outsize) without copying."""
    xp = array_module(padded)
    steps = padded.strides[2:]
    within = tuple(step * d for step, d in zip(steps, dilate, strict=True))
    across = tuple(step * s for step, s in zip(steps, stride, strict=True))
    return xp.lib.stride_tricks.as_strided(
        padded, padded.shape[:2] + ksize + outsize, padded.strides[:2] + within + across
    )


def offsets(ksize: Ints) -> Iterator[Ints]:
    """All places in a window, in row-major order."""
    return itertools.product(*map(range, ksize))


def strided_slices(offset: Ints, outsize: Ints, stride: Ints, dilate: Ints) -> tuple[slice, ...]:
    """Slices of the padded spatial axes that hold place ``offset`` of every window."""
    return tuple(
        slice(i * d, i * d + s * (o - 1) + 1 if o > 0 else i * d, s)
        for i, o, s, d in zip(offset, outsize, stride, dilate, strict=True)
    )


@library_op("im2col")
def im2col(
    x: Any,
    *,
    ksize: Ints,
    outsize: Ints,
    stride: Ints,
    pad: Ints,
    dilate: Ints,
    fill: float = 0.0,
) -> Any:
    """Gather every window of ``x`` (n, c, *spatial) into (n, c, *ksize, *outsize)."""
    padded = pad_spatial(x, pad, reach(outsize, ksize, stride, dilate), fill)
    return window_view(padded, ksize, outsize, stride, dilate).copy()


@library_op("col2im")
def col2im(col: Any, *, shape: Ints, stride: Ints, pad: Ints, dilate: Ints) -> Any:
    """Add windows (n, c, *ksize, *outsize) up into an array (n, c, *shape).

    The adjoint of `im2col`: where windows overlap, their values are summed.
    """
    xp = array_module(col)
    ndim = len(shape)
    ksize, outsize = col.shape[2 : 2 + ndim], col.shape[2 + ndim :]
    lengths = reach(outsize, ksize, stride, dilate)
    lengths = tuple(max(a, p + n) for a, p, n in zip(lengths, pad, shape, strict=True))
    padded = xp.zeros(col.shape[:2] + lengths, col.dtype)
    add_windows(padded, col, ksize, outsize, stride, dilate)
    return crop_spatial(padded, pad, shape)


def add_windows(
    padded: Any, col: Any, ksize: Ints, outsize: Ints, stride: Ints, dilate: Ints
) -> None:
    """Add ``col`` (..., *ksize, *outsize) onto ``padded`` (..., *spatial) in place."""
    lead = (slice(None),) * (padded.ndim - len(ksize))
    for offset in offsets(ksize):
        padded[lead + strided_slices(offset, outsize, stride, dilate)] += col[lead + offset]


def crop_spatial(padded: Any, pad: Ints, shape: Ints) -> Any:
    """Cut the middle ``shape`` out of the spatial axes of ``padded``, as an array of its own."""
    if padded.shape[2:] == shape:
        return padded
    inner = tuple(slice(p, p + n) for p, n in zip(pad, shape, strict=True))
    return padded[(slice(None), slice(None), *inner)].copy()
