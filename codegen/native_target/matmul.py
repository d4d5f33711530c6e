"""Products of matrices as calls of the loop of ``np.matmul``.

In: nodes that multiply. Out: the region that calls the loop as NumPy does. Products with few rows,
which are code of our own, are in :mod:`.products`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from chainwright.ir import Node
from chainwright.ir.layout import is_contiguous

from .driver import FOREIGN, SILENT
from .steps import Ints, Loop, Place, Product, Region, Step, is_number, nest_of


@functools.cache
def is_silent(op: str) -> bool:
    """Whether NumPy says nothing of floating-point errors in a product: ``dot`` does from 2.4 on.

    >>> is_silent("matmul")
    False
    """
    large = np.full((2, 2), 3e38, "f")
    with np.errstate(over="raise"):
        try:
            getattr(np, op)(large, large)
        except FloatingPointError:
            return False
    return True


def product_of(node: Node) -> Product | None:
    """A product that is one call of the loop of ``np.matmul``; None for others."""
    a, b = node.inputs
    if a.op == "literal" or b.op == "literal" or not a.dims or not b.dims:
        return None
    if not (a.dtype == b.dtype == node.dtype) or not is_number(a.dtype, frozenset("fd")):
        return None
    assert a.dtype is not None
    if node.op == "dot" and not (_is_whole(a) and _is_whole(b) and _is_whole(node)):
        return None
    shapes, strides = (a.dims, b.dims, node.dims), (a.steps, b.steps, node.steps)
    form = Product(node.op, a.dtype, shapes, strides, a is b)
    return None if product_walk(form) is None else form


def _is_whole(x: Node) -> bool:
    assert x.dtype is not None
    size = x.dtype.itemsize
    if len(x.dims) > 2:
        return False
    return is_contiguous(x.dims, x.steps, size) or is_contiguous(x.dims[::-1], x.steps[::-1], size)


class Walk(NamedTuple):
    """How a product is made: calls of the loop, bytes between them, lengths and strides of each."""

    calls: int
    steps: tuple[int, ...]
    lengths: Ints
    strides: Ints


def product_walk(form: Product) -> Walk | None:
    """The calls of the loop that a product takes; None for more than two outer loops."""
    (a, b, c), (sa, sb, sc) = form.shapes, form.strides
    size = form.dtype.itemsize
    if len(a) == 1:
        a, sa = (1, *a), (size * a[0], *sa)
        c, sc = (*c[:-1], 1, *c[-1:]) if len(b) > 1 else (1, *c), _one_more(sc, len(b) > 1, size)
    if len(b) == 1:
        b, sb = (*b, 1), (*sb, size)
        c, sc = (*c, 1), (*sc, size)
    outer = c[:-2]
    parts = [_outer(x, s, outer) for x, s in ((a, sa), (b, sb), (c, sc))]
    matrices = (*sa[-2:], *sb[-2:], *sc[-2:])
    if not outer:
        return Walk(1, (0, 0, 0), (1, *a[-2:], *b[-1:]), (0, 0, 0, *matrices))
    nest = nest_of(outer, parts, by_rows=False)
    if nest.ndim > 2:
        return None
    calls, (count,), columns = 1, (nest.rows * nest.factor,), list(zip(*nest.strides, strict=True))
    if nest.ndim == 2:
        calls, (count,) = count, nest.lengths
    steps = (0, 0, 0) if nest.ndim == 1 else columns[0]
    return Walk(calls, steps, (count, *a[-2:], *b[-1:]), (*columns[-1], *matrices))


def _one_more(strides: Ints, before_last: bool, size: int) -> Ints:
    return (*strides[:-1], size, *strides[-1:]) if before_last else (size, *strides)


def _outer(shape: Ints, strides: Ints, outer: Ints) -> Ints:
    pairs = list(zip(shape[:-2], strides[:-2], strict=True))
    return (0,) * (len(outer) - len(pairs)) + tuple(0 if n == 1 else s for n, s in pairs)


def product_region(form: Product, values: tuple[Node, Node, Node], origin: str = "") -> Region:
    """The calls of the loop for two operands and a result."""
    walk = product_walk(form)
    assert walk is not None
    dtypes = (form.dtype,) * 3
    table = (Loop(np.matmul, dtypes, 0), Loop(np.matmul, dtypes, 1), *walk.lengths, *walk.strides)
    kind = SILENT if is_silent(form.op) else FOREIGN
    places = tuple(Place(x, 0, step) for x, step in zip(values, walk.steps, strict=True))
    return Region(walk.calls, 1, (Step("product", table, places, kind, form.op, (origin,)),))
