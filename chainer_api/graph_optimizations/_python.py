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
from typing import Any

logger = logging.getLogger("chainwright")
refs = sys.getrefcount


def _of_a_local() -> int:
    x = object()
    return refs(x) - 1


#: What :func:`refs` counts for its own argument, if that is a local variable: 1 until Python 3.13;
#: later ones lend such references.
LOCAL = _of_a_local()


@functools.lru_cache(1024)
def guarded(code: CodeType) -> list[tuple[int, int]]:
    """The ranges of instructions inside of ``try``; a ``with`` block hands exceptions on."""
    if not code.co_exceptiontable:
        return []
    found = list(dis.get_instructions(code))
    by_offset = {i.offset: k for k, i in enumerate(found)}
    ranges = []
    for entry in dis.Bytecode(code).exception_entries:
        k = by_offset.get(entry.target, 0)
        names = [i.opname for i in found[k : k + 2]]
        if "WITH_EXCEPT_START" not in names and "PUSH_EXC_INFO" in names:
            ranges.append((entry.start, entry.end))
    return ranges


@functools.cache
def is_known() -> bool:
    """Whether this Python does what compiled methods rest on; the log says where it does not."""
    for holds, what in ((_counts_hold, "counts references"), (_tries_show, "compiles try blocks")):
        try:
            if holds():
                continue
        except Exception as error:
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
    seen = dict[str, bool]()

    def at(name: str) -> None:
        frame = sys._getframe(1)
        seen[name] = any([a <= frame.f_lasti < b for a, b in guarded(frame.f_code)])

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
    return [name for name, inside in seen.items() if inside] == ["try", "finally"]
