"""Exceptions that handlers of signals raise: they come wherever the program is (a timeout, say).

Where the library takes an exception for its own, and goes on in another way, those are the user's.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # signal's, which makes an enum of each answer
import functools
import signal
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

_NUMBERS = [*map(int, signal.valid_signals())]
_DEFAULTS = frozenset({type(None), int})  # types of what stands for no handler: signal.SIG_IGN


def pass_on(error: BaseException) -> None:
    """Raise an exception again, if a handler of a signal has raised it.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     pass_on(error)
    """
    codes = None
    place = error.__traceback__
    while place is not None:
        codes = codes or {*_handlers()}
        if place.tb_frame.f_code in codes:
            raise error
        place = place.tb_next


def is_asynchronous() -> bool:
    """Whether a signal handler or a finalizer is among the callers of who asks.

    >>> is_asynchronous()
    False
    """
    codes, frame = {*_handlers()}, sys._getframe(1)
    while frame is not None:
        if frame.f_code in codes or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _handlers() -> Iterator[CodeType]:
    for number in _NUMBERS:
        handler: Any = _signal.getsignal(number)
        if type(handler) in _DEFAULTS:
            continue
        while isinstance(handler, functools.partial):
            handler = handler.func
        handler = getattr(handler, "__func__", handler)
        if callable(handler) and not hasattr(handler, "__code__"):
            handler = type(handler).__call__
        code = getattr(handler, "__code__", None)
        if isinstance(code, CodeType):
            yield code
