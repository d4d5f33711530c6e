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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._warned import FILTER, matches

try:
    from numpy._core.umath import _extobj_contextvar

    errors = _extobj_contextvar.get  # how floating-point errors are treated in this context
except ImportError:  # another NumPy: programs warn from their lines
    _extobj_contextvar = None

    def errors() -> Any:
        """Nothing to be compared."""


#: Of a call that is deep in others, or of a process without memory: no fault of what raises them.
NO_ROOM = RecursionError, MemoryError
_HEARD = frozenset({"call", "print", "log"})
_heard: tuple[Any, bool] = (object(), False)  # of the last state that was asked for


def errors_are_heard() -> bool:
    """Whether somebody hears of floating-point errors as they occur, once for each.

    A function of the user's (``numpy.errstate(all="call")``), standard output or a log. Nothing
    may be computed for a second time then.

    >>> from chainer.graph_optimizations._errors import errors_are_heard
    >>> with np.errstate(invalid="print"):
    ...     errors_are_heard()
    True
    >>> errors_are_heard()
    False
    """
    global _heard
    now, (state, heard) = errors(), _heard
    if now is not state or now is None:
        heard = not _HEARD.isdisjoint(np.geterr().values())
        _heard = now, heard
    return heard


def _warnings_raise() -> bool:
    """Whether a warning of floating-point errors in one of the library's functions may raise."""
    for entry in warnings.filters:
        action, text, kind, module, line = entry
        if entry is not FILTER and issubclass(RuntimeWarning, kind):
            if action == "error" and any([
                matches(module, name) for name in list(sys.modules) if name.startswith("chainer.")
            ]):
                return True
            if text is None and module is None and line == 0:
                return False
    return False


_raised: tuple[Any, Any, bool] = (object(), None, False)


def errors_are_raised() -> bool:
    """Whether functions may raise for floating-point errors, or whoever hears of them may.

    >>> from chainer.graph_optimizations._errors import errors_are_raised
    >>> with np.errstate(over="raise"):
    ...     errors_are_raised()
    True
    >>> with np.errstate(all="ignore"):
    ...     errors_are_raised()
    False
    """
    global _raised
    now, filters, (state, known, raised) = errors(), tuple(warnings.filters), _raised
    if now is not state or now is None or filters != known:
        how = set(np.geterr().values())
        raised = not how.isdisjoint({"raise", "call"}) or "warn" in how and _warnings_raise()
        _raised = now, filters, raised
    return raised


@contextmanager
def error_state(state: Any) -> Iterator[None]:
    """Treat floating-point errors as when ``state`` was what :func:`errors` gave."""
    if state is errors():
        yield
        return
    token = _extobj_contextvar.set(state)
    try:
        yield
    finally:
        _extobj_contextvar.reset(token)


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
