"""Syntax trees of texts, while other threads run.

Python counts how deep it is in a tree in one place for all threads: where two of them make trees at
a time, :func:`ast.parse` raises a :class:`SystemError` (until 3.12).
"""

from __future__ import annotations

import ast
import os
import threading

# A handler of signals, or a callback of the collector, may come here again in the middle.
_lock = threading.RLock()
_TRIES = 20  # where threads of others make trees


def _new_lock() -> None:
    """A child of ``fork`` would wait for a thread that it does not have."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        SyntaxError: If there is none.

    >>> parsed("x = 1").body[0].targets[0].id
    'x'
    """
    for left in reversed(range(_TRIES)):
        with _lock:
            try:
                return ast.parse(text)
            except SystemError:
                if not left:
                    raise
    raise AssertionError("never comes here")
