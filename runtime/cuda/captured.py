"""What a program calls of CuPy while it is run to be captured as a CUDA graph.

CuPy refuses its products while a stream is captured: they go to cuBLAS itself (`blas`). What is on
the host CuPy copies through pinned memory that it uses again, so that a graph would copy whatever
lies there later: programs that do so have no graph. CuPy's `concatenate` makes a table of many
arrays on the host: here each array is copied to its place instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .blas import Blas, Refused


class Products:
    """The products of one program: CuPy's, or cuBLAS's while ``capturing``.

    ``refused`` says why the program cannot be captured, as soon as that is seen.
    """

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.capturing = False
        self.refused: str | None = None
        self.outer: Callable[[int], Any] | None = None  # what gives CuPy memory of its own
        self._stream: Any = None
        self._inner: Callable[[int], Any] | None = None
        self._blas: Blas | None = None

    def learn(self, stream: Any, inner: Callable[[int], Any]) -> None:
        """From now on, find for each product how cuBLAS does the same.

        ``stream`` runs them; what they take of memory while they are captured is ``inner``'s.
        """
        self._stream, self._inner, self._blas, self.refused = stream, inner, None, None

    def bind(self, stream: Any) -> None:
        """Have what is captured go into this stream."""
        if self._blas is not None:
            self._blas.bind(stream)

    def end(self) -> None:
        """Learn no more."""
        self._stream = self._inner = self._blas = self.refused = None

    def multiply(self, function: Any, a: Any, b: Any, out: Any) -> Any:
        """``function(a, b, out)``, a product of CuPy's."""
        if out is None:
            shape = shape_of(a, b, function is self.cupy.matmul)
            if shape is None:
                self.refused = "a product is none of matrices"
                return function(a, b)
            out = self.cupy.empty(shape, np.result_type(a.dtype, b.dtype))
        if a.ndim == b.ndim == 1:  # a kernel of CuPy's own, which it does not refuse
            with self.cupy.cuda.using_allocator(self._inner or self.outer):
                function(a, b, out=out)
            return out
        if self.capturing:
            if self._blas is None:
                raise Refused("a product of another form came while it was captured")
            with self.cupy.cuda.using_allocator(self._inner):
                self._blas.multiply(a, b, out)
            return out
        with self.cupy.cuda.using_allocator(self.outer):  # what CuPy takes meanwhile is nobody's
            function(a, b, out=out)
            if self._stream is not None and self.refused is None:
                self._learn(function, a, b, out)
        return out

    def _learn(self, function: Any, a: Any, b: Any, out: Any) -> None:
        try:
            if self._blas is None:
                self._blas = Blas.of(self.cupy, self._stream)
            self._blas.learn(function, a, b, out)
            with self.cupy.cuda.using_allocator(self._inner):
                self._blas.reserve(a, b, out)
        except Refused as reason:
            self.refused = str(reason)

    def copy(self, function: Any, array: Any, args: Any, settings: Any) -> Any:
        """``function(array)``, which makes an array of CuPy's."""
        if not isinstance(array, self.cupy.ndarray):
            self.refused = "it copies arrays from the host"
        return function(array, *args, **settings)

    def concatenate(
        self, arrays: Sequence[Any], axis: int | None = 0, out: Any = None, **settings: Any
    ) -> Any:
        """``concatenate(arrays, axis, out)``: the copies that it makes."""
        first = arrays[0]
        if settings or axis is None or any(a.dtype != first.dtype for a in arrays):
            return self.cupy.concatenate(arrays, axis, out, **settings)
        joined = axis % first.ndim
        if out is None:
            length = sum(a.shape[joined] for a in arrays)
            shape = (*first.shape[:joined], length, *first.shape[joined + 1:])
            out = self.cupy.empty(shape, first.dtype)
        before, start = (slice(None),) * joined, 0
        for a in arrays:
            stop = start + a.shape[joined]
            out[(*before, slice(start, stop))] = a
            start = stop
        return out

    def stack(
        self, arrays: Sequence[Any], axis: int = 0, out: Any = None, **settings: Any
    ) -> Any:
        """``stack(arrays, axis, out)``, likewise."""
        axis %= arrays[0].ndim + 1
        longer = [self.cupy.expand_dims(a, axis) for a in arrays]
        return self.concatenate(longer, axis, out, **settings)

    def instead(self, value: Any) -> Any:
        """What stands for a function of CuPy's in the program; None for what stays."""
        if value is self.cupy.dot or value is self.cupy.matmul:
            return lambda a, b, out=None: self.multiply(value, a, b, out)
        if value is self.cupy.asarray or value is self.cupy.array:
            return lambda array, *args, **settings: self.copy(value, array, args, settings)
        if value is self.cupy.concatenate:
            return self.concatenate
        if value is self.cupy.stack:
            return self.stack
        return None


class Module:
    """The module ``cupy``, as library functions see it in such a program."""

    def __init__(self, products: Products) -> None:
        self._products = products

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._products.cupy, name)
        found = self._products.instead(value)
        value = value if found is None else found
        setattr(self, name, value)  # found once
        return value


def shape_of(a: Any, b: Any, stacks: bool) -> tuple[int, ...] | None:
    """The shape of a product of matrices or vectors, or of ``stacks`` of them; None for others."""
    if 1 in (a.ndim, b.ndim) and max(a.ndim, b.ndim) <= 2:
        return (*a.shape[:-1], *b.shape[1:])
    if a.ndim < 2 or b.ndim < 2 or not stacks and max(a.ndim, b.ndim) > 2:
        return None
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*leading, a.shape[-2], b.shape[-1])
