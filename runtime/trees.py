"""Syntax trees of texts that Python has compiled before, while other threads run.

Python counts how deep it is in a tree in one place for all threads: where two of them make trees at
a time, :func:`ast.parse` raises a :class:`SystemError` (until 3.12). And what it has to say about a
text (an invalid escape sequence, a comparison by ``is``) it has said already.
"""

from __future__ import annotations

import ast
import contextlib
import os
import threading
import warnings
from collections.abc import Iterator
from typing import Any

# A handler of signals, or a callback of the collector, may come here again in the middle.
_lock = threading.RLock()
_TRIES = 20  # where threads of others make trees


def _new_lock() -> None:
    """A child of ``fork`` would wait for a thread that it does not have."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class _OfThisThread(threading.local):
    """In the place of a pattern of texts: whether this thread's warnings are not to be heard."""

    unheard = False

    def match(self, text: str) -> bool:
        return self.unheard


_state = _OfThisThread()
_FILTER: tuple[Any, ...] = ("ignore", _state, Warning, None, 0)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Ignore what Python warns of in this thread; what others warn of stays as it is."""
    before, filters = _state.unheard, warnings.filters
    _state.unheard = True
    filters.insert(0, _FILTER)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        _state.unheard = before
        with contextlib.suppress(ValueError):  # somebody has removed it
            filters.remove(_FILTER)  # type: ignore[attr-defined]


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        SyntaxError: If there is none.

    >>> parsed("x = 1").body[0].targets[0].id
    'x'
    """
    for left in reversed(range(_TRIES)):
        with _lock, unheard():
            try:
                return ast.parse(text)
            except SystemError:
                if not left:
                    raise
    raise AssertionError("never comes here")
