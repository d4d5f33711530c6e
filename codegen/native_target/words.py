"""Native code that compares words of memory with what stood there, for Python to call.

In: an int64 array: how many words there are, the address of ``PyBool_FromLong``, then an address
and a word for each. Out: whether all are as they were. They are compared one after the other, so
that a word may stand in memory which is only known to be there since those before it are the same.
"""

from __future__ import annotations

from .driver import Function, Layout

UNCHANGED = "chainwright_unchanged"
N_WORDS, ANSWER, WORDS = range(3)


def words_text(layout: Layout) -> str:
    """The module: a function of CPython's form for one argument, which needs the GIL."""
    f = Function(f"ptr @{UNCHANGED}(ptr %self, ptr %array)")
    table = f.field("%array", layout.data)
    answer = f.item(table, ANSWER, "ptr")
    with f.loop(f.item(table, N_WORDS)) as k:
        pair = f.at(table, f.add(f.mul(k, 2), WORDS))
        found = f.get(f"load i64, ptr {f.item(pair, 0, 'ptr')}")
        changed = f.get(f"icmp ne i64 {found}, {f.item(pair, 1)}")
        with f.when(changed):
            f.do(f"%no = call ptr {answer}(i64 0)")
            f.do("ret ptr %no")
            f.lines.append("never:")
    return f.text(f"ptr {f.call(answer, 'i64 1', 'ptr')}")
