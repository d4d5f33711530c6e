"""Native code that looks whether words are as they were, and arrays and numbers as is expected.

In: words (:mod:`.words`), forms of arrays. Out: tables, and functions that tell of such a table in
some tens of nanoseconds whether all of it is so. What may not happen: a yes for anything else. So
each function is tried out before it is used.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainwright.codegen.native_target.driver import ARRAY_TYPE, CHECKS, HEAD, N_BASES, TEST
from chainwright.codegen.native_target.program import Base, check_of
from chainwright.codegen.native_target.words import (
    COUNT,
    FLOAT_VALUE,
    LAYOUTS,
    N_WORDS,
    NUMBERS,
    NUMBERS_HEAD,
    UNCHANGED,
    WORDS,
)

from .available import native_target
from .loops import layout
from .methods import builtin, python_address
from .words import Word, are_as_known, list_words, place_words

Form = tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]  # shape, dtype, strides
_CHARS = frozenset("?bBhHiIlLqQefdgFDG")  # of dtypes that are known by their letter


class Facts(NamedTuple):
    """What is known of this process."""

    answer: int  # the address of PyBool_FromLong
    set_item: int  # that of PyDict_SetItem


def table_of(words: Sequence[Word]) -> np.ndarray:
    """What :func:`comparison` asks for."""
    return np.array(_table(list(dict.fromkeys(words))), np.int64)


def _table(words: Sequence[Word]) -> list[int]:
    known = facts()
    assert known is not None
    return [len(words), known.answer, *[x for w in words for x in w]]


def first_change(table: np.ndarray) -> int | None:
    """The address of the first word that is not as it was; None if all are.

    Native code alone looks: between two lines of Python another thread may take the memory away.
    """
    same, part, low, high = comparison(), table.copy(), 0, int(table[N_WORDS])
    if same is None or same(part):
        return None
    while high - low > 1:  # the first ``low`` words are as they were, of ``high`` one is not
        part[N_WORDS] = (low + high) // 2
        low, high = (part[N_WORDS], high) if same(part) else (low, part[N_WORDS])
    return int(table[WORDS + 2 * low])


@functools.cache
def comparison() -> Callable[[np.ndarray], bool] | None:
    """Tells whether all words of a table are as they were; None where that cannot be told."""
    same = _builtin(UNCHANGED)
    return same if same is not None and are_as_known() and _holds(same) else None


def counting_table(dicts: Sequence[dict[str, Any]], name: str) -> np.ndarray | None:
    """A table of dictionaries, of which :func:`counting` sets an entry; None if not known.

    The last item is the address of the value, which has to be held as long as it is there.
    """
    known = facts()
    assert known is not None
    words: list[Word] = []
    to_set: list[int] = []
    for d in dicts:
        (found,) = place_words(d, [name], [])
        if found is None or name not in d:
            return None
        words += found
        to_set += [id(d), len(words) - 1]
    rest = [known.set_item, id(sys.intern(name)), len(dicts), *to_set, 0]
    return np.array([*_table(words), *rest], np.int64)


@functools.cache
def counting() -> Callable[[np.ndarray], bool] | None:
    """Sets the entry of all dictionaries of a :func:`counting_table`, and what their words are.

    False, and nothing was done, if one was not as it was.
    """
    count = _builtin(COUNT) if comparison() is not None else None
    return count if count is not None and _counts(count) else None


def layouts_table(forms: Sequence[Form]) -> np.ndarray | None:
    """What :func:`layouts` asks for, before the arrays; None where a layout cannot be told."""
    target, known = native_target(), facts()
    if target is None or known is None:
        return None
    if any(dtype.char not in _CHARS or np.dtype(dtype.char) != dtype for _, dtype, _ in forms):
        return None
    items = [0] * HEAD
    items[N_BASES], items[CHECKS] = 1 + len(forms), HEAD
    items[ARRAY_TYPE], items[TEST] = id(np.ndarray), known.answer
    items.append(-1)
    for form in forms:
        items += check_of(Base("", form), target.linker)
    return np.array(items, np.int64)


@functools.cache
def layouts() -> Callable[[tuple[Any, ...]], bool] | None:
    """Tells whether all arrays after the table are of NumPy's class and as it says."""
    fit = _builtin(LAYOUTS)
    return fit if fit is not None and _fits(fit) else None


def numbers_table(place: np.ndarray, present: Sequence[bool], largest: float) -> np.ndarray:
    """What :func:`numbers` asks for: float32 or float64 items, which have to stay where they are.

    As many numbers are given as ``present`` has items; of these some are None.
    """
    known = facts()
    assert known is not None and place.dtype.char in "fd" and sum(present) == len(place)
    size = np.float64(largest).view(np.int64)
    wide = place.dtype.char == "d"
    head = [len(present), known.answer, id(float), id(None), place.ctypes.data, wide, size]
    assert len(head) == NUMBERS_HEAD
    return np.array([*head, *present], np.int64)


@functools.cache
def numbers() -> Callable[[tuple[Any, ...]], bool] | None:
    """Writes the numbers after a table to their place.

    False if one is no float, not less in magnitude than the largest, or not None where that is
    wanted; then some may be written.
    """
    write = _builtin(NUMBERS)
    return write if write is not None and _writes(write) else None


def are_native() -> bool:
    """Whether native code is there, so that nothing has to be loaded for it."""
    return native_target.cache_info().currsize > 0 and native_target() is not None


def _builtin(name: str) -> Any:
    """A native function of one argument, as Python sees its own; None where there is none."""
    target, known = native_target(), facts()
    if target is None or known is None:
        return None
    try:
        return builtin(name, target.linker.driver(name))
    except (RuntimeError, OSError, AttributeError):
        return None


@functools.cache
def facts() -> Facts | None:
    """None where arrays are kept otherwise than is known."""
    if layout() is None:
        return None
    return Facts(python_address("PyBool_FromLong"), python_address("PyDict_SetItem"))


def _holds(same: Callable[[np.ndarray], bool]) -> bool:
    words = [(1 << 40, 0)]  # nobody may look there
    probe = [1, 2]
    table = table_of(list_words(probe, []))
    if same(table) is not True:
        return False
    probe[0] = 3
    return same(table) is False and same(table_of([(id(probe), -1), *words])) is False


def _counts(count: Callable[[np.ndarray], bool]) -> bool:
    one, two, value = {"x": 1}, {"a": 1, "x": 0}, 1 << 40
    table, same = counting_table([one, two], "x"), comparison()
    if table is None or same is None:
        return False
    table[-1] = id(value)
    if count(table) is not True or not same(table):
        return False
    two["x"] = 2
    return one["x"] is value and not same(table) and not count(table) and two["x"] == 2


def _fits(fit: Callable[[tuple[Any, ...]], bool]) -> bool:
    a, b = np.zeros((2, 3), np.float32), np.zeros(())
    table = layouts_table([(x.shape, x.dtype, x.strides) for x in (a, b)])
    others = [a.T, a[:1], a[0], a.astype("i"), a.view(np.recarray), None, np.asfortranarray(a)]
    return fit((table, a, b)) is True and not any(fit((table, other, b)) for other in others)


def _writes(write: Callable[[tuple[Any, ...]], bool]) -> bool:
    if float.__basicsize__ != FLOAT_VALUE + 8:
        return False
    for dtype in (np.float32, np.float64):
        place = np.zeros(2, dtype)
        table = numbers_table(place, (True, False, True), 1e30)
        if write((table, 0.1, None, -1e-50)) is not True:
            return False
        if place.tobytes() != np.array([0.1, -1e-50]).astype(dtype).tobytes():
            return False
        others = [(1, None, 2.0), (1.0, 2.0, 3.0), (1.0, None, None), (), (1e30, None, 1.0)]
        if any(write((table, *other)) for other in others):
            return False
    return True
