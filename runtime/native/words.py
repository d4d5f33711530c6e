"""Which objects of Python are as they were, by words of memory: versions, classes, layouts.

In: objects. Out: a table of addresses with what stands there, and a function that tells in some
tens of nanoseconds whether all of it is still so. What may not happen: an object that has changed
and passes for the same one, or an address whose memory is gone. So a word is looked at only if
those before it prove that its memory is there, and nothing of this is used where this Python does
not keep things as it is known to: :func:`facts` tries it out.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from chainwright.codegen.native_target.driver import (
    ARRAY_TYPE,
    CHECKS,
    HEAD,
    N_BASES,
    TEST,
    Layout,
)
from chainwright.codegen.native_target.program import Base, check_of
from chainwright.codegen.native_target.words import (
    COUNT,
    FLOAT_VALUE,
    LAYOUTS,
    NUMBERS,
    NUMBERS_HEAD,
    UNCHANGED,
)

from .available import native_target
from .loops import layout
from .methods import builtin, python_address

# Versions of Python that this was tried with. In 3.13 a dictionary keeps its version while the
# attributes of its object are set, and nobody who watches it is told.
_KNOWN = {(3, 11), (3, 12)}
_TAG = 384  # of a class: tp_version_tag, four bytes and four of padding
_DICT = -24  # of an object with a managed dictionary: where that is, once somebody has asked for it
_MANAGED, _HEAP = 1 << 4, 1 << 9  # flags of classes
_SIZE, _ITEMS = 16, 24  # of a list, and the address of its items; a dictionary's version
_MASK, _TABLE = 16, 24  # of a set, after its head: how many places, and the address of these
_SMALL = 64
_read = ctypes.c_int64.from_address

Word = tuple[int, int]
Form = tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]  # shape, dtype, strides
_CHARS = frozenset("?bBhHiIlLqQefdgFDG")  # of dtypes that are known by their letter


class Facts(NamedTuple):
    """What is known of this process."""

    layout: Layout
    answer: int  # the address of PyBool_FromLong
    set_item: int  # that of PyDict_SetItem


def word_at(address: int) -> Word:
    return address, _read(address).value


def class_of(obj: Any) -> list[Word] | None:
    """The class of an object, and everything that is looked up there; None if not known."""
    found = class_words(type(obj))
    if found is None:
        return None
    return [(id(obj) + object.__basicsize__ - 8, id(type(obj))), *found]


def class_words(cls: type) -> list[Word] | None:
    """The attributes of a class and of its bases; None where it has no version."""
    if not cls.__flags__ & _HEAP:
        return []  # nobody can change those
    getattr(cls, "__init__", None)  # so that there is a version
    at, version = word_at(id(cls) + _TAG)
    return [(at, version)] if version & 0xFFFFFFFF else None


def dict_words(d: dict[Any, Any]) -> list[Word]:
    """The keys and values of a dictionary."""
    return [word_at(id(d) + _ITEMS)]


def instance_words(obj: Any) -> list[Word] | None:
    """Which dictionary an object has for its attributes, and what is in it; None if not known."""
    cls = type(obj)
    d = obj.__dict__
    at = id(obj) + (_DICT if cls.__flags__ & _MANAGED else cls.__dictoffset__)
    if not cls.__flags__ & _MANAGED and cls.__dictoffset__ <= 0:
        return None
    if _read(at).value != id(d):
        return None
    return [(at, id(d)), *dict_words(d)]


def list_words(items: list[Any]) -> list[Word]:
    """The items of a list, by identity."""
    start = _read(id(items) + _ITEMS).value
    words = [(id(items) + _SIZE, len(items)), (id(items) + _ITEMS, start)]
    return words + [(start + 8 * k, id(item)) for k, item in enumerate(items)]


def set_words(items: set[Any] | frozenset[Any]) -> list[Word] | None:
    """The items of a small set; None of a large one."""
    at = id(items) + object.__basicsize__
    mask, table = _read(at + _MASK).value, _read(at + _TABLE).value
    if not 0 <= mask < _SMALL:
        return None
    words = [word_at(at + k) for k in (0, 8, _MASK, _TABLE)]  # filled, used
    return words + [word_at(table + 8 * k) for k in range(2 * mask + 2)]  # items and hashes


def array_words(array: np.ndarray, layout: Layout) -> list[Word]:
    """Shape, dtype and strides of an array."""
    at = id(array)
    dims, strides = _read(at + layout.dims).value, _read(at + layout.strides).value
    words = [word_at(at + k) for k in (layout.ndim, layout.descr, layout.dims, layout.strides)]
    for start in (dims, strides):
        words += [word_at(start + 8 * k) for k in range(array.ndim)]
    return words


def member_words(obj: Any, value: Any) -> list[Word] | None:
    """Where an object refers to ``value``; None if that is not in a single place."""
    places = range(id(obj) + object.__basicsize__, id(obj) + type(obj).__basicsize__, 8)
    found = [at for at in places if _read(at).value == id(value)]
    return [(found[0], id(value))] if len(found) == 1 else None


def counting_table(dicts: Sequence[dict[str, Any]], name: str) -> np.ndarray:
    """A table of dictionaries, of which :func:`counting` sets an entry.

    The last item is the address of the value, which has to be held as long as it is there.
    """
    known = facts()
    assert known is not None
    table = [len(dicts), known.answer]
    for d in dicts:
        table += dict_words(d)[0]
    return np.array([*table, known.set_item, id(sys.intern(name)), 0], np.int64)


def table_of(words: Sequence[Word]) -> np.ndarray:
    """What :func:`comparison` asks for."""
    known = facts()
    assert known is not None
    words = list(dict.fromkeys(words))
    return np.array([len(words), known.answer, *[x for w in words for x in w]], np.int64)


@functools.cache
def comparison() -> Callable[[np.ndarray], bool] | None:
    """Tells whether all words of a table are as they were; None where that cannot be told."""
    same = _builtin(UNCHANGED)
    return same if same is not None and _holds(same) else None


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


@functools.cache
def counting() -> Callable[[np.ndarray], bool] | None:
    """Sets the entry of all dictionaries of a :func:`counting_table`, and what their words are.

    False, and nothing was done, if one was not as it was.
    """
    count = _builtin(COUNT) if comparison() is not None else None
    return count if count is not None and _counts(count) else None


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
    """None where this Python keeps objects otherwise than those that are known."""
    found = layout()
    if found is None or sys.version_info[:2] not in _KNOWN or not _is_as_known():
        return None
    return Facts(found, python_address("PyBool_FromLong"), python_address("PyDict_SetItem"))


class _Probe:
    """What is changed to see whether words tell."""

    def __init__(self) -> None:
        self.a: Any = 0
        self.x: Any = None


def _is_as_known() -> bool:
    """Whether versions change with each change, and only then."""
    return _versions_tell() and _classes_tell() and _sets_tell() and (
        list_words([_Probe])[-1][1] == id(_Probe))


def _versions_tell() -> bool:
    probe = _Probe()
    d = probe.__dict__
    before, seen = instance_words(probe), set[int]()
    if before is None:
        return False
    changes: list[Callable[[], Any]] = [
        lambda: d.update(a=[]), lambda: d.pop("a"), lambda: d.setdefault("b", []),
        lambda: d.__setitem__("b", []), lambda: d.__delitem__("b"), d.clear,
        lambda: object.__setattr__(probe, "c", []), lambda: setattr(probe, "c", []),
        lambda: delattr(probe, "c"),
    ]
    for k in range(300):  # the code becomes a faster one on the way
        probe.x = [k]
        seen.add(dict_words(d)[0][1])
    for change in changes:
        d["y"] = []
        seen.add(dict_words(d)[0][1])
        change()
        seen.add(dict_words(d)[0][1])
    if len(seen) != 300 + 2 * len(changes):
        return False
    last = dict_words(d)
    looks = [d.get("y"), probe.__dict__, len(d)]
    if not looks or dict_words(d) != last:
        return False
    probe.__dict__ = {}
    return instance_words(probe) != before


def _sets_tell() -> bool:
    items = {"a", "b"}
    seen = [set_words(items)]
    for change in (lambda: items.add("c"), lambda: items.discard("a"), lambda: items.add("d")):
        change()
        seen.append(set_words(items))
    words = seen[-1] or []
    there = {word for _, word in words}
    return all([a != b for a, b in zip(seen, seen[1:], strict=False)]) and there.issuperset(
        [id(item) for item in items] + [hash(item) for item in items] + [len(items)])


def _classes_tell() -> bool:
    class Base:
        pass

    class Child(Base):
        pass

    seen = set[int]()
    for k in range(4):
        for owner in (Base, Child):
            owner.attribute = k  # type: ignore[attr-defined]
            ((_, version),) = class_words(Child) or [(0, 0)]
            seen.add(version & 0xFFFFFFFF)
    owner = Base()
    owner.__class__ = Child
    found = class_of(owner)
    if len(seen) != 8 or 0 in seen or not found or not class_of(ModuleType("m")):
        return False
    at, word = found[0]
    return _read(at).value == word == id(Child)


def _holds(same: Callable[[np.ndarray], bool]) -> bool:
    words = [(1 << 40, 0)]  # nobody may look there
    probe = [1, 2]
    table = table_of([*list_words(probe)])
    if same(table) is not True:
        return False
    probe[0] = 3
    return same(table) is False and same(table_of([(id(probe), -1), *words])) is False


def _counts(count: Callable[[np.ndarray], bool]) -> bool:
    one, two = _Probe(), _Probe()
    dicts, value = [one.__dict__, two.__dict__], 1 << 40
    table = counting_table(dicts, "x")
    table[-1] = id(value)
    same = comparison()
    if same is None or count(table) is not True or not same(table):
        return False
    two.x = 2
    return one.x is value and not same(table) and not count(table) and two.x == 2


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
