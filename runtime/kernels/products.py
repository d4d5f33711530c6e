"""Products of matrices of which one side is short, as batches give them.

NumPy's BLAS reaches half of its speed for them, and on some processors for longer ones, too. Where
there is native code, these products are computed by code of our own, in define-by-run and in
programs alike: its order of summation is what such a product is. Where there is none, and with the
target ``numpy``, it is ``a.dot(b)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from chainwright.ir import OPS, register_library
from chainwright.ir.frozen import Scope
from chainwright.ir.node import Node
from chainwright.ir.op import call_text, register

from ..options import OPTIONS

#: Asked unless the target is ``numpy``: a function that computes the product of two arrays of these
#: layouts into a third, or None. ``op`` is that of NumPy. It may not depend on when it is asked.
native: Callable[[Any, Any, Any, str], Callable[[Any, Any, Any], None] | None] | None = None
SHORT = 1024  # the shortest side of all three matrices; native code may want it shorter
WORK = 1 << 19  # products of two numbers


def is_few(a: Any, b: Any) -> bool:
    """Whether the products of two arrays of matrices have few rows; shapes and dtypes decide."""
    first, second = a.shape, b.shape
    if first[:-2] == second[:-2] and second and math.prod(first) * second[-1] < WORK:
        return False  # as most, and soon
    dtype = a.dtype
    return dtype == b.dtype and dtype.char in "fd" and dtype.isnative and are_few(first, second)


def are_few(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether arrays of these shapes, as ``matmul`` takes them, have products with few rows."""
    if len(first) < 2 or len(second) < 2 or first[-1] != second[-2]:
        return False
    (m, k), n = first[-2:], second[-1]
    if not 2 <= min(m, k, n) <= SHORT:
        return False
    try:
        return m * k * n * math.prod(_outer(first, second)) >= WORK
    except ValueError:  # NumPy's words for it are those of its products
        return False


def _outer(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The axes before those of the matrices."""
    one, other = first[:-2], second[:-2]
    return one if one == other else np.broadcast_shapes(one, other)


def few_rows(a: Any, b: Any, out: Any = None) -> Any:
    """``np.dot`` of two matrices of NumPy for which :func:`is_few` holds."""
    if out is None:
        out = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return out if _has(a, b, out, "dot") else np.dot(a, b, out)


def few_rows_matmul(a: Any, b: Any, out: Any = None) -> Any:
    """``np.matmul`` of two arrays of NumPy for which :func:`is_few` holds, in C order."""
    if out is None:
        out = np.empty((*_outer(a.shape, b.shape), a.shape[-2], b.shape[-1]), a.dtype)
    return out if _has(a, b, out, "matmul") else np.matmul(a, b, out)


def few_rows_sum(*arrays: Any) -> Any:
    """``a b + c d + e f``: :func:`few_rows` of pairs of matrices, added up in their order.

    An odd number of arrays: the last is what the products are added to.
    """
    total = arrays[-1] if len(arrays) % 2 else None
    for a, b in zip(arrays[:-1:2], arrays[1::2], strict=True):
        product = few_rows(a, b)
        total = product if total is None else total + product
    return total


def _has(a: Any, b: Any, out: Any, op: str) -> bool:
    """Compute a product by native code, if there is any."""
    if native is None or OPTIONS.target() == "numpy":
        return False
    multiply = native(a, b, out, op)
    if multiply is None:
        return False
    multiply(a, b, out)
    return True


def dot(a: Any, b: Any) -> Any:
    """``a.dot(b)``, of whichever kind of arrays.

    >>> dot(np.ones((2, 3)), np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    if a.ndim == b.ndim == 2 and is_few(a, b):
        if type(a) is np.ndarray and type(b) is np.ndarray:
            return few_rows(a, b)
        record, x = _recording(a, b)
        if record is not None:
            return record(x, "few_rows", few_rows, (a, b), {})
    return a.dot(b)


def matmul(a: Any, b: Any, out: Any = None, xp: Any = None) -> Any:
    """``a @ b``, of whichever kind of arrays; arrays that are recorded have no ``out``.

    ``xp`` is the array module as the caller sees it.

    >>> matmul(np.ones((4, 2, 3)), np.ones((3, 1))).shape
    (4, 2, 1)
    """
    if is_few(a, b):
        if type(a) is np.ndarray and type(b) is np.ndarray:
            return few_rows_matmul(a, b, out)
        record, x = _recording(a, b)
        if record is not None:
            return record(x, "few_rows_matmul", few_rows_matmul, (a, b), {})
    return a @ b if xp is None else xp.matmul(a, b, out=out)


def _recording(*arrays: Any) -> tuple[Any, Any]:
    """What records a call, and the array whose it is."""
    for x in arrays:
        record = getattr(type(x), "__chainwright_op__", None)
        if record is not None:
            return record, x
    return None, None


def _text(function: Callable[..., Any]) -> Callable[..., str]:
    def text(node: Node, args: Any, scope: Scope, out: str | None = None) -> str:
        name = scope.value(function, function.__name__)
        return call_text(name, [*args, out] if out else args)

    return text


register(
    replace(OPS["dot"], name="few_rows", text=_text(few_rows)),
    replace(
        OPS["matmul"],
        name="few_rows_matmul",
        text=_text(few_rows_matmul),
        strides=OPS["dot"].strides,
    ),
)
register_library("few_rows_sum", few_rows_sum)
