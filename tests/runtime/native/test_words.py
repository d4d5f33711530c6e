"""Words of memory tell each change of what they watch, and nothing else."""

import types

import numpy as np
import pytest

from chainwright.runtime.native import words

pytestmark = pytest.mark.skipif(words.comparison() is None, reason="another Python")


class Thing:
    kind = 1


class Child(Thing):
    pass


def made():
    thing = Child()
    thing.items, thing.array, thing.table = [1, "two", thing], np.ones((2, 3), "f"), {"a": 1}
    return thing


def watched(thing):
    known = words.facts()
    found = [*words.class_of(thing), *words.instance_words(thing)]
    found += [*words.class_of(thing.items), *words.list_words(thing.items)]
    found += [*words.class_of(thing.array), *words.array_words(thing.array, known.layout)]
    return words.table_of([*found, *words.dict_words(thing.table)])


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
    same, thing = words.comparison(), made()
    table = watched(thing)
    assert same(table) is True
    assert thing.items[1] == "two" and thing.kind and thing.array.sum() == 6
    thing.array[...] = 5  # contents of arrays are nobody's business
    assert same(table) is True
    change(thing)
    assert same(table) is False


def test_what_is_behind_a_changed_word_is_not_looked_at():
    thing = made()
    first = words.instance_words(thing)
    thing.more = 1
    assert words.comparison()(words.table_of([*first, (8, 0)])) is False


def test_the_code_of_a_function_is_a_member():
    def f():
        return 1

    def g():
        return 2

    same, table = words.comparison(), words.table_of(words.member_words(f, f.__code__))
    assert same(table) is True
    f.__code__ = g.__code__
    assert same(table) is False
    assert words.member_words(f, object()) is None


def test_classes_that_nobody_can_change_have_no_version():
    assert words.class_words(int) == words.class_words(types.ModuleType) == []


def test_classes_without_a_version_are_not_known(monkeypatch):
    """There are only so many versions: a class may have got none, and its word never changes."""
    monkeypatch.setattr(words, "word_at", lambda at: (at, 1 << 32))
    assert words.class_words(Child) is words.class_of(Child()) is None
    assert len(words.class_of([])) == 1


SETS = {
    "added": lambda s: s.add("c"),
    "removed": lambda s: s.discard("a"),
    "another": lambda s: (s.discard("a"), s.add("z")),
    "many": lambda s: s.update(map(str, range(40))),
    "cleared": lambda s: s.clear(),
}


@pytest.mark.parametrize("change", SETS.values(), ids=SETS)
def test_a_change_of_a_set_is_told(change):
    same, items = words.comparison(), {"a", "b"}
    table = words.table_of(words.set_words(items))
    assert same(table) is True and "a" in items
    change(items)
    assert same(table) is False


def test_large_sets_are_not_watched():
    assert words.set_words(set(range(1000))) is None


def test_counting_changes_all_or_nothing():
    things = [made() for _ in range(3)]
    for thing in things:
        thing.t = 4
    dicts = [thing.__dict__ for thing in things]
    table, count, numbers = words.counting_table(dicts, "t"), words.counting(), [5, 1 << 70, 7]
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
    fit = words.layouts()
    table = words.layouts_table([(a.shape, a.dtype, a.strides) for a in (array, scalar)])
    other = OTHERS[name](array)
    assert fit((table, array, scalar)) is True
    assert fit((table, array + 1, np.ones(()))) is True
    assert fit((table, with_metadata(array), scalar)) is True
    assert fit((table, other, scalar)) is False
    assert fit((table, scalar, other)) is False


def test_layouts_that_nobody_knows():
    assert words.layouts_table([((2,), np.dtype(">f4"), (4,))]) is None
    assert words.layouts_table([((2,), np.dtype([("a", "f")]), (4,))]) is None
    assert words.layouts_table([((2,), np.dtype("S3"), (3,))]) is None


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_numbers(dtype):
    """As NumPy casts them."""
    random = np.random.RandomState(0)
    for exponent in (0, 30, -30, -40, -45, -60, -300):
        given = [float(x) for x in random.standard_normal(4) * 10.0**exponent]
        place = np.zeros(4, dtype)
        table = words.numbers_table(place, (True, False, True, True, False, True), 1e38)
        assert words.numbers()((table, given[0], None, *given[1:3], None, given[3])) is True
        assert place.tobytes() == np.array(given).astype(dtype).tobytes()


@pytest.mark.parametrize("other", [
    1, True, None, np.float64(1), np.float32(1), "1", 1e38, -1e39, np.inf, np.nan,
], ids=str)
def test_numbers_that_are_left_to_python(other):
    place = np.zeros(2, "f")
    table = words.numbers_table(place, (True, True, False), 1e38)
    write = words.numbers()
    for given in ((other, 1.0, None), (1.0, other, None)):
        assert write((table, *given)) is False
    assert write((table, 1.0, 2.0, 3.0)) is False
    assert write((table, 1.0, 2.0)) is False
    assert write((table, 1.0, 2.0, None, None)) is False
    assert write((table, 1.0, 2.0, None)) is True
