"""Arrays that compiled methods and updates hold, and never write.

In: an array, and who holds it. Out: how many of the references to it are theirs: who else has one
may write into it. What may not happen: that a reference of the user's passes for one of these.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

#: Bytes from which on arrays are held like this; it would take longer than to copy smaller ones.
LARGE = 16384


class Held:
    """One reference to an array, for all that hold it by this object."""

    __slots__ = ("__weakref__", "array", "others")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        #: What holds the array itself, by :attr:`references_to_each` references.
        self.others: weakref.WeakSet[Any] = weakref.WeakSet()


_by_id: weakref.WeakValueDictionary[int, Held] = weakref.WeakValueDictionary()


def hold(array: np.ndarray) -> Held:
    """What holds an array for everybody.

    >>> from chainer.graph_optimizations._held import hold, references
    >>> a = np.zeros(5000)
    >>> first, second = hold(a), hold(a)
    >>> first is second, references(a)
    (True, 1)
    >>> del first, second
    >>> references(a)
    0
    """
    reference = _by_id.data.get(id(array))  # _by_id.get, without a call of Python
    held = None if reference is None else reference()
    if held is None or held.array is not array:
        held = _by_id[id(array)] = Held(array)
    return held


def references(array: np.ndarray) -> int:
    """How many references to an array are known to be held by compiled methods and updates."""
    held = _by_id.get(id(array))
    if held is None or held.array is not array:
        return 0
    there = [reference() for reference in list(held.others.data)]  # other threads add some
    return 1 + sum([other.references_to_each for other in there if other is not None])


def held_values(values: dict[int, Any], large: Any) -> dict[int, Any]:
    """The same dictionary, with the arrays of the keys ``large`` held by :class:`Held`."""
    if not large:
        return values
    return {**values, **{k: hold(values[k]) for k in large if type(values[k]) is np.ndarray}}


def values_of(held: dict[int, Any]) -> dict[int, Any]:
    """What :func:`held_values` was given."""
    return {k: v.array if type(v) is Held else v for k, v in held.items()}
