"""Pooling over regions of interest.

In: images (n, c, h, w), boxes (r, 4) of ``y_min, x_min, y_max, x_max`` and, for each box, the
index of its image (r,). Out: (r, c, *outsize). Averages are separable: a matrix for the rows times
the image times a matrix for the columns. Maxima also give the places where they were found, -1
where a part of a box lies outside of the image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy

from . import library_op
from .windows import Ints, array_module


def _host(a: Any) -> numpy.ndarray:
    """Boxes decide about shapes, so they are needed on the host."""
    return a.get() if hasattr(a, "get") else numpy.asarray(a)


def _single(x: Any) -> Any:
    return x.astype(numpy.float32) if x.dtype == numpy.float16 else x


def _cells(low: int, high: int, parts: int, limit: int, inclusive: bool) -> Iterator[slice]:
    """Cut the pixels from ``low`` to ``high`` into parts, of which some pixels belong to two."""
    size = max(high - low + inclusive, 1)
    for i in range(parts):
        start = low + i * size // parts
        stop = low - -(i + 1) * size // parts
        yield slice(min(max(start, 0), limit), min(max(stop, 0), limit))


def _corners(boxes: Any, scale: float) -> Any:
    return numpy.rint(_host(boxes) * scale).astype(numpy.int64)


def _cell_weights(cells: Iterator[slice], parts: int, limit: int) -> numpy.ndarray:
    weights = numpy.zeros((parts, limit))
    for row, cell in zip(weights, cells, strict=True):
        if cell.start < cell.stop:
            row[cell] = 1 / (cell.stop - cell.start)
    return weights


def _sample_weights(
    start: float, length: float, parts: int, samples: int, limit: int
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Weights of the pixels in each of ``samples`` places in each part, by linear interpolation.

    Returns the weights (parts * samples, limit) and which places are inside of the image.
    """
    part = length / parts
    places = start + numpy.arange(parts)[:, None] * part
    places = (places + (numpy.arange(samples) + 0.5) * part / samples).ravel()
    inside = (places >= -1) & (places <= limit)
    places = places.clip(0, limit - 1)
    lower = numpy.minimum(places.astype(numpy.int64), max(limit - 2, 0))
    upper = numpy.minimum(lower + 1, limit - 1)
    rows = numpy.arange(len(places))
    weights = numpy.zeros((len(places), limit))
    weights[rows, upper] += places - lower
    weights[rows, lower] += 1 - (places - lower)
    weights[~inside] = 0
    return weights, inside


def _samples(boxes: Any, scale: float, outsize: Ints, sampling: tuple) -> Iterator[tuple]:
    """Yield for each box and axis ``(start, length, number of samples in a part)``."""
    boxes = _host(_single(boxes)) * scale
    for y_min, x_min, y_max, x_max in boxes.tolist():
        axes = []
        for low, high, parts, samples in zip(
            (y_min, x_min), (y_max, x_max), outsize, sampling, strict=True
        ):
            length = max(high - low, 1.0)
            axes.append((low, length, samples or math.ceil(length / parts)))
        yield tuple(axes)


def _weights(
    boxes: Any, limits: Ints, *, kind: str, outsize: Ints, spatial_scale: float, sampling: tuple
) -> Iterator[tuple[numpy.ndarray, ...]]:
    """Yield for each box the matrices of weights of the rows and of the columns."""
    if kind == "cells":
        for corners in _corners(boxes, spatial_scale).tolist():
            yield tuple(
                _cell_weights(_cells(corners[i], corners[i + 2], parts, limit, False), parts, limit)
                for i, (parts, limit) in enumerate(zip(outsize, limits, strict=True))
            )
        return
    for axes in _samples(boxes, spatial_scale, outsize, sampling):
        yield tuple(
            _sample_weights(low, length, parts, samples, limit)[0]
            .reshape(parts, samples, limit)
            .mean(axis=1)
            for (low, length, samples), parts, limit in zip(axes, outsize, limits, strict=True)
        )


def _support(weights: numpy.ndarray) -> slice:
    """The range of columns that are not all zero."""
    used = numpy.flatnonzero(weights.any(axis=0))
    return slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)


def _combine(image: Any, rows: numpy.ndarray, columns: numpy.ndarray) -> Any:
    """Weighted sums over an image (h, w, c): (len(rows), len(columns), c)."""
    xp = array_module(image)
    by_row, by_column = _support(rows), _support(columns)
    image = image[by_row, by_column]
    h, w, c = image.shape
    rows = xp.asarray(rows[:, by_row], image.dtype)
    columns = xp.asarray(columns[:, by_column], image.dtype)
    return xp.matmul(columns, rows.dot(image.reshape(h, w * c)).reshape(len(rows), w, c))


def _spread(image: Any, values: Any, rows: numpy.ndarray, columns: numpy.ndarray) -> None:
    """Add weighted ``values`` onto an image (h, w, c); the adjoint of `_combine`."""
    xp = array_module(image)
    by_row, by_column = _support(rows), _support(columns)
    rows = xp.asarray(rows[:, by_row], values.dtype)
    columns = xp.asarray(columns[:, by_column], values.dtype)
    spread = xp.matmul(columns.T, values)
    n, w, c = spread.shape
    total = rows.T.dot(spread.reshape(n, w * c))
    image[by_row, by_column] += total.reshape(len(total), w, c)


def _channels_last(x: Any) -> Any:
    return array_module(x).ascontiguousarray(_single(x).transpose(0, 2, 3, 1))


@library_op("roi_average")
def roi_average(
    x: Any,
    boxes: Any,
    indices: Any,
    *,
    kind: str,
    outsize: Ints,
    spatial_scale: float,
    sampling: tuple = (),
) -> Any:
    """Average each part of each box.

    With ``kind`` "cells" over whole pixels, with "samples" over ``sampling`` interpolated places
    along each axis (None: as many as the part is long).
    """
    images = _channels_last(x)
    y = array_module(x).empty((len(boxes), x.shape[1]) + outsize, images.dtype)
    weights = _weights(
        boxes,
        x.shape[2:],
        kind=kind,
        outsize=outsize,
        spatial_scale=spatial_scale,
        sampling=sampling,
    )
    for out, image, (rows, columns) in zip(y, _host(indices).tolist(), weights, strict=True):
        out[...] = _combine(images[image], rows, columns).transpose(2, 0, 1)
    return y.astype(x.dtype, copy=False)


@library_op("roi_average_spread")
def roi_average_spread(
    y: Any,
    boxes: Any,
    indices: Any,
    *,
    shape: Ints,
    kind: str,
    outsize: Ints,
    spatial_scale: float,
    sampling: tuple = (),
) -> Any:
    """The adjoint of `roi_average` in images of ``shape`` (n, c, h, w)."""
    xp = array_module(y)
    n, c, h, w = shape
    values = _channels_last(y)
    images = xp.zeros((n, h, w, c), values.dtype)
    weights = _weights(
        boxes, (h, w), kind=kind, outsize=outsize, spatial_scale=spatial_scale, sampling=sampling
    )
    for value, image, (rows, columns) in zip(values, _host(indices).tolist(), weights, strict=True):
        _spread(images[image], value, rows, columns)
    return xp.ascontiguousarray(images.transpose(0, 3, 1, 2)).astype(y.dtype, copy=False)


@library_op("roi_max_pooling")
def roi_max_pooling(
    x: Any,
    boxes: Any,
    indices: Any,
    *,
    outsize: Ints,
    spatial_scale: float,
    inclusive: bool,
    empty: float,
) -> tuple[Any, Any]:
    """Maximum of the pixels of each part of each box, and its place in the raveled image.

    With ``inclusive`` the last row and column belong to a box. Parts without pixels are ``empty``.
    """
    xp = array_module(x)
    c, h, w = x.shape[1:]
    images = xp.ascontiguousarray(x.transpose(0, 2, 3, 1))
    shape = (len(boxes), c) + outsize
    y = xp.full(shape, empty, x.dtype)
    places = xp.full(shape, -1, numpy.int64)
    corners = _corners(boxes, spatial_scale).tolist()
    for r, image in enumerate(_host(indices).tolist()):
        y_min, x_min, y_max, x_max = corners[r]
        rows = list(_cells(y_min, y_max, outsize[0], h, inclusive))
        columns = list(_cells(x_min, x_max, outsize[1], w, inclusive))
        # First the best column of each row, then the best row.
        for j, column in enumerate(columns):
            if column.start >= column.stop:
                continue
            strip = images[image, :, column]
            at_column = strip.argmax(axis=1)
            best = xp.take_along_axis(strip, at_column[:, None], axis=1)[:, 0]
            flat = at_column + column.start + (xp.arange(h) * w)[:, None]
            for i, row in enumerate(rows):
                if row.start >= row.stop:
                    continue
                at_row = best[row].argmax(axis=0)[None]
                y[r, :, i, j] = xp.take_along_axis(best[row], at_row, axis=0)[0]
                places[r, :, i, j] = xp.take_along_axis(flat[row], at_row, axis=0)[0]
    return y, places


def _flat_places(places: Any, indices: Any, c: int, size: int) -> Any:
    """Places in images raveled together; those of -1 stay negative."""
    xp = array_module(places)
    start = (indices.astype(numpy.int64)[:, None] * c + xp.arange(c)) * size
    return xp.where(places < 0, -1, places + start[:, :, None, None])


@library_op("roi_scatter")
def roi_scatter(y: Any, places: Any, indices: Any, *, shape: Ints) -> Any:
    """Add each value of ``y`` onto the pixel that ``places`` names, in images of ``shape``."""
    xp = array_module(y)
    flat = _flat_places(places, indices, shape[1], math.prod(shape[2:])).ravel()
    kept = flat >= 0
    x = xp.zeros(math.prod(shape), y.dtype)
    xp.add.at(x, flat[kept], y.ravel()[kept])
    return x.reshape(shape)


@library_op("roi_gather")
def roi_gather(x: Any, places: Any, indices: Any) -> Any:
    """Read the pixel that ``places`` names, or zero; the adjoint of `roi_scatter`."""
    xp = array_module(x)
    flat = _flat_places(places, indices, x.shape[1], math.prod(x.shape[2:]))
    return xp.where(flat < 0, x.dtype.type(0), x.reshape(-1)[flat])


def _sampled(
    boxes: Any, limits: Ints, outsize: Ints, spatial_scale: float, sampling: tuple
) -> Iterator[tuple]:
    """Yield for each box the weights of rows and columns, which places are inside, and counts."""
    for axes in _samples(boxes, spatial_scale, outsize, sampling):
        (rows, rows_in), (columns, columns_in) = (
            _sample_weights(low, length, parts, samples, limit)
            for (low, length, samples), parts, limit in zip(axes, outsize, limits, strict=True)
        )
        inside = rows_in[:, None] & columns_in
        yield rows, columns, inside, (axes[0][2], axes[1][2])


def _by_part(values: Any, outsize: Ints, samples: Ints) -> Any:
    """(rows, columns, ...) of samples as (*outsize, samples in a part, ...)."""
    (p, q), (m, n), rest = outsize, samples, values.shape[2:]
    values = values.reshape((p, m, q, n) + rest).swapaxes(1, 2)
    return values.reshape((p, q, m * n) + rest)


@library_op("roi_max_align")
def roi_max_align(
    x: Any,
    boxes: Any,
    indices: Any,
    *,
    outsize: Ints,
    spatial_scale: float,
    sampling: tuple,
) -> tuple[Any, Any]:
    """Largest of the interpolated samples in each part of each box, and which of them it is.

    Parts without a sample in the image are minus infinity.
    """
    xp = array_module(x)
    images = _channels_last(x)
    shape = (len(boxes), x.shape[1]) + outsize
    y = xp.empty(shape, images.dtype)
    places = xp.empty(shape, numpy.int64)
    for r, (image, (rows, columns, inside, samples)) in enumerate(
        zip(
            _host(indices).tolist(),
            _sampled(boxes, x.shape[2:], outsize, spatial_scale, sampling),
            strict=True,
        )
    ):
        values = _combine(images[image], rows, columns)
        values[xp.asarray(~inside)] = -math.inf
        values = _by_part(values, outsize, samples)
        place = values.argmax(axis=2)[:, :, None]
        best = xp.take_along_axis(values, place, axis=2)[:, :, 0]
        y[r] = best.transpose(2, 0, 1)
        place = xp.where(best == -math.inf, -1, place[:, :, 0])
        places[r] = place.transpose(2, 0, 1)
    return y.astype(x.dtype, copy=False), places


@library_op("roi_max_align_scatter")
def roi_max_align_scatter(
    y: Any,
    places: Any,
    boxes: Any,
    indices: Any,
    *,
    shape: Ints,
    outsize: Ints,
    spatial_scale: float,
    sampling: tuple,
) -> Any:
    """Spread each value of ``y`` over the pixels that its sample was interpolated from."""
    xp = array_module(y)
    n, c, h, w = shape
    (p, q) = outsize
    values = _channels_last(y)
    places = places.transpose(0, 2, 3, 1)
    images = xp.zeros((n, h, w, c), values.dtype)
    for r, (image, (rows, columns, _, samples)) in enumerate(
        zip(
            _host(indices).tolist(),
            _sampled(boxes, (h, w), outsize, spatial_scale, sampling),
            strict=True,
        )
    ):
        count = math.prod(samples)
        chosen = places[r][:, :, None] == xp.arange(count)[:, None]
        parts = xp.where(chosen, values[r][:, :, None], values.dtype.type(0))
        parts = parts.reshape((p, q) + samples + (c,)).swapaxes(1, 2)
        _spread(images[image], parts.reshape(p * samples[0], q * samples[1], c), rows, columns)
    return xp.ascontiguousarray(images.transpose(0, 3, 1, 2)).astype(y.dtype, copy=False)


@library_op("roi_max_align_gather")
def roi_max_align_gather(
    x: Any,
    places: Any,
    boxes: Any,
    indices: Any,
    *,
    outsize: Ints,
    spatial_scale: float,
    sampling: tuple,
) -> Any:
    """Interpolate ``x`` at the samples that ``places`` names; zero where there is none."""
    xp = array_module(x)
    images = _channels_last(x)
    y = xp.empty(places.shape, images.dtype)
    places = places.transpose(0, 2, 3, 1)
    for r, (image, (rows, columns, _, samples)) in enumerate(
        zip(
            _host(indices).tolist(),
            _sampled(boxes, x.shape[2:], outsize, spatial_scale, sampling),
            strict=True,
        )
    ):
        values = _by_part(_combine(images[image], rows, columns), outsize, samples)
        place = places[r]
        value = xp.take_along_axis(values, xp.maximum(place, 0)[:, :, None], axis=2)[:, :, 0]
        y[r] = xp.where(place < 0, values.dtype.type(0), value).transpose(2, 0, 1)
    return y.astype(x.dtype, copy=False)
