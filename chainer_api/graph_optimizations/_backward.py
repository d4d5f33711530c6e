"""Gradients of the uses of leaves, added in the order of define-by-run."""

from __future__ import annotations

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

    Where the uses of one leaf are ``alone``, their gradients are added as soon as backward has made
    them, and stand at the use that comes first in it.
    """
    nodes = [use.node for use in uses]
    given = [(y.node, g) for y, g in zip(results, grad_outputs, strict=True) if g is not None]
    if not given:
        return [None] * len(nodes)
    start = [node for node, _ in given]
    grads = {node: [g] for node, g in given}
    wanted = _backprop._nodes_between(start, nodes)
    together = {}
    for group, first in zip(same_leaf, alone, strict=True):
        if first:
            total: list[Any] = []
            together.update((nodes[k], total) for k in group)
    started = clock()
    found: list[Any] = _backprop._backward_between(grads, start, wanted, nodes, False, together)
    if took is not None:
        took(clock() - started)
    return found
