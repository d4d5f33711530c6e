"""Products over an inner axis of length 1, as loops.

In: a graph. Out: the same with a loop for each product of a column and a row, where that gives
NumPy's bits. The weights' gradient for a batch of one is such a product, and so is what a linear
layer with one unit passes back. The loop of ``np.matmul`` takes an item at a time for them, and no
loop beside it can be joined with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainwright.ir import Graph, Node, literal, make
from chainwright.ir.passes import replace_nodes

from .matmul import product_of
from .steps import Product


def is_outer(form: Product) -> bool:
    """Whether a product is that of a column and a row.

    >>> import numpy as np
    >>> shapes, strides = ((3, 1), (1, 2), (3, 2)), ((4, 4), (8, 4), (8, 4))
    >>> is_outer(Product("dot", np.dtype("f"), shapes, strides, False))
    True
    """
    a, b, _ = form.shapes
    return len(a) == len(b) == 2 and a[1] == 1


def outer_product(op: Callable[..., Any], zero: Any, a: Any, b: Any, joined: bool) -> Any:
    """What BLAS computes: ``a * b + 0``; the product may be ``joined`` with the sum (FMA).

    Then only a product that is zero loses its sign, and not what is too small for a number.
    ``op`` applies a function by its name.
    """
    product = op("multiply", a, b)
    total = op("add", product, zero)
    if not joined:
        return total
    some = op("where", op("equal", b, zero), total, product)
    return op("where", op("equal", a, zero), total, some)


def outer_as_loops(graph: Graph, holds: Callable[[Product, bool], bool]) -> Graph:
    """Rewrite the products of columns and rows for which :func:`outer_product` is known to hold."""

    def rewritten(node: Node) -> Node | None:
        if node.op not in ("dot", "matmul"):
            return None
        form = product_of(node)
        if form is None or not is_outer(form):
            return None

        def op(name: str, *inputs: Node) -> Node:
            return make(name, *inputs, origin=node.origin)

        for joined in (False, True):
            if holds(form, joined):
                made = outer_product(op, literal(0.0), *node.inputs, joined=joined)
                same = made.dtype == node.dtype and made.strides == node.strides
                return made if same else None
        return None

    return replace_nodes(graph, rewritten)
