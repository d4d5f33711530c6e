"""Nested values: one way to walk them, and images by which they are compared."""

from __future__ import annotations

import copy
import dataclasses
import weakref
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from chainer import configuration
from chainer.variable import Variable
from chainwright.runtime import native
from chainwright.tracer import blank

from ._device import ARRAYS, address, at_offset, copied_there, on_host, span

SMALL = 4096  # bytes: arrays inside of containers are compared by value up to here


def map_values(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure with ``change(item)`` for everything that is no container.

    Containers are tuples (named ones, too), lists, dictionaries, slices and dataclasses.

    >>> from chainer.graph_optimizations._values import map_values
    >>> map_values([1, (2, {"a": 3})], lambda n: -n)
    [-1, (-2, {'a': -3})]
    """
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([map_values(v, change) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[map_values(v, change) for v in value])
    if kind is dict:
        return {k: map_values(v, change) for k, v in value.items()}
    if kind is slice:
        return slice(*[map_values(v, change) for v in (value.start, value.stop, value.step)])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(
                made, field.name, map_values(getattr(value, field.name), change)
            )
        return made
    return change(value)


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit.

    >>> from chainer.graph_optimizations._values import same_bytes
    >>> same_bytes(np.array([np.nan]), np.array([np.nan])), same_bytes(np.zeros(2), -np.zeros(2))
    (True, False)
    """
    return a is b or native.same_bytes(on_host(a), on_host(b))


def same_numbers(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether what a program gives is what functions give: bit for bit, but any NaN for a NaN.

    Which one comes out of two NaNs, or of ``inf - inf``, is left to the processor.

    >>> from chainer.graph_optimizations._values import same_numbers
    >>> x = np.array([np.nan, 0.0])
    >>> same_numbers(x, np.copysign(x, [-1, 1])), same_numbers(x, np.copysign(x, [1, -1]))
    (True, False)
    """
    return a is b or native.same_bits(on_host(a), on_host(b))


#: Differences that are allowed where the last bits are not asked for, of the largest value.
TOLERANCES = {"e": 1e-2, "f": 1e-4, "d": 1e-9}


def largest(arrays: Iterable[Any]) -> float:
    """The largest finite magnitude in arrays of floating-point numbers; None stands for no array.

    >>> from chainer.graph_optimizations._values import largest
    >>> largest([np.array([1.0, -3.0]), None, np.array([np.inf]), np.array([7])])
    3.0
    """
    found = [0.0]
    for array in arrays:
        if array is not None and array.dtype.kind == "f":
            sizes = np.abs(on_host(array))
            found.append(float(sizes.max(initial=0.0, where=np.isfinite(sizes))))
    return max(found)


class Elsewhere:
    """Arrays whose place others take: ``pairs`` of both, of one shape, dtype and strides."""

    def __init__(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        self.pairs = [
            (a, b) for a, b in pairs
            if a is not b and type(a) is type(b) and a.size
            and (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        ]
        self._bounds = [(a, b, *span(a)) for a, b in self.pairs]

    def seen(self, array: Any) -> Any:
        """The same part of the other array; None for what is no view of one of these.

        >>> from chainer.graph_optimizations._values import Elsewhere
        >>> a, b = np.zeros((2, 3)), np.ones((2, 3))
        >>> seen = Elsewhere([(a, b)]).seen(a.T[1:])
        >>> np.shares_memory(seen, b), seen.shape, seen[0, 1]
        (True, (2, 2), np.float64(1.0))
        """
        if type(array) not in ARRAYS or not array.size:
            return None
        gpu, low, high = span(array)
        for a, b, where, first, last in self._bounds:
            if array is a:
                return b
            if gpu == where and first <= low and high <= last:
                return at_offset(b, address(array) - address(a), array)
        return None


def close(a: np.ndarray, b: np.ndarray, beside: float = 0.0) -> bool:
    """Whether an array is as far from another one as code may be that is not exact.

    ``beside`` is the largest value in what was computed with it: sums that cancel have the
    rounding errors of their terms (the gradient of a bias before a normalization, which is zero).

    >>> from chainer.graph_optimizations._values import close
    >>> x = np.array([1, np.nan, np.inf, 1e3], np.float32)
    >>> close(x, x * np.float32(1 + 1e-6)), close(x, x + np.float32(1)), close(x, x[:3])
    (True, False, False)
    >>> y = np.full(2, 1e-6, np.float32)
    >>> close(y, -3 * y), close(y, -3 * y, beside=50.0)
    (False, True)
    """
    tolerance = TOLERANCES.get(a.dtype.char)
    if tolerance is None or a.shape != b.shape or a.dtype != b.dtype:
        return same_bytes(a, b)
    a, b = on_host(a), on_host(b)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    one, other = a[finite].astype("d"), b[finite].astype("d")
    scale = np.abs(other).max(initial=0.0)
    # What is zero but for rounding has no digits to compare.
    scale = max(scale, 1e-2 * max(1.0, beside))
    return bool(np.abs(one - other).max(initial=0.0) <= tolerance * scale)


def check_is_due(uses: int) -> bool:
    """Whether what is used for the ``uses``-th time is to be checked against define-by-run.

    >>> from chainer.graph_optimizations._values import check_is_due
    >>> with chainer.using_config('static_check', 'spaced'):
    ...     [n for n in range(1, 3000) if check_is_due(n)]
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    """
    how = configuration.peek("static_check")
    if how == "always":
        return True
    if uses & (uses - 1) and uses % 1024 or how == "never" or how == "first" and uses > 1:
        return False
    return uses <= 1024 or uses % 1024 == 0


def copied(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides: the order of sums depends on them.

    >>> from chainer.graph_optimizations._values import copied
    >>> copied(np.zeros((2, 3)).T).strides
    (8, 24)
    """
    if type(array) is not np.ndarray and type(array) in ARRAYS:
        return copied_there(array)
    if array.flags.c_contiguous:
        return array.copy()
    made = blank(array.shape, array.dtype, array.strides)
    made[...] = array
    return made


_BRIEF = 65536  # bytes of arrays of which a copy is bytes: these are compared sooner


class Snapshot:
    """What an array holds at this time.

    >>> from chainer.graph_optimizations._values import Snapshot
    >>> x = np.zeros((2, 3), np.float32)
    >>> before = Snapshot(x)
    >>> x[1] = 1.0
    >>> before.is_of(x), float(before.array.sum())
    (False, 0.0)
    """

    __slots__ = ("_dtype", "_held", "_shape")

    def __init__(self, array: np.ndarray, held: bytes | None = None) -> None:
        small = type(array) is np.ndarray and array.nbytes <= _BRIEF
        # Of small arrays the bytes say as much, and take a third of the time.
        self._held = held or (array.tobytes() if small else copied(array))
        self._dtype, self._shape = array.dtype, array.shape

    def is_of(self, array: np.ndarray) -> bool:
        """Whether the array holds the same, bit for bit."""
        held = self._held
        return array.tobytes() == held if type(held) is bytes else same_bytes(array, held)

    @property
    def array(self) -> np.ndarray:
        """An array that holds it."""
        held = self._held
        if type(held) is not bytes:
            return held
        return np.frombuffer(held, self._dtype).reshape(self._shape)


_copies: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


def shared_copy(array: np.ndarray) -> np.ndarray:
    """A copy that is never written: the last one, where somebody has it and nothing has changed.

    >>> from chainer.graph_optimizations._values import shared_copy
    >>> a = np.zeros(3)
    >>> first, second = shared_copy(a), shared_copy(a)
    >>> a += 1
    >>> first is second, shared_copy(a) is first
    (True, False)
    """
    made = _copies.get(id(array))
    if made is None or made.strides != array.strides or not same_bytes(made, array):
        made = _copies[id(array)] = copied(array)
    return made


_ITEMS = 48  # of arguments: what lies deeper or further behind is not looked at


def form_of(value: Any, of_any_size: bool = False) -> Any:
    """The types and shapes of arguments, for telling whether like ones have come before.

    Not their values: equal forms need not lead to equal calls, nor the other way round.
    ``of_any_size``: how many axes arrays have, in the place of their shapes.

    >>> from chainer.graph_optimizations._values import form_of
    >>> form_of([np.zeros(3), 1]) == form_of([np.ones(3), 2]), form_of([1]) == form_of([1, 1])
    (True, False)
    """
    found: list[Any] = []
    waiting = [value]
    while waiting and len(found) < _ITEMS:
        value = waiting.pop()
        kind = type(value)
        found.append(kind)
        if kind is tuple or kind is list:
            found.append(len(value))
            waiting += value
        elif kind is dict:
            found += value
            waiting += value.values()
        elif kind in ARRAYS or isinstance(value, Variable):
            array = value if kind in ARRAYS else value._array
            if array is not None:
                shape = array.ndim if of_any_size else array.shape
                found += (type(array), shape, array.dtype)
    return tuple(found)


class Incomparable(Exception):
    """A value of which nobody can tell whether another one does the same."""


_PLAIN = frozenset({bool, int, str, bytes, type(None), type(Ellipsis)})


def image(value: Any) -> Any:
    """A hashable image of plain data: types and values.

    Two values with equal images are the same to any code (``1``, ``1.0`` and ``True`` differ, so
    do ``0.0`` and ``-0.0``). What is no plain data has none.

    Raises:
        Incomparable: For functions, objects, large arrays and the like.

    >>> from chainer.graph_optimizations._values import image
    >>> image((1, [2.0])) == image((1, [2.0])), image(1) == image(True)
    (True, False)
    """
    kind = type(value)
    if kind in _PLAIN:
        return (kind, value)
    if kind is float or kind is complex:
        return (kind, repr(value))
    if isinstance(value, np.generic) and kind.__module__ == "numpy":
        return (kind, value.tobytes())
    if isinstance(value, np.dtype):
        return (np.dtype, value.str)
    if kind is tuple or kind is list:
        return (kind, tuple([image(v) for v in value]))
    if kind is dict:
        return (kind, tuple([(image(k), image(v)) for k, v in value.items()]))
    if kind is slice:
        return (kind, image(value.start), image(value.stop), image(value.step))
    if kind is np.ndarray and value.nbytes <= SMALL and not value.dtype.hasobject:
        return (kind, value.shape, value.dtype.str, value.strides, value.tobytes())
    if isinstance(value, type) or _is_library_function(value):
        return (kind, value)
    raise Incomparable(f"a {kind.__name__}")


def _is_library_function(value: Any) -> bool:
    """Whether it is a function without state of its own: NumPy's, or this library's."""
    if not isinstance(value, (np.ufunc, FunctionType, BuiltinFunctionType)):
        return False
    module = getattr(value, "__module__", None) or "numpy"
    return module.partition(".")[0] in ("numpy", "chainer") and not (
        isinstance(value, FunctionType) and value.__closure__
    )


def differs(value: Any, expected: Any) -> bool:
    """Whether the image of ``value`` is another than ``expected``."""
    try:
        return image(value) != expected
    except Incomparable:
        return True
