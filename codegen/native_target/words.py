"""Native code that compares words of memory with what stood there, for Python to call.

A second function counts: it sets an entry of dictionaries whose values are such words. A third
one compares the layouts of arrays, and a fourth one writes Python's numbers into an array.

In: an int64 array: how many words there are, the address of ``PyBool_FromLong``, then an address
and a word for each. Out: whether all are as they were. They are compared one after the other, so
that a word may stand in memory which is only known to be there since those before it are the same.
"""

from __future__ import annotations

from .driver import N_BASES, TEST, Function, Layout

UNCHANGED, COUNT = "chainwright_unchanged", "chainwright_count"
LAYOUTS, NUMBERS = "chainwright_layouts", "chainwright_numbers"
# The head of a table of numbers: how many, the addresses of PyBool_FromLong, of the class float and
# of None, where they are written, whether as float64, and what their magnitude has to be below.
N_NUMBERS, NUMBERS_ANSWER, FLOAT_TYPE, NONE, PLACE, WIDE, LARGEST, NUMBERS_HEAD = range(8)
FLOAT_VALUE = 16  # bytes from the beginning of a float to its value
N_WORDS, ANSWER, WORDS = range(3)


def words_text(layout: Layout) -> str:
    """The functions, of CPython's form for one argument; they need the GIL."""
    return "\n".join([_unchanged(layout), _count(layout), _layouts(), _numbers(layout)])


def _numbers(layout: Layout) -> str:
    """Write the numbers of a tuple, after a table, where the table says.

    False if one is no float, or too large, or not None where the table has 0 for it.
    """
    f = Function(f"ptr @{NUMBERS}(ptr %self, ptr %arrays)")
    table = f.get("call ptr @program_of(ptr %arrays)")
    answer, n = f.item(table, NUMBERS_ANSWER, "ptr"), f.item(table, N_NUMBERS)
    kind, none = f.item(table, FLOAT_TYPE, "ptr"), f.item(table, NONE, "ptr")
    place, wide = f.item(table, PLACE, "ptr"), f.get(f"icmp ne i64 {f.item(table, WIDE)}, 0")
    largest = f.item(table, LARGEST, "double")
    size = f.field("%arrays", layout.type + 8, "i64")  # of what has items it is behind the class
    _answer_no(f, f.get(f"icmp ne i64 {size}, {f.add(n, 1)}"), answer)
    items = f.moved("%arrays", layout.tuple_items + 8)
    written = f.variable()
    with f.loop(n) as k:
        number = f.item(items, k, "ptr")
        present = f.get(f"icmp ne i64 {f.item(table, f.add(k, NUMBERS_HEAD))}, 0")
        wanted = f.get(f"select i1 {present}, ptr {kind}, ptr {none}")
        found = f.get(f"select i1 {present}, ptr {f.field(number, layout.type)}, ptr {number}")
        _answer_no(f, f.get(f"icmp ne ptr {found}, {wanted}"), answer)
        with f.when(present):
            value = f.field(number, FLOAT_VALUE, "double")
            size = f.get(f"call double @llvm.fabs.f64(double {value})")
            _answer_no(f, f.get(f"fcmp uge double {size}, {largest}"), answer)
            at = f.value(written)
            with f.when(wide):
                f.do(f"store double {value}, ptr {f.at(place, at)}")
            with f.when(f.get(f"xor i1 {wide}, true")):
                narrow = f.get(f"fptrunc double {value} to float")
                f.do(f"store float {narrow}, ptr {f.moved(place, f.mul(at, 4))}")
            f.set(written, f.add(at, 1))
    return f.text(f"ptr {f.call(answer, 'i64 1', 'ptr')}")


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

    After these come the addresses of ``PyDict_SetItem`` and of the key, the number of dictionaries,
    of each its address and which of the words is that of its value, and the address of the value.
    """
    f = Function(f"ptr @{COUNT}(ptr %self, ptr %array)")
    table = f.field("%array", layout.data)
    answer, n = f.item(table, ANSWER, "ptr"), f.item(table, N_WORDS)
    rest = f.at(table, f.add(f.mul(n, 2), WORDS))
    set_item, key, n_dicts = f.item(rest, 0, "ptr"), f.item(rest, 1, "ptr"), f.item(rest, 2)
    dicts = f.at(rest, 3)
    value = f.item(dicts, f.mul(n_dicts, 2), "ptr")
    _leave_if_changed(f, table, answer)
    with f.loop(n_dicts) as k:
        one = f.at(dicts, f.mul(k, 2))
        arguments = f"ptr {f.item(one, 0, 'ptr')}, ptr {key}, ptr {value}"
        failed = f.get(f"icmp ne i32 {f.call(set_item, arguments, 'i32')}, 0")
        f.leave(failed, "ptr null")  # Python raises what was set
        pair = f.at(table, f.add(f.mul(f.item(one, 1), 2), WORDS))
        f.do(f"store i64 {f.item(f.item(pair, 0, 'ptr'), 0)}, ptr {f.at(pair, 1)}")
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
        found = f.get(f"load i64, ptr {f.item(pair, 0, 'ptr')}, align 4")
        _answer_no(f, f.get(f"icmp ne i64 {found}, {f.item(pair, 1)}"), answer)


def _answer_no(f: Function, condition: str, answer: str) -> None:
    """Return False on a condition."""
    with f.when(condition):
        no, never = f.call(answer, "i64 0", "ptr"), f.name("never")
        f.do(f"ret ptr {no}")
        f.lines.append(f"{never}:")
