"""Library ops: what is no composition of elementwise steps, reductions and shape moves.

In: arrays (positional) and plain hashable settings. Out: one array or a tuple of arrays.
A library op never writes to its inputs. Eager functions and generated programs call the same
implementation; called with recording arrays it becomes one node of the graph.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from chainwright.ir import register_library

F = TypeVar("F", bound=Callable[..., Any])
#: Asked before NumPy: ``native(name, implementation, arrays, settings)``, the result or None.
native: Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None
#: The same for array code: ``fused(function, arrays, settings)``.
fused: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None


def library_op(name: str) -> Callable[[F], F]:
    """Declare a function to be the library op ``name``: a row of the op table."""

    def declare(implementation: F) -> F:
        @functools.wraps(implementation)
        def call(*args: Any, **kwargs: Any) -> Any:
            for arg in args:
                record = getattr(type(arg), "__chainwright_op__", None)
                if record is not None:
                    return record(arg, name, implementation, args, kwargs)
            if native is not None:
                done = native(name, implementation, args, kwargs)
                if done is not None:
                    return done
            return implementation(*args, **kwargs)

        register_library(name, implementation, shared=call)
        return call  # type: ignore[return-value]

    return declare


def array_code(function: F) -> F:
    """Declare a function to be array code: one native program of define-by-run, where that pays.

    It takes arrays of one array module (positional) and plain hashable settings, gives arrays that
    share no memory with its arguments, and writes to none of them. Where it is recorded, its lines
    are: it is no node of the graph, and what stands around it can be fused with it.

    >>> import numpy as np
    >>> @array_code
    ... def scaled(x, *, factor):
    ...     return x * factor
    >>> scaled(np.arange(3.0), factor=2)
    array([0., 2., 4.])
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if fused is not None:
            done = fused(function, args, kwargs)
            if done is not None:
                return done
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


class _Recording(threading.local):
    for_any_sizes = loops_are_ops = False


#: How what is recorded in this thread is recorded. ``for_any_sizes``: it is to hold for other
#: lengths, so no constant is to be made of one. ``loops_are_ops``: a loop over a length is to be
#: one library op, where it would be unrolled; its results are not looked at, and not computed.
RECORDING = _Recording()


@contextlib.contextmanager
def recording(**settings: bool) -> Iterator[None]:
    """Have settings of :data:`RECORDING` in this thread."""
    before = {name: getattr(RECORDING, name) for name in settings}
    vars(RECORDING).update(settings)
    try:
        yield
    finally:
        vars(RECORDING).update(before)
