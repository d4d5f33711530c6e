"""Native code that compares words of memory with what stood there, for Python to call.

A second function counts: it sets an entry of dictionaries whose versions are such words. A third
one compares the layouts of arrays.

In: an int64 array: how many words there are, the address of ``PyBool_FromLong``, then an address
and a word for each. Out: whether all are as they were. They are compared one after the other, so
that a word may stand in memory which is only known to be there since those before it are the same.
"""

from __future__ import annotations

from .driver import N_BASES, TEST, Function, Layout

UNCHANGED, COUNT = "chainwright_unchanged", "chainwright_count"
LAYOUTS = "chainwright_layouts"
N_WORDS, ANSWER, WORDS = range(3)


VERSION = 24  # bytes from the beginning of a dictionary to its version


def words_text(layout: Layout) -> str:
    """The functions, of CPython's form for one argument; they need the GIL."""
    return "\n".join([_unchanged(layout), _count(layout), _layouts()])


def _layouts() -> str:
    """Whether the arrays of a tuple have the layouts of the table, which comes first in it.

    The table is one of :mod:`.driver`; the address of ``PyBool_FromLong`` is where the others have
    that of a function for flags.
    """
    f = Function(f"ptr @{LAYOUTS}(ptr %self, ptr %arrays)")
    code = f.get("call ptr @program_of(ptr %arrays)")
    bases = f.get(f"alloca ptr, i64 {f.item(code, N_BASES)}")
    wrong = f.call("@read_bases", f"ptr %arrays, ptr {code}, ptr {bases}", "i64")
    right = f.get(f"sub i64 1, {wrong}")
    return f.text(f"ptr {f.call(f.item(code, TEST, 'ptr'), f'i64 {right}', 'ptr')}")


def _count(layout: Layout) -> str:
    """Set the entry of all dictionaries, if the words are as they were.

    After these come the addresses of ``PyDict_SetItem``, of the key and of the value.
    """
    f = Function(f"ptr @{COUNT}(ptr %self, ptr %array)")
    table = f.field("%array", layout.data)
    answer, n = f.item(table, ANSWER, "ptr"), f.item(table, N_WORDS)
    rest = f.at(table, f.add(f.mul(n, 2), WORDS))
    set_item, key, value = (f.item(rest, k, "ptr") for k in range(3))
    _leave_if_changed(f, table, answer)
    with f.loop(n) as k:
        pair = f.at(table, f.add(f.mul(k, 2), WORDS))
        version = f.item(pair, 0, "ptr")
        arguments = f"ptr {f.moved(version, -VERSION)}, ptr {key}, ptr {value}"
        failed = f.get(f"icmp ne i32 {f.call(set_item, arguments, 'i32')}, 0")
        f.leave(failed, "ptr null")  # Python raises what was set
        f.do(f"store i64 {f.item(version, 0)}, ptr {f.at(pair, 1)}")
    return f.text(f"ptr {f.call(answer, 'i64 1', 'ptr')}")


def _unchanged(layout: Layout) -> str:
    """Whether all words are as they were."""
    f = Function(f"ptr @{UNCHANGED}(ptr %self, ptr %array)")
    table = f.field("%array", layout.data)
    answer = f.item(table, ANSWER, "ptr")
    _leave_if_changed(f, table, answer)
    return f.text(f"ptr {f.call(answer, 'i64 1', 'ptr')}")


def _leave_if_changed(f: Function, table: str, answer: str) -> None:
    with f.loop(f.item(table, N_WORDS)) as k:
        pair = f.at(table, f.add(f.mul(k, 2), WORDS))
        found = f.get(f"load i64, ptr {f.item(pair, 0, 'ptr')}")
        with f.when(f.get(f"icmp ne i64 {found}, {f.item(pair, 1)}")):
            f.do("%no = call ptr " + f"{answer}(i64 0)")
            f.do("ret ptr %no")
            f.lines.append("never:")
