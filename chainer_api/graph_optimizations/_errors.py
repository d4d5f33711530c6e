"""Floating-point errors of programs, of which somebody is told as define-by-run would tell them.

In: a program that is about to run. Out: its results, and nothing said; what is to be said, the
functions say themselves, which whoever called applies then: with their words, from their lines, in
their order. What may not happen: a program that warns, since it computes in another order, by other
ufuncs, on lines of its own.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ._tree import errors
from ._warned import FILTER

try:
    from numpy._core.umath import _extobj_contextvar
except ImportError:  # another NumPy: programs warn from their lines
    _extobj_contextvar = None


class _Told(threading.local):
    """What this thread's program has met, as the log to which NumPy writes."""

    texts: tuple[str, ...] = ()

    def write(self, text: str) -> None:
        self.texts += (text,)


_told = _Told()
_FLAGS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}  # what functions are called with
# Of the state that was asked for last, and of the filter that comes first: the states in which an
# error is raised, and noted.
_known: tuple[Any, Any, Any, Any] = (object(), None, None, None)


def _states() -> tuple[Any, Any, Any, Any]:
    """The state of now, and those of programs at the end; None there if nobody wants to know."""
    global _known
    now, first, known = errors(), _first_filter(), _known
    if now is known[0] and first is known[1] or _extobj_contextvar is None:
        return known
    unheard = {"ignore"} if first is None or not _ignores(*first) else {"ignore", "warn"}
    wanted = [kind for kind, how in np.geterr().items() if how not in unheard]
    made = []
    for how in ("raise", "log") if wanted else ():
        with np.errstate(**dict.fromkeys(wanted, how), call=_told):
            made.append(errors())
    _known = known = (now, first, *(made or (None, None)))
    return known


def _first_filter() -> Any:
    """The user's filter of warnings that is looked at before the others."""
    for entry in warnings.filters:
        if entry is not FILTER:
            return entry
    return None


def _ignores(action: str, text: Any, kind: type[Warning], module: Any, line: int) -> bool:
    """Whether a filter ignores all warnings of floating-point errors."""
    everywhere = text is None and module is None and line == 0
    return everywhere and action == "ignore" and issubclass(RuntimeWarning, kind)


def raising(run: Callable[..., Any], *args: Any) -> Any:
    """What a program gives.

    Raises:
        FloatingPointError: The first error that is not ignored, however it is to be told.
    """
    state = _states()[2]
    if state is None:
        return run(*args)
    token = _extobj_contextvar.set(state)
    try:
        return run(*args)
    finally:
        _extobj_contextvar.reset(token)


def noting(run: Callable[..., Any], *args: Any) -> tuple[Any, tuple[str, ...]]:
    """What a program gives, and what NumPy would have said."""
    state = _states()[3]
    if state is None:
        return run(*args), ()
    token, before, _told.texts = _extobj_contextvar.set(state), _told.texts, ()
    try:
        return run(*args), _told.texts
    finally:
        _told.texts = before
        _extobj_contextvar.reset(token)


def tell(texts: tuple[str, ...]) -> None:
    """Tell of errors in the words of a program, where the functions cannot be applied again.

    Raises:
        FloatingPointError: ``numpy.errstate`` asks for it.
    """
    for text in texts:
        said = text.removeprefix("Warning: ").strip()
        kind, flag = next((k, f) for k, f in _FLAGS.items() if said.startswith(k))
        how, listener = np.geterr()[kind], np.geterrcall()
        if how == "raise":
            raise FloatingPointError(said)
        if how == "warn":
            warnings.warn(said, RuntimeWarning, stacklevel=2)
        elif how == "call":
            listener(said.partition(" encountered")[0], flag)
        elif how != "ignore":
            (sys.stderr if how == "print" else listener).write(text)
