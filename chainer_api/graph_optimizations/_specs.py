"""What the values of a call look like: the descriptions that programs and comparisons go by.

In: Variables and arrays. Out: their classes, shapes, dtypes and strides, as far as something
depends on these; of ways of any sizes, where lengths come from. What may not happen: one
description for values that a function would treat differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from chainer.variable import Variable
from chainwright.ir import size as lengths
from chainwright.ir.layout import dense_strides
from chainwright.ir.size import symbols_in

from ._device import ARRAYS, gpu_of
from ._values import Incomparable


class Spec(NamedTuple):
    """What a value from outside of the call must be: ``kind`` is its class."""

    kind: type
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    requires_grad: bool | None
    gpu: int | None = None  # the GPU on which it is
    loose: bool = False  # whether the strides stand for those of others, too

    @classmethod
    def of(cls, x: Any) -> Spec:
        """The description of a Variable or array."""
        if isinstance(x, Variable):
            array, requires_grad = x._array, x._requires_grad
            node = x.__dict__.get("_node")
            if node is not None and node._requires_grad is not requires_grad:
                raise Incomparable("a Variable that was set another requires_grad than its node")
        else:
            array, requires_grad = x, None
        if not is_plain_array(array):
            raise Incomparable(f"a {type(array).__name__}")
        gpu = gpu_of(array)
        strides = None if gpu is not None else usual_strides(array)
        facts = array.shape, array.dtype, strides or array.strides, requires_grad, gpu
        return cls(type(x), *facts, strides is not None)


_GAP = 64  # bytes between the rows of an array as programs take it


def usual_strides(array: np.ndarray) -> tuple[int, ...] | None:
    """Strides that stand for those of an array, as far as these say how long something else is.

    ``x[:, t]``, of one time step of a batch, has rows that lie as far apart as the batch is long.
    Neither functions of rows depend on how far that is, as long as they do not follow each other
    without gaps, nor those of whole numbers on gaps at all. None: only these strides themselves.

    >>> from chainer.graph_optimizations._specs import usual_strides
    >>> x = np.zeros((4, 7, 2), np.float32)
    >>> x[:, 3].strides, usual_strides(x[:, 3]), usual_strides(x)
    ((56, 4), (72, 4), None)
    """
    shape, size = array.shape, array.itemsize
    if len(shape) == 1:
        return (size,) if array.dtype.kind in "iub" else None
    if not shape or shape[0] < 2 or array.flags.c_contiguous:
        return None
    first, *inner = array.strides
    for n, stride in zip(reversed(shape[1:]), reversed(inner), strict=True):
        if stride != size:
            return None
        size *= n
    return (size + _GAP, *inner) if first > size > 0 and first % array.itemsize == 0 else None


def usual_layout(array: np.ndarray) -> tuple[int, ...]:
    """The usual strides of an array, or else its own."""
    return usual_strides(array) or array.strides


def strides_of_rows(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The usual strides of rows that do not follow each other."""
    row, *inner = dense_strides(shape, itemsize)
    return (row + _GAP, *inner)


def laid_out(array: Any, strides: tuple[int, ...] | None) -> Any:
    """An array with its usual strides, which may be known: itself, or a copy."""
    strides = strides or usual_strides(array) or array.strides
    if array.strides == strides:
        return array
    if array.ndim == 1:
        return array.copy()
    rows = np.empty((len(array), strides[0] // array.itemsize), array.dtype)
    made = rows[:, : -(_GAP // array.itemsize)].reshape(array.shape)
    made[...] = array
    return made


def other_gaps(array: str, spec: Spec, source: Callable[[Any], str]) -> str:
    """The rest of a condition: strides for which those of a description do not stand."""
    strides = spec.strides
    if not spec.loose:
        return f" or {array}.strides != {source(strides)}"
    if len(strides) == 1:
        return ""
    return (
        f" or {array}.strides[1:] != {source(strides[1:])} or "
        f"{array}.strides[0] <= {source(strides[0])} - {_GAP} or "
        f"{array}.strides[0] % {spec.dtype.itemsize}")


class Size(NamedTuple):
    """Where a length comes from that a way of any sizes has open.

    From an axis of the value in a slot, or from an attribute (or an item of one) of a function; or
    a ``formula`` computes it from others before it. ``text`` reads it from ``values`` and ``sizes``
    of a call, once the functions up to ``depth`` are known.
    """

    depth: int
    text: str
    least: int
    largest: int
    slot: int | None = None
    axis: int = 0
    attribute: tuple[Any, ...] = ()
    formula: str = ""


class Sizes(NamedTuple):
    """The lengths that a way of any sizes has open, and those that were ``seen``.

    No length is less than ``shortest``, neither are those that are computed from them.
    """

    all: tuple[Size, ...]
    seen: tuple[tuple[int, ...], ...]
    shortest: int

    def are_long(self, n: lengths.Size) -> bool:
        """Whether a length is a sum of products of axes, so that none is shorter than these."""
        alone = all([self.all[k].slot is not None for k in symbols_in(n)])
        return alone and all([factor > 0 for _, factor in n.terms])

    def text(self, depth: int) -> str:
        """An expression that gives those known at a depth, and None for the others."""
        return f"({''.join([(s.text if s.depth <= depth else 'None') + ', ' for s in self.all])})"


class ArrayItem:
    """Stands in containers among the attributes of a function for an array."""


#: What programs compute with. Numbers in the byte order of another machine are read from files, and
#: a long double has bytes without a meaning, which no comparison of bits leaves out.
_DTYPES = frozenset(np.dtype(code) for code in "?bBhHiIlLqQefd")


def is_plain_array(value: Any) -> bool:
    """Whether a value is an array of numbers, and no subclass of one."""
    return type(value) in ARRAYS and not value.dtype.hasobject


def form_of_output(y: Variable) -> Spec:
    """The description of what a function has given."""
    array = y._array
    if type(array) not in ARRAYS:
        return Spec(type(array), (), np.dtype(object), (), y._requires_grad)
    facts = array.shape, array.dtype, array.strides, y._requires_grad, gpu_of(array)
    return Spec(Variable, *facts)


def unknown_dtype(arrays: Iterable[Any]) -> str | None:
    """Why arrays can be no values of a program: NumPy's functions alone know their dtypes."""
    for array in arrays:
        if array.dtype not in _DTYPES:
            return f"programs do not compute with the dtype {array.dtype.str}"
    return None
