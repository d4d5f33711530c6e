"""What loops go over that nothing can change while they do.

In: the iterable of a loop. Out: whether items may be taken ahead, for several turns in one call.
What may not happen: a turn that gets another item than it would have got in its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# Python's own functions that go over what they are given, and over nothing else.
_FUNCTIONS: tuple[Any, ...] = (enumerate, reversed, zip)
#: Their names, and their options.
ALONG = frozenset([function.__name__ for function in _FUNCTIONS])
OPTIONS = frozenset({"start", "strict"})


class Steady:
    """The items of such an iterable, and how many there are: to be gone over once."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterator[Any], length: int) -> None:
        self._items, self._length = items, length

    def __iter__(self) -> Iterator[Any]:
        return self._items

    def __len__(self) -> int:
        return self._length


def is_steady(iterable: Any) -> bool:
    """Whether nothing changes what comes next of an iterable while the first items are used.

    >>> from chainer.graph_optimizations._steady import is_steady
    >>> import numpy as np
    >>> is_steady(range(3)), is_steady([1, 2, 3])
    (True, False)

    Rows of an array show what is there when they are read; numbers of one axis are as they were.

    >>> is_steady(np.ones((3, 2))), is_steady(np.ones(3))
    (True, False)
    """
    return type(iterable) in (range, tuple, Steady) or (
        type(iterable) is np.ndarray and iterable.ndim > 1)


def along(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a call of ``zip``, ``enumerate`` or ``reversed`` gives; it tells its length if it can.

    ``function`` is what stands there under such a name, whatever that is.

    >>> from chainer.graph_optimizations._steady import along, is_steady
    >>> pairs = along(zip, range(5), ("a", "b"))
    >>> is_steady(pairs), len(pairs), list(pairs)
    (True, 2, [(0, 'a'), (1, 'b')])
    >>> is_steady(along(zip, range(5), ["a", "b"]))
    False
    """
    items = function(*arguments, **options)
    # What an enumeration begins with besides is a number.
    over = arguments[:1] if function is enumerate else arguments
    if not any([function is known for known in _FUNCTIONS]) or not all(map(is_steady, over)):
        return items
    lengths = {*map(len, over)}
    if len(lengths) > 1 and "strict" in options:
        return items  # at its end it says that they are not the same
    return Steady(items, min(lengths, default=0))
