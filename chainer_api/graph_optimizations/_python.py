"""What is assumed of the interpreter, and whether it holds here.

In: nothing. Out: how references are counted, what lies inside of ``try``, and whether both are
known. The language promises neither: a Python that does otherwise has compiled methods go
define-by-run, and the log says so, once.
"""

from __future__ import annotations

import dis
import functools
import logging
import sys
from contextlib import nullcontext
from types import CodeType
from typing import Any, NamedTuple

from chainwright.runtime import pass_on

logger = logging.getLogger("chainwright")
refs = sys.getrefcount


def _of_a_local() -> int:
    x = object()
    return refs(x) - 1


#: What :func:`refs` counts for its own argument, if that is a local variable: 1 until Python 3.13;
#: later ones lend such references.
LOCAL = _of_a_local()


class Handled(NamedTuple):
    """Instructions from which exceptions do not simply go on to the caller."""

    first: int
    last: int
    #: Line and column of a ``with`` statement; None for ``try``.
    with_at: tuple[int, int] | None


@functools.lru_cache(1024)
def handled(code: CodeType) -> list[Handled]:
    """The ranges of instructions inside of ``try`` and ``with``."""
    if not code.co_exceptiontable:
        return []
    # By the bytes: to have dis describe all instructions takes a millisecond of the first call.
    text, positions, ranges = code.co_code, None, []
    for entry in dis.Bytecode(code).exception_entries:
        names = [dis.opname[op] for op in text[entry.target : entry.target + 4 : 2]]
        if "PUSH_EXC_INFO" in names:
            at = None
            if "WITH_EXCEPT_START" in names:
                positions = positions or [*code.co_positions()]
                line, _, column, _ = positions[entry.target // 2]
                at = line or 0, column or 0
            ranges.append(Handled(entry.start, entry.end, at))
    return ranges


def ends_of_loops(code: CodeType, first: int) -> list[int]:
    """The last instructions of the loops that an instruction is inside of."""
    return [
        i.offset for i in dis.get_instructions(code)
        if i.opname.startswith("JUMP_BACKWARD") and i.argval <= first <= i.offset]


@functools.cache
def is_known() -> bool:
    """Whether this Python does what compiled methods rest on; the log says where it does not."""
    for holds, what in ((_counts_hold, "counts references"), (_tries_show, "compiles try blocks")):
        try:
            if holds():
                continue
        except Exception as error:
            pass_on(error)
            what = f"{what} ({type(error).__name__}: {error})"
        logger.warning(
            "compiled methods go define-by-run: how Python %s %s is not known here; a newer "
            "version of Chainwright may know",
            sys.version.split()[0],
            what,
        )
        return False
    return True


class _Holder:
    def __init__(self) -> None:
        self.item = object()

    def counted(self) -> int:
        item = self.item
        return refs(item)


def _counts_hold() -> bool:
    """As the comparisons of calls count: nobody holds these, and then somebody does."""
    if LOCAL not in (0, 1) or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    holder, names = _Holder(), dict[str, Any](refs=refs)
    exec("def counted(x):\n    a = x.item\n    return refs(a)", names)

    def counts() -> list[int]:
        items = [holder.item]
        of_loop, of_item = [refs(x) for x in items], refs(items[0])
        del items
        return [*of_loop, of_item, refs(holder.item), names["counted"](holder), holder.counted()]

    before = counts()
    held = holder.item
    wanted = [3 + LOCAL, 3, 2, 2 + LOCAL, 2 + LOCAL]
    after, _ = counts(), held
    return before == wanted and after == [n + 1 for n in wanted]


def _tries_show() -> bool:
    seen = dict[str, list[bool]]()

    def at(name: str) -> None:
        frame = sys._getframe(1)
        seen[name] = [
            r.with_at is None for r in handled(frame.f_code) if r.first <= frame.f_lasti < r.last]

    at("before")
    try:
        at("try")
    except ValueError:
        pass
    with nullcontext():
        at("with")
    try:
        at("finally")
    finally:
        at("after")
    wanted = {"before": [], "try": [True], "with": [False], "finally": [True], "after": []}
    return seen == wanted
