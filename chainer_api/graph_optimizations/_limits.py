"""What indexes may be, so that functions raise nothing for them.

In: the recorded nodes of a function that takes items by number: labels, words, actions. Out: the
numbers for which none of these is out of range, to be looked at before the function is computed
late. What may not happen: a function that raises for numbers within its limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir import Node
from chainwright.ir.node import Slot

from ._device import ARRAYS

_OF_CONSTANTS = frozenset({"reshape", "astype", "transpose", "broadcast_to"})


class Limit(NamedTuple):
    """The array in ``slot`` has items of ``range(-length, length)``, and ``ignored`` besides."""

    slot: int
    length: int
    ignored: int | None

    def holds(self, array: np.ndarray) -> bool:
        """Whether no item is out of range.

        >>> from chainer.graph_optimizations._limits import Limit
        >>> limit = Limit(0, 3, 255)
        >>> limit.holds(np.array([0, -3, 255])), limit.holds(np.array([0, 3]))
        (True, False)
        """
        if not array.size:
            return True
        least, most = np.minimum.reduce(array, None), np.maximum.reduce(array, None)
        if -self.length <= least and most < self.length:
            return True
        if self.ignored is None:
            return False
        rest = array[array != self.ignored]
        return rest.size < array.size and self._replace(ignored=None).holds(rest)


def limits_of(nodes: Iterable[Node], slots: dict[Node, int]) -> tuple[Limit, ...] | None:
    """The limits for nodes that may fail; None where something else may be wrong.

    ``slots`` are those of the placeholders for what comes from outside.
    """
    found = list[Limit]()
    for node in nodes:
        index = node.attr("index") if node.op == "getitem" else None
        if type(index) is not tuple:
            return None
        for axis, item in enumerate(index):
            is_slice = type(item) is tuple and item[:1] == ("slice",)
            if is_slice or item is Ellipsis and axis == len(index) - 1:
                continue
            if type(item) is not Slot:
                return None
            of, length = node.inputs[1 + item.k], node.inputs[0].shape[axis]
            if not _is_constant(of):
                limit = _limit(of, length, slots)
                if limit is None:
                    return None
                found.append(limit)
    return tuple(dict.fromkeys(found))


def are_within(values: Sequence[Any], limits: Iterable[Limit]) -> bool:
    """Whether values are within limits, by slot."""
    for limit in limits:
        x = values[limit.slot]
        if not limit.holds(x if type(x) in ARRAYS else x._array):
            return False
    return True


def _is_constant(node: Node) -> bool:
    while node.op in _OF_CONSTANTS:
        node = node.inputs[0]
    return node.op == "constant"


def _limit(node: Node, length: int, slots: dict[Node, int]) -> Limit | None:
    """That of indexes that come from outside, or stand for an index where these are ignored."""
    if node.dtype is None or node.dtype.kind not in "iu":
        return None
    if node in slots:
        return Limit(slots[node], length, None)
    if node.op != "where":
        return None
    condition, *ways = node.inputs
    if condition.op not in ("equal", "not_equal"):
        return None
    other, own = ways if condition.op == "equal" else reversed(ways)
    of, ignored = condition.inputs
    if of is not own or own not in slots or not all(map(_is_number, (ignored, other))):
        return None
    instead = other.attr("value")
    if not -length <= instead < length:
        return None
    return Limit(slots[own], length, int(ignored.attr("value")))


def _is_number(node: Node) -> bool:
    return node.op == "literal" and type(node.attr("value")) is int
