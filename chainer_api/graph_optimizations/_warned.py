"""Warnings where define-by-run has them: once, and by the filters of the place.

In: a thread that computes what its call may compute again, with its Python; or that computes late.
Out: whether it has warned, and nothing told to anybody; or warnings as of the beginning of the
call. What may not happen: a warning of another thread lost, or the filters of the user's, or what
Python remembers of places that have warned, changed.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any


class Warned(Exception):
    """The call has to be made with its Python, which warns as the user's filters say."""


class _State(threading.local):
    hears: Hearing | None = None
    text = ""


_state = _State()


class _OfThisThread:
    """In the place of a pattern: what is warned of by a thread that is listened to."""

    def match(self, text: str) -> bool:
        _state.text = text
        return _state.hears is not None


class _AnyKind(type):
    """The class of a class of warnings that has all others below it, and hears of them."""

    def __subclasscheck__(cls, category: type) -> bool:
        if _state.hears is not None and not _is_ignored(_state.text, category):
            _state.hears.warned = True
        return True


def _is_ignored(text: str, category: type[Warning]) -> bool:
    """Whether the user's filters ignore a warning, wherever it comes from."""
    for entry in warnings.filters:
        action, pattern, kind, module, line = entry
        if entry is not FILTER and issubclass(category, kind) and matches(pattern, text):
            return action == "ignore" and module is None and line == 0
    return False


def matches(pattern: Any, text: str) -> bool:
    """Whether a filter is one for a text, or for the name of a module."""
    if pattern is None or isinstance(pattern, str):  # Python's own filters have strings
        return pattern in (None, text)
    return bool(pattern.match(text))


#: Entry of ``warnings.filters``. Ignored warnings leave no trace, and neither does an entry that
#: comes and goes without Python being told.
FILTER: tuple[Any, ...] = ("ignore", _OfThisThread(), _AnyKind("_Any", (), {}), None, 0)


class Warns:
    """How warnings were told of when a call began: whatever ``catch_warnings`` changes."""

    __slots__ = ("_shown", "filters")

    def __init__(self) -> None:
        self.filters, self._shown = warnings.filters, _shown()

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Warn as then: functions that are computed late were applied before a change."""
        now, shown = warnings.filters, _shown()
        if now is self.filters:
            yield
            return
        _warn_by(self.filters, self._shown)
        try:
            yield
        finally:
            _warn_by(now, shown)


def _shown() -> tuple[Any, ...]:
    return warnings.showwarning, warnings._showwarnmsg_impl  # type: ignore[attr-defined]


def _warn_by(filters: Any, shown: tuple[Any, ...]) -> None:
    warnings.filters = filters
    warnings.showwarning, warnings._showwarnmsg_impl = shown  # type: ignore[attr-defined]


class Hearing:
    """Hears this thread's warnings in the place of everybody else, between begin and end."""

    __slots__ = ("_filters", "_outer", "warned")

    def __init__(self) -> None:
        self.warned = False
        self._filters: Any = None

    def begin(self) -> None:
        self._outer, _state.hears = _state.hears, self
        self._filters = warnings.filters
        self._filters.insert(0, FILTER)

    def end(self) -> None:
        if self._filters is not None:
            _state.hears = self._outer
            with contextlib.suppress(ValueError):  # Ctrl-C may have come before it was inserted
                self._filters.remove(FILTER)
            self._filters = None

    def __enter__(self) -> Hearing:
        self.begin()
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()
