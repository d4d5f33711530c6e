"""Which objects of Python are as they were, by words of memory: attributes, classes, layouts.

In: objects. Out: addresses with what stands there, for :mod:`.looks` to compare. What may not
happen: an object that has changed and passes for the same one, or an address whose memory is gone.
So words have an order, in which each is there if those before it are as they were; what is known by
its address is kept from giving it to another object (:func:`stays`); and nothing of this is used
where this Python does not keep things as it is known to (:func:`are_as_known` tries it out).

A dictionary is known by what stands in it. Its version would be a single word, but in Python 3.13
it stays the same while attributes of the object are set, and later there is none.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .loops import layout

# Versions of Python that this was tried with.
_KNOWN = {(3, 11), (3, 12), (3, 13), (3, 14), (3, 15)}
_TAG = 384  # of a class: tp_version_tag, four bytes and four of padding
_DICT = -24  # of an object with a managed dictionary: where that is, once somebody has asked for it
_MANAGED, _HEAP = 1 << 4, 1 << 9  # flags of classes
_SIZE, _ITEMS = 16, 24  # of a list or a tuple, and the address of a list's items
# Of a dictionary: how many entries it has, its keys, and its values where it shares the keys.
_USED, _KEYS, _VALUES = 16, 32, 40
# Of keys: a word that has their size and kind (and the upper half of a count of references, which
# is 0), how many keys were ever added, and where the places begin; bits of the second word.
_FORM, _ADDED, _PLACES = 4, 24, 32
_BITS, _KIND = 8, 16
_Head, _HeadOfKeys = ctypes.c_int64 * 6, ctypes.c_int64 * 4
_ANY, _STRINGS, _SHARED = range(3)  # kinds; from shared keys none is ever taken away
_FIRST = 8 if sys.version_info >= (3, 13) else 0  # of the values of a dictionary that shares keys
_REFERENT = 16  # of a weak reference; None once the object is gone
_MASK, _TABLE = 16, 24  # of a set, after its head: how many places, and the address of these
_SMALL, _LARGE = 64, 1 << 20
_PLAIN = frozenset({str, bytes, bool, int, float, type(None), type(Ellipsis)})
_read = ctypes.c_int64.from_address

Word = tuple[int, int]


def word_at(address: int) -> Word:
    return address, _read(address).value


def class_of(obj: Any) -> list[Word] | None:
    """The class of an object, and everything that is looked up there; None if not known."""
    found = class_words(type(obj))
    return None if found is None else [_class_at(obj), *found]


def _class_at(obj: Any) -> Word:
    return id(obj) + object.__basicsize__ - 8, id(type(obj))


def class_words(cls: type) -> list[Word] | None:
    """The attributes of a class and of its bases; None where it has no version."""
    if not cls.__flags__ & _HEAP:
        return []  # nobody can change those
    getattr(cls, "__init__", None)  # so that there is a version
    at, version = word_at(id(cls) + _TAG)
    return [(at, version)] if version & 0xFFFFFFFF else None


def is_plain(value: Any) -> bool:
    """Whether it is known by what it is equal to, and to compare it runs no code of anybody's."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    return all(map(is_plain, value)) if kind is tuple else isinstance(value, np.dtype)


def stays(obj: Any, held: list[Any]) -> list[Word]:
    """What tells that an object has not given its place in memory to another one.

    Its life does not depend on it, unless it is :func:`plain <is_plain>`. What cannot be referred
    to weakly (a list) may be another one of its class: what is read of it has words of its own.
    ``held`` gets what is to be held as long as the words are looked at.
    """
    if is_plain(obj):
        held.append(obj)
        return []
    try:
        ref = weakref.ref(obj)
    except TypeError:
        return [_class_at(obj)]
    held.append(ref)
    return [(id(ref) + _REFERENT, id(obj))]


class _Entries(NamedTuple):
    """Where a dictionary keeps what it has, by the places of its entries."""

    words: list[Word]  # which tell that it is kept there
    added: Word  # how many places there are
    keys: list[int]  # addresses of keys; 0 of one that was taken away
    keys_at: range
    values_at: range
    shared: bool

    def of_keys(self) -> list[Word]:
        """That no key was added or taken away."""
        words = [*self.words, self.added]
        if not self.shared:
            words += zip(self.keys_at, self.keys, strict=True)
        return words


def _entries_of(d: Any) -> _Entries | None:
    """None where that is not known."""
    if type(d) is not dict:
        return None
    head = _Head.from_address(id(d))
    at, values = head[_KEYS // 8], head[_VALUES // 8]
    _, form, _, n = _HeadOfKeys.from_address(at)
    bits, kind = form >> _BITS & 0xFF, form >> _KIND & 0xFF
    if kind not in (_ANY, _STRINGS, _SHARED) or (kind == _SHARED) is (values == 0):
        return None
    if not 0 <= n < _LARGE or bits > _LARGE.bit_length():  # or another thread has just replaced it
        return None
    size, before = (24, 8) if kind == _ANY else (16, 0)  # of an entry; a hash, which some have
    start = at + _PLACES + (1 << bits)
    keys = memoryview(ctypes.string_at(start, n * size)).cast("q").tolist()
    start, keys = start + before, keys[before // 8 :: size // 8]
    keys_at = range(start, start + n * size, size)
    values_at = range(start + 8, start + 8 + n * size, size)
    if kind == _SHARED:
        values_at = range(values + _FIRST, values + _FIRST + 8 * n, 8)
    words = [(id(d) + _KEYS, at), word_at(at + _FORM), (id(d) + _VALUES, values)]
    return _Entries(words, (at + _ADDED, n), keys, keys_at, values_at, kind == _SHARED)


def _place_of(key: Any, d: dict[Any, Any], entries: _Entries) -> int | None:
    """Of the entry with a key; None if it has no place."""
    if id(key) in entries.keys:
        return entries.keys.index(id(key))
    if key not in d and not entries.shared:
        return None
    for place, at in enumerate(entries.keys):
        if at:
            other = _at(at)
            if type(other) is type(key) and other == key:
                return place
    return None


def _at(address: int) -> Any:
    """The object that is there."""
    return ctypes.cast(address, ctypes.py_object).value


def place_words(
    d: dict[Any, Any], keys: Iterable[str | int], held: list[Any],
) -> Iterator[list[Word] | None]:
    """Where a dictionary has the value of each key: the last word, if it has one.

    None if that is not known.
    """
    entries = _entries_of(d)
    for key in keys:
        place = None if entries is None else _place_of(key, d, entries)
        if entries is None or place is None and key in d:
            yield None
        elif place is None:
            held += d  # so that other keys cannot be where these are
            yield entries.of_keys()
        else:
            value = (entries.values_at[place], id(d[key]) if key in d else 0)
            if entries.shared:
                yield [*entries.words, value]
            else:
                held.append(_at(entries.keys[place]))
                yield [*entries.words, (entries.keys_at[place], entries.keys[place]), value]


def entry_words(d: dict[Any, Any], held: list[Any], *keys: str | int) -> list[Word] | None:
    """What a dictionary has for keys, or that it has nothing; None if not known."""
    found: list[Word] = []
    for key, words in zip(keys, place_words(d, keys, held), strict=True):
        if words is None:
            return None
        found += words
        if key in d:
            found += stays(d[key], held)
    return found


def dict_words(
    d: dict[Any, Any], held: list[Any], apart_from: Collection[str] = (),
) -> list[Word] | None:
    """The keys and values of a dictionary, but for some values; None if not known."""
    entries = _entries_of(d)
    if entries is None:
        return None
    words, there = entries.of_keys(), {id(key): key for key in d}
    held += d
    for at, address in zip(entries.values_at, entries.keys, strict=True):
        if address in there:
            key = there[address]
            if key not in apart_from:
                words += [(at, id(d[key])), *stays(d[key], held)]
        elif address:  # an attribute that this object has not
            words.append((at, 0))
    return words


def size_words(items: dict[Any, Any]) -> list[Word]:
    """How many entries a dictionary has."""
    return [(id(items) + _USED, len(items))]


def attributes_at(obj: Any) -> list[Word] | None:
    """Which dictionary an object has for its attributes; None if not known."""
    cls = type(obj)
    d = obj.__dict__
    at = id(obj) + (_DICT if cls.__flags__ & _MANAGED else cls.__dictoffset__)
    if not cls.__flags__ & _MANAGED and cls.__dictoffset__ <= 0:
        return None
    return [(at, id(d))] if _read(at).value == id(d) else None


def instance_words(
    obj: Any, held: list[Any], apart_from: Collection[str] = (),
) -> list[Word] | None:
    """All attributes of an object, but for the values of some; None if not known."""
    at, found = attributes_at(obj), dict_words(obj.__dict__, held, apart_from)
    return None if at is None or found is None else [*at, *found]


def list_words(items: list[Any], held: list[Any]) -> list[Word]:
    """The items of a list, by identity."""
    start = _read(id(items) + _ITEMS).value
    return [(id(items) + _SIZE, len(items)), (id(items) + _ITEMS, start),
            *_item_words(start, items, held)]


def tuple_words(items: tuple[Any, ...], held: list[Any]) -> list[Word]:
    """The items of a tuple: another one may have come to its place."""
    return [(id(items) + _SIZE, len(items)),
            *_item_words(id(items) + tuple.__basicsize__, items, held)]


def _item_words(start: int, items: Sequence[Any], held: list[Any]) -> list[Word]:
    words = []
    for k, item in enumerate(items):
        words += [(start + 8 * k, id(item)), *stays(item, held)]
    return words


def set_words(items: set[Any] | frozenset[Any], held: list[Any]) -> list[Word] | None:
    """The items of a small set; None of a large one."""
    at = id(items) + object.__basicsize__
    mask, table = _read(at + _MASK).value, _read(at + _TABLE).value
    if not 0 <= mask < _SMALL:
        return None
    held += items
    words = [word_at(at + k) for k in (0, 8, _MASK, _TABLE)]  # filled, used
    return words + [word_at(table + 8 * k) for k in range(2 * mask + 2)]  # items and hashes


def array_words(array: np.ndarray) -> list[Word] | None:
    """Shape, dtype and strides of an array; None if not known."""
    at, found = id(array), layout()
    if found is None:
        return None
    dims, strides = _read(at + found.dims).value, _read(at + found.strides).value
    words = [word_at(at + k) for k in (found.ndim, found.descr, found.dims, found.strides)]
    for start in (dims, strides):
        words += [word_at(start + 8 * k) for k in range(array.ndim)]
    return words


def member_words(obj: Any, value: Any, held: list[Any]) -> list[Word] | None:
    """Where an object refers to ``value``; None if that is not in a single place."""
    places = range(id(obj) + object.__basicsize__, id(obj) + type(obj).__basicsize__, 8)
    found = [at for at in places if _read(at).value == id(value)]
    return [(found[0], id(value)), *stays(value, held)] if len(found) == 1 else None


class _Probe:
    """What is changed to see whether words tell."""

    def __init__(self) -> None:
        self.a: Any = 0
        self.x: Any = None


@functools.cache
def are_as_known() -> bool:
    """Whether words change with each change, and only then; nothing is read elsewhere before."""
    known = layout() is not None and sys.version_info[:2] in _KNOWN
    if not known or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    return (
        _places_tell() and _attributes_tell() and _classes_tell() and _sets_tell()
        and _references_tell())


def _are_as_they_were(words: Iterable[Word]) -> bool:
    return all(_read(at).value == word for at, word in words)  # none behind one that is not


def _places_tell() -> bool:
    """Whether entries are where they are looked for."""
    probe, gone = _Probe(), {str(k): [k] for k in range(20)}
    probe.x = []
    for key in ("3", "19"):
        del gone[key]
    dicts: list[dict[Any, Any]] = [
        {}, probe.__dict__, {1: 2.5, "a": []}, gone, {str(k): k for k in range(300)}]
    for d in dicts:
        held: list[Any] = []
        for key in [*d][::31] + [*d][-2:]:
            (found,) = place_words(d, [key], held)
            if not found or found[-1][1] != id(d[key]) or not _are_as_they_were(found):
                return False
        words = [entry_words(d, held, "none"), size_words(d)]
        if d is not dicts[-1]:  # large
            words.append(dict_words(d, held))
        if not all([found and _are_as_they_were(found) for found in words]):
            return False
    return len(dict_words(gone, []) or []) > 2 * len(gone)


def _attributes_tell() -> bool:
    """Whether words of an object change with what it has."""
    probe, held = _Probe(), list[Any]()
    d = probe.__dict__
    if attributes_at(probe) is None:
        return False
    before, values = entry_words(d, held, "x"), [[k] for k in range(300)]
    for k, value in enumerate(values):  # the code becomes a faster one on the way
        probe.x = value
        if k % 16 == 0:
            if not before or _are_as_they_were(before):
                return False
            before = entry_words(d, held, "x")
            if not before or not _are_as_they_were(before):
                return False
    changes: list[Callable[[], Any]] = [
        lambda: d.update(a=[]), lambda: d.pop("a"), lambda: d.setdefault("b", []),
        lambda: d.__setitem__("b", []), lambda: d.__delitem__("b"),
        lambda: object.__setattr__(probe, "c", []), lambda: setattr(probe, "c", []),
        lambda: delattr(probe, "c"), d.popitem, lambda: setattr(probe, "d", []), d.clear,
        lambda: setattr(probe, "__dict__", {}),
    ]
    for change in changes:
        d["y"] = []
        before = instance_words(probe, held)
        if not before or not _are_as_they_were(before):
            return False
        change()
        if _are_as_they_were(before):
            return False
    return True


def _references_tell() -> bool:
    """Whether it is seen that objects are gone."""
    probe, held = _Probe(), list[Any]()
    words = stays(probe, held)
    if len(words) != 1 or not _are_as_they_were(words):
        return False
    del probe
    return not _are_as_they_were(words)


def _sets_tell() -> bool:
    items, held = {"a", "b"}, list[Any]()
    seen = [set_words(items, held)]
    for change in (lambda: items.add("c"), lambda: items.discard("a"), lambda: items.add("d")):
        change()
        seen.append(set_words(items, held))
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
