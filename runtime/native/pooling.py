"""Pooling in native code: what the NumPy kernels give, in one loop over the windows.

Maxima, their indexes, and sums are compositions of elementwise nodes on views of the images, one
view for each place in a window, which run as one loop. Gradients go to their places as the kernels
of :mod:`chainwright.runtime.kernels.pooling` send them, in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainwright.codegen.native_target.library import (
    LIBRARY,
    LOWERED,
    Emit,
    Work,
    add_step,
    arrays_of,
    copy_step,
    dense,
    settings_of,
    zero_step,
)
from chainwright.codegen.native_target.steps import Machine, Place, Region, Step
from chainwright.codegen.native_target.windows import AXES, SCATTER, scatter_table
from chainwright.ir import Node, literal
from chainwright.ir.layout import dense_strides, is_contiguous

from ..kernels.windows import offsets, reach, strided_slices

_MOST_PLACES = 32  # of a window: more operands than this a loop does not have
_DTYPES = np.dtype(np.float32), np.dtype(np.float64)


def _taken(node: Node, count: int) -> tuple[tuple[Node, ...], dict[str, Any]] | None:
    """The arrays and the settings; None for what is left to NumPy."""
    arrays = arrays_of(node)
    if arrays is None or len(arrays) < count:
        return None
    if arrays[0].dtype not in _DTYPES or not all(x.shape and x.size for x in arrays[:count]):
        return None
    return arrays[:count], settings_of(node)


def _windows(x: Node, given: dict[str, Any], fill: float, emit: Emit) -> list[Node] | None:
    """Views of the images, one for each place in a window, row by row."""
    ksize, outsize, stride, pad = (given[k] for k in ("ksize", "outsize", "stride", "pad"))
    if not 1 < math.prod(ksize) <= _MOST_PLACES or not math.prod(outsize):
        return None
    ones = (1,) * len(ksize)
    spatial = x.dims[2:]
    lengths = reach(outsize, ksize, stride, ones)
    lengths = tuple(max(a, p + n) for a, p, n in zip(lengths, pad, spatial, strict=True))
    if lengths != spatial:
        field = emit("empty", shape=(*x.dims[:2], *lengths), dtype=x.dtype)
        field = emit("setitem", field, literal(fill), index=(Ellipsis,))
        inner = tuple(slice(p, p + n) for p, n in zip(pad, spatial, strict=True))
        x = emit("setitem", field, x, index=(slice(None), slice(None), *inner))
    whole = (slice(None), slice(None))
    return [
        emit("getitem", x, index=(*whole, *strided_slices(offset, outsize, stride, ones)))
        for offset in offsets(ksize)
    ]


def _in_order(x: Node, emit: Emit) -> Node:
    """``x`` in C order, whatever the order of the images: the kernels give nothing else."""
    assert x.dtype is not None
    steps = dense_strides(x.dims, x.dtype.itemsize)
    return x if x.steps == steps else emit("copy", x, strides=steps)


def max_pooling(node: Node, emit: Emit) -> tuple[Node, ...] | None:
    taken = _taken(node, 1)
    views = _windows(taken[0][0], taken[1], -math.inf, emit) if taken is not None else None
    if views is None:
        return None
    best, *others = views
    index: Node = literal(0)
    for k, x in enumerate(others, 1):
        # The first of equal values counts, and the first NaN: nothing is greater than that.
        not_greater = emit("less_equal", x, best)
        number = emit("equal", best, best)
        later = emit("logical_and", emit("logical_not", not_greater), number)
        index = emit("where", later, literal(k), index)
        best = emit("maximum", best, x)
    return _in_order(best, emit), _in_order(index, emit)


def sum_pooling(node: Node, emit: Emit) -> tuple[Node, ...] | None:
    taken = _taken(node, 1)
    if taken is None:
        return None
    (x,), given = taken
    if x.dims[2:] == given["ksize"] and set(given["outsize"]) <= {1} and not any(given["pad"]):
        axes = tuple(range(2, len(x.dims)))
        return (emit("sum", x, axis=axes, keepdims=True, strides=node.strides),)
    views = _windows(x, given, 0.0, emit)
    if views is None:
        return None
    for k in reversed(given["ksize"]):  # the last axis first, as the kernel does
        sums = []
        for start in range(0, len(views), k):
            total = views[start]
            for other in views[start + 1 : start + k]:
                total = emit("add", total, other)
            sums.append(total)
        views = sums
    return (_in_order(views[0], emit),)


def _plain(x: Node) -> bool:
    assert x.dtype is not None
    return is_contiguous(x.dims, x.steps, x.dtype.itemsize)


def max_pooling_scatter(node: Node, machine: Machine) -> Work | None:
    taken = _taken(node, 2)
    if taken is None:
        return None
    (y, indexes), given = taken
    ksize, shape, stride, pad = (given[k] for k in ("ksize", "shape", "stride", "pad"))
    if indexes.dtype != np.int64 or indexes.dims != y.dims or y.dtype != node.dtype:
        return None
    if not all(map(_plain, (node, y, indexes))) or len(ksize) > AXES:
        return None
    apart = all(s >= k for s, k in zip(stride, ksize, strict=True))
    outsize, images = y.dims[2:], math.prod(y.dims[:2])
    table = scatter_table(images, not apart, ksize, outsize, shape, stride, pad)
    assert node.dtype is not None
    dtype, origin = node.dtype, str(node.origin or "")

    def regions(nodes: Sequence[Node]) -> list[Region]:
        zero = zero_step((node.size,), dtype, Place(node, 0, 0), (dtype.itemsize,), origin)
        places = tuple(Place(x, 0, 0) for x in (node, y, indexes))
        step = Step(f"{SCATTER}_{dtype.char}", table, places, label=node.op, origins=(origin,))
        return [Region(1, 1, (zero,)), Region(1, 1, (step,))]

    return Work((), regions)


def sum_pooling_spread(node: Node, machine: Machine) -> Work | None:
    taken = _taken(node, 1)
    if taken is None:
        return None
    (y,), given = taken
    ksize, shape, stride, pad = (given[k] for k in ("ksize", "shape", "stride", "pad"))
    if y.dtype != node.dtype or not _plain(node):
        return None
    assert node.dtype is not None
    dtype, size, origin = node.dtype, node.dtype.itemsize, str(node.origin or "")
    ones, outsize = (1,) * len(ksize), y.dims[2:]
    lengths = reach(outsize, ksize, stride, ones)
    lengths = tuple(max(a, p + n) for a, p, n in zip(lengths, pad, shape, strict=True))
    cropped = lengths != shape
    fields = [(*y.dims[:2], *lengths[: k + 1], *y.dims[3 + k :]) for k in range(len(ksize))]

    def regions(nodes: Sequence[Node]) -> list[Region]:
        goals = [*nodes, *(() if cropped else (node,))]
        source, walk, dims, found = y, y.steps, y.dims, []
        for k, (field, goal) in enumerate(zip(fields, goals, strict=True)):
            to, axis = dense(field, size), 2 + k
            steps = [zero_step(field, dtype, Place(goal, 0, 0), to, origin)]
            across = (*to[:axis], stride[k] * to[axis], *to[axis + 1 :])
            for offset in range(ksize[k]):
                target = Place(goal, offset * to[axis], 0)
                steps.append(
                    add_step(dims, dtype, Place(source, 0, 0), walk, target, across, origin)
                )
            found += [Region(1, 1, (step,)) for step in steps]
            source, walk, dims = goal, to, field
        if cropped:
            at = sum(p * step for p, step in zip(pad, walk[2:], strict=True))
            place, target = Place(source, at, 0), Place(node, 0, 0)
            step = copy_step(node.dims, dtype, place, walk, target, node.steps, origin)
            found.append(Region(1, 1, (step,)))
        return found

    return Work(tuple(fields if cropped else fields[:-1]), regions)


LOWERED.update(max_pooling=max_pooling, sum_pooling=sum_pooling)
LIBRARY.update(max_pooling_scatter=max_pooling_scatter, sum_pooling_spread=sum_pooling_spread)
