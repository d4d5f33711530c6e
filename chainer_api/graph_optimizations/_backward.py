"""Gradients of the uses of leaves, added in the order of define-by-run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from chainer import _backprop
from chainer.variable import Variable

from ._account import clock


def same_leaves(slots: Sequence[int]) -> list[list[int]]:
    """Which uses are of one leaf, where there are several: positions among the ``slots``."""
    groups: dict[int, list[int]] = {}
    for k, slot in enumerate(slots):
        groups.setdefault(slot, []).append(k)
    return [uses for uses in groups.values() if len(uses) > 1]


def gradients(
    uses: Sequence[Variable],
    results: Sequence[Variable],
    grad_outputs: Sequence[Variable | None],
    alone: Sequence[bool],
    same_leaf: Sequence[Sequence[int]],
    took: Callable[[float], None] | None = None,
) -> list[Variable | None]:
    """The gradients of the uses of leaves, None where there is none.

    ``took`` is told in how many seconds functions have given them, as part of a larger backward.

    Where the uses of one leaf are ``alone``, their gradients are added here, in the order in
    which backward has made them, and stand at the use that comes first in it.
    """
    nodes = [use.node for use in uses]
    given = [(y.node, g) for y, g in zip(results, grad_outputs, strict=True) if g is not None]
    if not given:
        return [None] * len(nodes)
    start = [node for node, _ in given]
    grads = {node: [g] for node, g in given}
    wanted = _backprop._nodes_between(start, nodes)
    started = clock()
    found: list[Any] = _backprop._backward_between(grads, start, wanted, nodes, False)
    if took is not None:
        took(clock() - started)
    order = {node: k for k, node in enumerate(grads)}
    for group, first in zip(same_leaf, alone, strict=True):
        if first:
            made = sorted([k for k in group if found[k] is not None], key=lambda k: order[nodes[k]])
            if made:
                total = functools.reduce(_add, [found[k] for k in made])
                for k in made:
                    found[k] = None
                found[made[0]] = total
    return found


def _add(a: Variable, b: Variable) -> Variable:
    return a + b
