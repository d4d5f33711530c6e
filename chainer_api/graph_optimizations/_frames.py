"""The user's lines: which of them applies a function, and which would catch what it raises.

In: the frames of this thread. Out: a line for reports and errors; whether an exception would be
caught inside of the decorated method. What may not happen: a handler of the user's that is missed.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

from chainer import _tracing, function_node
from chainer.function_node import FunctionNode
from chainwright.ir import Origin
from chainwright.tracer import is_library, user_frame

from ._contexts import hands_on
from ._python import ends_of_loops, handled

_HERE = os.path.dirname(os.path.abspath(__file__))
_DOORS = {
    *(os.path.join(_HERE, name) for name in ("_tree.py", "_run.py", "_phrases.py")),
    function_node.__file__,
}


def applied(func: FunctionNode) -> tuple[Origin, bool, bool]:
    """By whom a function is being applied.

    The innermost line of the user's, and those that led there; whether it applies the function
    itself (and may look at what that leaves on itself); whether an exception would be caught by the
    user's code inside of the method.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _DOORS:
        frame = frame.f_back
    entry = _CALL_CODE.get("run")
    places, first, direct, caught = list[tuple[str, int]](), frame, False, False
    last = frame
    while frame is not None and frame.f_code is not entry:
        code = frame.f_code
        if not is_library(code.co_filename):
            place = code.co_filename, frame.f_lineno
            if not places:
                direct = frame is first
            if place not in places[-1:]:  # a comprehension has a frame of its own
                places.append(place)
            caught = caught or frame.f_lasti < _handlers(frame).until
        last, frame = frame, frame.f_back
    if not places and last is not None:  # a method of the library's
        places = [(last.f_code.co_filename, last.f_lineno)]
    (file, line), *calls = places or [("?", 0)]
    via = tuple([f"{path}:{number}" for path, number in calls])
    return Origin(file, line, func.label, via), direct, caught


def tell_where(error: BaseException, origin: Origin | None) -> None:
    """Note where a function stands that is applied late: its line is not in the traceback."""
    if not isinstance(error, Exception) or origin is None or not origin.line:
        return
    lines = " < ".join([origin.place, *origin.via])
    note = f"{origin.function} stands at {lines}; compiled methods compute it later than there"
    if note not in getattr(error, "__notes__", ()):  # an exception may be raised again and again
        error.add_note(note)


def by_user() -> bool:
    """Whether the user's own code applies the function."""
    frame = sys._getframe(2)
    while (name := frame.f_code.co_filename) in _DOORS:
        assert frame.f_back is not None
        frame = frame.f_back
    return not is_library(name)


class _Handlers(NamedTuple):
    """Where a function's code deals with exceptions; the code is held, since its id tells it."""

    code: CodeType
    ranges: list[tuple[int, int]]
    until: int  # the last instruction from which one of these is reached


_handlers_of: dict[int, _Handlers] = {}


def _handlers(frame: FrameType) -> _Handlers:
    code = frame.f_code
    found = _handlers_of.get(id(code))
    if found is None or found.code is not code:
        if len(_handlers_of) > 4096:
            _handlers_of.clear()
        found = _handlers_of[id(code)] = _handlers_in(code, frame.f_globals)
    return found


def _handlers_in(code: CodeType, names: dict[str, Any]) -> _Handlers:
    if is_library(code.co_filename):
        return _Handlers(code, [], 0)
    ranges, ends = list[tuple[int, int]](), [0]
    for first, last, with_at in handled(code):
        if with_at is None or not hands_on(code, names, with_at):
            ranges.append((first, last))
            ends += [last, *ends_of_loops(code, first)]
    return _Handlers(code, ranges, max(ends))


def may_be_caught() -> bool:
    """Whether what a function raises late could meet other handlers than what it raises now.

    A function of the user's that is being run deals with exceptions, here or further below: by
    ``try``, or by ``with`` and something that is not known to hand them on.
    """
    entry = _CALL_CODE.get("run")
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not entry:
        if frame.f_lasti < _handlers(frame).until:
            return True
        frame = frame.f_back
    return False


def is_caught() -> bool:
    """Whether an exception would meet a handler inside of the method."""
    entry = _CALL_CODE.get("run")
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not entry:
        for first, last in _handlers(frame).ranges:
            if first <= frame.f_lasti < last:
                return True
        frame = frame.f_back
    return False


def user_line(depth: int = 2) -> str:
    """``file:line`` of the innermost frame of the user's code."""
    frame = user_frame(depth)
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


_CALL_CODE: dict[str, CodeType] = {}


def entry_code(code: CodeType, run: CodeType) -> None:
    """Tell which code decorated methods have, and which one calls the outermost of them.

    Frames outside of that are the caller's; methods which call each other are all inside of it.
    """
    _CALL_CODE["call"], _CALL_CODE["run"] = code, run


def is_decorated(code: CodeType) -> bool:
    """Whether this is the code of decorated methods."""
    return code is _CALL_CODE.get("call") or code in _tracing.inner_codes
