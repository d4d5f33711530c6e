"""Products of matrices of which one side is short, as batches give them.

NumPy's BLAS reaches half of its speed for them. Where there is native code, these products are
computed by code of our own, in define-by-run and in programs alike: its order of summation is what
such a product is. Where there is none, and with the target ``numpy``, it is ``a.dot(b)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from chainwright.ir import OPS
from chainwright.ir.frozen import Scope
from chainwright.ir.node import Node
from chainwright.ir.op import call_text, register

from ..options import OPTIONS

#: Asked by :func:`few_rows` unless the target is ``numpy``: a function that computes the product
#: of two matrices of these layouts into a third, or None. It may not depend on when it is asked.
native: Callable[[Any, Any], Callable[[Any, Any, Any], None] | None] | None = None
SHORT = 128  # the shortest side of all three matrices
WORK = 1 << 21  # products of two numbers


def is_few(a: Any, b: Any) -> bool:
    """Whether a product is :func:`few_rows`; shapes and dtypes decide."""
    first, second = a.shape, b.shape
    if len(first) != 2 or len(second) != 2 or first[1] != second[0]:
        return False
    (m, k), n = first, second[1]
    if m * k * n < WORK or not 2 <= min(m, k, n) <= SHORT:
        return False
    dtype = a.dtype
    return dtype == b.dtype and dtype.char in "fd" and dtype.isnative


def few_rows(a: Any, b: Any, out: Any = None) -> Any:
    """The product of two matrices of NumPy for which :func:`is_few` holds."""
    if native is not None and OPTIONS.target() != "numpy":
        multiply = native(a, b)
        if multiply is not None:
            if out is None:
                out = np.empty((a.shape[0], b.shape[1]), a.dtype)
            multiply(a, b, out)
            return out
    return np.dot(a, b, out)


def dot(a: Any, b: Any) -> Any:
    """``a.dot(b)``, of whichever kind of arrays.

    >>> dot(np.ones((2, 3)), np.ones((3, 1))).tolist()
    [[3.0], [3.0]]
    """
    if is_few(a, b):
        if type(a) is np.ndarray and type(b) is np.ndarray:
            return few_rows(a, b)
        for x in (a, b):
            record = getattr(type(x), "__chainwright_op__", None)
            if record is not None:
                return record(x, "few_rows", few_rows, (a, b), {})
    return a.dot(b)


def _text(node: Node, args: Any, scope: Scope, out: str | None = None) -> str:
    return call_text(scope.value(few_rows, "few_rows"), [*args, out] if out else args)


register(replace(OPS["dot"], name="few_rows", text=_text))
