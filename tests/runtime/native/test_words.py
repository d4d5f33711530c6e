"""Words of memory tell each change of what they watch, and nothing else."""

import collections
import types
import weakref

import numpy as np
import pytest

from chainwright.runtime.native import looks, words

pytestmark = pytest.mark.skipif(looks.comparison() is None, reason="another Python")


class Thing:
    kind = 1


class Child(Thing):
    pass


def made():
    thing = Child()
    thing.items, thing.array, thing.table = [1, "two", thing], np.ones((2, 3), "f"), {"a": 1}
    return thing


def watched(thing):
    held = []
    found = [*words.class_of(thing), *words.instance_words(thing, held)]
    found += [*words.class_of(thing.items), *words.list_words(thing.items, held)]
    found += [*words.class_of(thing.array), *words.array_words(thing.array)]
    return looks.table_of([*found, *words.dict_words(thing.table, held)]), held


def rename(thing):
    thing.__class__ = Thing


def other_dict(thing):
    thing.__dict__ = dict(thing.__dict__)


def other_shape(thing):
    thing.array.shape = (3, 2)


def other_axes(thing):
    thing.array.shape = (1, 6)


def other_dtype(thing):
    thing.array.dtype = np.int32


CHANGES = {
    "attribute": lambda t: setattr(t, "items", list(t.items)),
    "new attribute": lambda t: setattr(t, "more", 1),
    "deleted attribute": lambda t: delattr(t, "table"),
    "dictionary": lambda t: t.__dict__.update(table={}),
    "another dictionary": other_dict,
    "class of the object": rename,
    "class": lambda t: setattr(Child, "other", 1),
    "base class": lambda t: setattr(Thing, "kind", 2),
    "item": lambda t: t.items.__setitem__(1, "three"),
    "order": lambda t: t.items.reverse(),
    "length": lambda t: t.items.pop(),
    "many items": lambda t: t.items.extend(range(100)),
    "key": lambda t: t.table.__setitem__("b", 2),
    "value": lambda t: t.table.__setitem__("a", 2),
    "cleared": lambda t: t.table.clear(),
    "shape": other_shape,
    "strides": other_axes,
    "dtype": other_dtype,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_told(change):
    same, thing = looks.comparison(), made()
    table, held = watched(thing)
    assert same(table) is True
    assert thing.items[1] == "two" and thing.kind and thing.array.sum() == 6
    thing.array[...] = 5  # contents of arrays are nobody's business
    assert same(table) is True
    change(thing)
    assert same(table) is False


def test_the_first_change():
    thing = made()
    table, held = watched(thing)
    assert looks.first_change(table) is None
    first, last = (int(at) for at in (table[2], table[-2]))
    thing.table["a"] = 3  # the last word
    assert looks.first_change(table) == last
    thing.__class__ = Thing
    assert looks.first_change(table) == first
    assert looks.first_change(looks.table_of([(id(held) + 16, -1), (8, 0)])) == id(held) + 16


def test_what_is_behind_a_changed_word_is_not_looked_at():
    thing = made()
    first = words.instance_words(thing, [])
    thing.more = 1
    assert looks.comparison()(looks.table_of([*first, (8, 0)])) is False


def test_the_code_of_a_function_is_a_member():
    def f():
        return 1

    def g():
        return 2

    same, held = looks.comparison(), []
    table = looks.table_of(words.member_words(f, f.__code__, held))
    assert same(table) is True
    f.__code__ = g.__code__
    assert same(table) is False
    assert words.member_words(f, object(), []) is None


def test_classes_that_nobody_can_change_have_no_version():
    assert words.class_words(int) == words.class_words(types.ModuleType) == []


def test_classes_without_a_version_are_not_known(monkeypatch):
    """There are only so many versions: a class may have got none, and its word never changes."""
    monkeypatch.setattr(words, "word_at", lambda at: (at, 1 << 32))
    assert words.class_words(Child) is words.class_of(Child()) is None
    assert len(words.class_of([])) == 1


class Slots:
    __slots__ = ("value",)  # no weak references to it


class OtherSlots:
    __slots__ = ("value",)


things = []  # that live, as objects do whose attributes a method reads


def dictionaries():
    """Those that share keys with others, of strings, of any keys, large ones, with gaps."""
    thing, gaps = made(), {str(k): [k] for k in range(20)}
    for key in ("0", "7", "19"):
        del gaps[key]
    thing.a = []
    things.append(thing)
    return {
        "shared": thing.__dict__, "strings": {"a": [], "b": thing}, "any": {1: [], "a": {}},
        "gaps": {**gaps, "a": 1.5}, "gaps as they are": gaps | {"a": Slots()},
        "large": {"a": "text", **{str(k): k for k in range(1000)}},
    }


def replaced(d, key, value):
    """Another entry in the place of the last one."""
    last, old = d.popitem()
    d[key] = value
    return last, old


OF_ENTRIES = {
    "another value": lambda d: d.__setitem__("a", object()),
    "taken away": lambda d: d.pop("a"),
    "taken away, and back": lambda d: d.__setitem__("a", [d.pop("a")]),
    "cleared": lambda d: d.clear(),
}
NOT_OF_IT = {
    "another key": lambda d: d.__setitem__(next(k for k in d if k != "a"), object()),
    "looked at": lambda d: [d.get("a"), d.items(), d == {}, list(d), str(d)],
    "the same again": lambda d: d.__setitem__("a", d["a"]),
}


@pytest.mark.parametrize("kind", dictionaries())
@pytest.mark.parametrize("change", OF_ENTRIES)
def test_a_change_of_an_entry_is_told(kind, change):
    d, held = dictionaries()[kind], []
    same, table = looks.comparison(), looks.table_of(words.entry_words(d, held, "a"))
    assert same(table) is True
    OF_ENTRIES[change](d)
    assert same(table) is False


@pytest.mark.parametrize("kind", dictionaries())
@pytest.mark.parametrize("change", NOT_OF_IT)
def test_other_entries_do_not_matter(kind, change):
    d, held = dictionaries()[kind], []
    same, table = looks.comparison(), looks.table_of(words.entry_words(d, held, "a"))
    NOT_OF_IT[change](d)
    assert same(table) is True


@pytest.mark.parametrize("kind", dictionaries())
@pytest.mark.parametrize("change", [
    lambda d: d.__setitem__("new", 1),
    lambda d: replaced(d, "new", d[next(reversed(d))]),
    lambda d: d.update(new=2, more=3),
], ids=["added", "in the place of another", "with others"])
def test_an_entry_that_there_was_not(kind, change):
    d, held = dictionaries()[kind], []
    same, table = looks.comparison(), looks.table_of(words.entry_words(d, held, "new"))
    assert same(table) is True
    change(d)
    assert same(table) is False


def test_an_attribute_that_other_objects_have():
    """Of keys that objects share one may be without a value."""
    one, other, held = made(), made(), []
    one.first, other.second = 1, 2
    one.second = 3
    del one.second
    same = looks.comparison()
    table = looks.table_of(words.entry_words(one.__dict__, held, "second"))
    assert same(table) is True
    one.second = 4
    assert same(table) is False


def test_what_is_new_at_the_place_of_what_is_gone():
    """An object that gets the address of one that is gone is another one."""
    same = looks.comparison()
    made_of = (lambda: np.zeros(3), lambda: int("9" * 30), lambda: "".join("words"))
    for make in (made, lambda: {1, 2}, *made_of):
        for _ in range(200):
            d, held = {"a": make()}, []
            table = looks.table_of(words.entry_words(d, held, "a"))
            del d["a"]
            d.clear()
            d["a"] = make()
            assert same(table) is False


def test_another_list_in_the_place_of_one_that_is_gone_is_known_by_its_items():
    same, first, other = looks.comparison(), made(), made()
    for make in (lambda x: [x], lambda x: (x,), lambda x: {"x": x}):
        for _ in range(200):
            d, held = {"a": make(first)}, []
            found = words.entry_words(d, held, "a")
            found += {list: words.list_words, tuple: words.tuple_words}.get(
                type(d["a"]), lambda x, held: words.entry_words(x, held, "x"))(d["a"], held)
            table = looks.table_of(found)
            assert same(table) is True
            d["a"] = None
            d["a"] = make(other)
            assert same(table) is False


def test_another_class_in_the_place_of_one_that_is_gone():
    same = looks.comparison()
    for _ in range(200):
        d, held = {"a": Slots()}, []
        table = looks.table_of(words.entry_words(d, held, "a"))
        d["a"] = None
        d["a"] = OtherSlots()
        assert same(table) is False


def test_objects_do_not_live_longer():
    """Neither those that are watched nor what is in lists, tuples and dictionaries of them."""
    thing, held = made(), []
    gone = []
    for container in (lambda x: x, lambda x: [x], lambda x: (x, 1), lambda x: {"a": x}):
        array = np.ones(3)
        gone.append(weakref.ref(array))
        thing.array = container(array)
        table = looks.table_of(words.instance_words(thing, held))
        thing.array = array = None
        assert looks.comparison()(table) is False
    assert [ref() for ref in gone] == [None] * 4


def test_dictionaries_of_other_classes_are_not_known():
    d = collections.OrderedDict(a=1)
    assert words.entry_words(d, [], "a") is words.dict_words(d, []) is None


def test_values_that_do_not_matter():
    thing, held = made(), []
    same, table = looks.comparison(), looks.table_of(words.instance_words(thing, held, {"table"}))
    thing.table = {}
    assert same(table) is True
    thing.array = None
    assert same(table) is False


SETS = {
    "added": lambda s: s.add("c"),
    "removed": lambda s: s.discard("a"),
    "another": lambda s: (s.discard("a"), s.add("z")),
    "many": lambda s: s.update(map(str, range(40))),
    "cleared": lambda s: s.clear(),
}


@pytest.mark.parametrize("change", SETS.values(), ids=SETS)
def test_a_change_of_a_set_is_told(change):
    same, items, held = looks.comparison(), {"a", "b"}, []
    table = looks.table_of(words.set_words(items, held))
    assert same(table) is True and "a" in items
    change(items)
    assert same(table) is False


def test_large_sets_are_not_watched():
    assert words.set_words(set(range(1000)), []) is None


def test_counting_changes_all_or_nothing():
    things = [made() for _ in range(3)]
    for thing in things:
        thing.t = 4
    dicts = [thing.__dict__ for thing in things]
    table, count, numbers = looks.counting_table(dicts, "t"), looks.counting(), [5, 1 << 70, 7]
    for n in numbers[:2]:
        table[-1] = id(n)
        assert count(table) is True
        assert [thing.t for thing in things] == [n] * 3 and things[0].t is n
    things[1].t = 6
    table[-1] = id(numbers[2])
    assert count(table) is False
    assert [thing.t for thing in things] == [1 << 70, 6, 1 << 70]


def with_metadata(array):
    return array.view(np.dtype(np.float32, metadata={"a": 1}))


OTHERS = {
    "shape": lambda a: a[:1],
    "axes": lambda a: a[0],
    "strides": lambda a: np.asfortranarray(a),
    "dtype": lambda a: a.view("i"),
    "byte order": lambda a: a.astype(">f4"),
    "class": lambda a: a.view(np.recarray),
    "no array": lambda a: None,
    "a list": lambda a: a.tolist(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_layouts(name):
    array, scalar = np.ones((2, 3), "f"), np.zeros((), "d")
    fit = looks.layouts()
    table = looks.layouts_table([(a.shape, a.dtype, a.strides) for a in (array, scalar)])
    other = OTHERS[name](array)
    assert fit((table, array, scalar)) is True
    assert fit((table, array + 1, np.ones(()))) is True
    assert fit((table, with_metadata(array), scalar)) is True
    assert fit((table, other, scalar)) is False
    assert fit((table, scalar, other)) is False


def test_layouts_that_nobody_knows():
    assert looks.layouts_table([((2,), np.dtype(">f4"), (4,))]) is None
    assert looks.layouts_table([((2,), np.dtype([("a", "f")]), (4,))]) is None
    assert looks.layouts_table([((2,), np.dtype("S3"), (3,))]) is None


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_numbers(dtype):
    """As NumPy casts them."""
    random = np.random.RandomState(0)
    for exponent in (0, 30, -30, -40, -45, -60, -300):
        given = [float(x) for x in random.standard_normal(4) * 10.0**exponent]
        place = np.zeros(4, dtype)
        table = looks.numbers_table(place, (True, False, True, True, False, True), 1e38)
        assert looks.numbers()((table, given[0], None, *given[1:3], None, given[3])) is True
        assert place.tobytes() == np.array(given).astype(dtype).tobytes()


@pytest.mark.parametrize("other", [
    1, True, None, np.float64(1), np.float32(1), "1", 1e38, -1e39, np.inf, np.nan,
], ids=str)
def test_numbers_that_are_left_to_python(other):
    place = np.zeros(2, "f")
    table = looks.numbers_table(place, (True, True, False), 1e38)
    write = looks.numbers()
    for given in ((other, 1.0, None), (1.0, other, None)):
        assert write((table, *given)) is False
    assert write((table, 1.0, 2.0, 3.0)) is False
    assert write((table, 1.0, 2.0)) is False
    assert write((table, 1.0, 2.0, None, None)) is False
    assert write((table, 1.0, 2.0, None)) is True
