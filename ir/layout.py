"""Memory layouts: strides of dense arrays, of views, and of what NumPy allocates by itself.

The last bits of a matrix product or a sum depend on the strides of its inputs, so the layout is
part of a value. Nothing here touches the memory of an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Shape = tuple[int, ...]


def dense_strides(shape: Shape, itemsize: int, order: Shape | None = None) -> Shape:
    """Strides of an array without gaps; ``order`` lists its axes from outermost to innermost."""
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(order if order is not None else range(len(shape))):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def order_of(strides: Shape) -> Shape:
    """The axes from outermost to innermost in memory."""
    return tuple(sorted(range(len(strides)), key=lambda axis: -abs(strides[axis])))


def is_dense(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether an array of these strides fills its memory, whatever the order of its axes."""
    return 0 in shape or strides == dense_strides(shape, itemsize, order_of(strides))


def is_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether NumPy calls it C-contiguous: axes of length one may have any stride."""
    if 0 in shape:
        return True
    step = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def extent(shape: Shape, strides: Shape, itemsize: int) -> tuple[int, int]:
    """The bytes that an array spans, and the offset of its first element among them."""
    if 0 in shape:
        return 0, 0
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    before = -sum(step for step in reach if step < 0)
    return before + sum(step for step in reach if step > 0) + itemsize, before


def phantom(shape: Shape, dtype: np.dtype[Any], strides: Shape) -> np.ndarray:
    """An array of this layout with no memory behind it: for views only, never to be read."""
    return as_strided(np.empty(1, dtype), shape, strides)


def reshaped_strides(shape: Shape, strides: Shape, new: Shape, itemsize: int) -> Shape | None:
    """Strides of a C-order reshape that is a view; ``None`` where NumPy has to copy."""
    # Plain numbers: lengths that are expressions are those of the first probe here.
    old = [(int(n), s) for n, s in zip(shape, strides, strict=True) if n != 1]
    new = tuple(map(int, new))
    result: list[int] = []
    start = i = 0
    while i < len(new) and start < len(old):
        stop, length, j, target = start + 1, old[start][0], i + 1, new[i]
        while length != target:
            if target < length:
                target *= new[j]
                j += 1
            else:
                length *= old[stop][0]
                stop += 1
        if any(old[k][1] != old[k + 1][0] * old[k + 1][1] for k in range(start, stop - 1)):
            return None
        result += _split(old[stop - 1][1], new[i:j])
        start, i = stop, j
    last = result[-1] if result else itemsize
    return tuple(result + [last] * (len(new) - len(result)))


def _split(step: int, lengths: Shape) -> list[int]:
    return [step * prod(lengths[axis + 1 :]) for axis in range(len(lengths))]


def allocated_strides(
    shape: Shape, itemsize: int, operands: Sequence[tuple[Shape, Shape, np.dtype[Any]]]
) -> Shape:
    """Strides of the array that a ufunc allocates for its result (NumPy's order 'K')."""
    if all(is_contiguous(s, strides, dtype.itemsize) for s, strides, dtype in operands):
        return dense_strides(shape, itemsize)
    if all(_is_fortran(*operand, shape) for operand in operands):
        return dense_strides(shape, itemsize, tuple(range(len(shape)))[::-1])
    arrays = [phantom(s, np.dtype(np.int8), strides) for s, strides, _ in operands]
    flags: list[Any] = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    with np.nditer([*arrays, None], ["zerosize_ok"], flags, [np.int8] * len(flags)) as iterator:
        found = iterator.operands[-1].strides
    return tuple(stride * itemsize for stride in found)


#: Bytes from which NumPy may write what an operator gives into an operand that nobody else holds.
REUSED = 1 << 18
_COMMUTATIVE = frozenset({"add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor"})


def reuse_matters(
    ufunc: str, operands: Sequence[np.ndarray], loose: Sequence[bool], least: int = REUSED
) -> bool:
    """Whether the result of an operator has another layout where NumPy reuses an operand.

    ``loose`` says which of the two operands may be held by nobody else, like ``1 - y`` in
    ``g * (1 - y)``: there the result has the layout of ``y`` if it is large, and else that of
    ``g``. Of operations that are not commutative only the first operand is reused. Those of
    ``least`` bytes are large.
    """
    first, second = operands
    if first.nbytes < least or first.shape != second.shape or first.dtype != second.dtype:
        return False
    dtype = first.dtype
    layouts = [(a.shape, a.strides, dtype) for a in operands]
    allocated = allocated_strides(first.shape, dtype.itemsize, layouts)
    reusable = loose if ufunc in _COMMUTATIVE else (loose[0], False)
    return any(
        may_be and a.strides != allocated for a, may_be in zip(operands, reusable, strict=True))


def _is_fortran(own: Shape, strides: Shape, dtype: np.dtype[Any], shape: Shape) -> bool:
    """Whether an operand is a scalar, or of the full shape and contiguous from the first axis."""
    return not own or own == shape and is_contiguous(own[::-1], strides[::-1], dtype.itemsize)


def reduced_strides(shape: Shape, strides: Shape, axes: Shape, keep: bool, itemsize: int) -> Shape:
    """Strides of the array that a reduction allocates for its result."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = [axis for axis in order_of(strides) if keep or axis in kept]
    if not keep:
        order = [kept.index(axis) for axis in order]
    lengths = [1 if axis in axes else n for axis, n in enumerate(shape) if keep or axis in kept]
    return dense_strides(tuple(lengths), itemsize, tuple(order))
