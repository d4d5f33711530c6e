"""``chainer.static_code``: code beside functions and links that runs in every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["static_code"]


def static_code(*dec_args: Any, **dec_kwargs: Any) -> Any:
    """Mark a function or method whose calls belong to a static graph.

    All Python of a compiled method runs in every call, so the function is returned as it is; the
    mark is for code written for the original, which needs it.

    Args:
        func_name (str): Accepted for compatibility; the name in the original's debug output.

    Raises:
        TypeError: If the decorated object is not callable.

    .. doctest::

        >>> calls = []
        >>> class Counting(chainer.Chain):
        ...     @chainer.static_code
        ...     def note(self, x):
        ...         calls.append(float(x[0]))
        ...     @chainer.static_graph
        ...     def forward(self, x):
        ...         self.note(x.array)
        ...         return x * 2
        >>> model = Counting()
        >>> with chainer.no_backprop_mode():
        ...     for k in range(3):
        ...         y = model(chainer.Variable(np.full(2, k, np.float32)))
        >>> calls
        [0.0, 1.0, 2.0]
    """
    if len(dec_args) == 1 and not dec_kwargs and callable(dec_args[0]):
        return _mark(dec_args[0])
    unknown = sorted(set(dec_kwargs) - {"func_name"})
    if dec_args or unknown:
        what = f"no option {', '.join(unknown)}" if unknown else "a function to decorate"
        raise TypeError(f"static_code takes {what}: write @static_code above a function")
    return _mark


def _mark(fn: Callable[..., Any]) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"static_code decorates a function or method, not {fn!r}")

    return fn
