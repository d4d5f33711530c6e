"""Guards: what may change unnoticed (nothing) and what is said when something has."""

import functools
import random
from collections import deque
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

from chainwright.runtime import Prologue, Ref, fingerprint


def image(value):
    return fingerprint(value, lambda v: False)


SAME = [
    1,
    1.5,
    True,
    None,
    "a",
    b"a",
    (1, (2.0, "b")),
    [1, [2]],
    {"a": [1]},
    {1, 2},
    1j,
    np.float32(2),
    np.dtype("f"),
    SimpleNamespace(a=1),
    SimpleNamespace,
    dict.fromkeys,
]


@pytest.mark.parametrize("value", SAME)
def test_a_value_has_its_own_fingerprint(value):
    assert image(value) == image(value)
    assert hash(image(value)) == hash(image(value)) or isinstance(value, dict)


DIFFERENT = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ("1", 1),
    ((1,), [1]),
    ({"a": 1}, {"a": 2}),
    (np.float32(1), np.float64(1)),
    ([1, 2], [2, 1]),
    (float("nan"), 1.0),
    (SimpleNamespace(a=1), SimpleNamespace(a=1)),
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different_values_differ(a, b):
    assert image(a) != image(b)


def test_bound_methods_are_compared_by_function_and_object():
    a, b = Holder(), Holder()
    assert image(a.method) == image(a.method) != image(b.method)


def test_nan_is_equal_to_itself():
    assert image(float("nan")) == image(float("nan"))


class Slots:
    __slots__ = ("a", "b")
    limit = 1.0
    names = ["x"]

    def __init__(self):
        self.a = 1


class Color(Enum):
    RED = 1
    BLUE = 2


class Tree:
    """Holds objects of its own kind in its class."""

    children: list = []


Tree.children += [Tree() for _ in range(50)]


def test_attributes_in_slots_and_of_classes_count(monkeypatch):
    value = Slots()
    before = image(value)
    assert image(value) == before
    value.a = 2
    changed = image(value)
    assert changed != before
    value.b = 1
    assert image(value) != changed
    for name, other in [("limit", 2.0), ("names", ["x", "y"]), ("new", 1)]:
        now = image(value)
        monkeypatch.setattr(Slots, name, other, raising=False)
        assert image(value) != now, name
    now = image(value)
    Slots.names.append("z")
    assert image(value) != now
    now = image(value)
    monkeypatch.setattr(Slots, "limit", float("2.0"))  # an equal object
    assert image(value) == now


def test_dictionary_of_a_class(monkeypatch):
    before = image(vars(Slots))
    assert image(vars(Slots)) == before
    monkeypatch.setattr(Slots, "limit", 3.0)
    assert image(vars(Slots)) != before


def test_members_of_enumerations_are_compared_by_identity():
    assert image(Color.RED) == image(Color.RED) != image(Color.BLUE)
    assert type(image(Color.RED)) is Ref


def test_classes_that_hold_their_own_objects_are_no_trouble():
    assert image(Tree()) != image(Tree())
    assert image(Tree.children[0]) == image(Tree.children[0])


@pytest.mark.parametrize("size", [10, 1000])
def test_items_of_containers_count(size):
    for value, change in [
        (list(range(size)), lambda v: v.__setitem__(5, "x")),
        ({k: k for k in range(size)}, lambda v: v.__setitem__(5, "x")),
        (deque(range(size)), lambda v: v.__setitem__(5, "x")),
        (set(range(size)), lambda v: (v.remove(5), v.add("x"))),
    ]:
        before = image(value)
        assert image(value) == before
        change(value)
        assert image(value) != before, value


def test_very_large_containers_count_by_identity_and_length():
    value = [0] * 9000
    before = image(value)
    value[0] = 1
    assert image(value) == before != image(list(value))
    value.append(1)
    assert image(value) != before


def test_partials_and_bound_methods():
    value = functools.partial(print, 1, end="")
    same = functools.partial(print, 1, end="")
    assert image(value) == image(same) != image(functools.partial(print, 2, end=""))
    value.keywords["end"] = "x"
    assert image(value) != image(same)
    holder = Holder()
    before = image(holder.method)
    holder.a = 5
    assert image(holder.method) != before


def test_absent_attributes():
    owner = Holder()
    prologue = Prologue(lambda v: False)
    prologue.absent("owner.name", owner, "name")
    check = prologue.build()
    assert check(()) == () and prologue.explain() == ""
    owner.name = 1
    assert check(()) is None and "owner.name" in prologue.explain()


def test_mutation_shows():
    for value, change in [
        ([1], lambda v: v.append(2)),
        ({"a": [1]}, lambda v: v["a"].append(2)),
        (SimpleNamespace(a=1), lambda v: setattr(v, "a", 2)),
        (np.zeros(3), lambda v: v.fill(1)),
        (np.random.RandomState(0), lambda v: v.rand()),
        (np.random.default_rng(0), lambda v: v.random()),
        (random.Random(0), lambda v: v.random()),
    ]:
        before = image(value)
        assert image(value) == before
        change(value)
        assert image(value) != before, value


def test_large_containers_are_compared_by_identity_and_length():
    big = list(range(1000))
    assert image(big) == image(big) != image(list(range(1000)))
    assert isinstance(image(big)[0], Ref)


class Holder:
    def method(self):
        pass


def prologue_for(checks=(), arrays=(), args=None):
    prologue = Prologue(lambda v: False)
    if args is not None:
        prologue.arguments(args, ".array", ".flag")
    for owner, key, value in checks:
        prologue.expect(key, prologue.expression("item", owner, key), value)
    for owner, key in arrays:
        prologue.fetch(key, prologue.expression("item", owner, key), owner[key])
    return prologue, prologue.build()


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        (True, 1),
        (0.0, -0.0),
        ("a", "b"),
        (None, 0),
        ((1, 2), (1, 3)),
        ([1], [1, 2]),
        (len, abs),
    ],
)
def test_a_changed_item_is_noticed_and_named(value, other):
    namespace = {"name": value}
    prologue, check = prologue_for([(namespace, "name", value)])
    assert check(()) == () and prologue.explain() == ""
    namespace["name"] = other
    assert check(()) is None and prologue.explain() == "name has changed"
    namespace["name"] = value
    assert check(()) == ()
    del namespace["name"]
    assert check(()) is None and prologue.explain() == "name is gone"


def test_attributes_and_cells():
    holder = Holder()
    holder.a = 1

    def closure():
        return cell_value

    cell_value = 5
    prologue = Prologue(lambda v: False)
    prologue.expect("a", prologue.expression("attr", holder, "a"), 1)
    cell = closure.__closure__[0]
    prologue.expect("cell", prologue.expression("cell", cell, "cell_value"), 5)
    check = prologue.build()
    assert check(()) == ()
    cell_value = 6
    assert check(()) is None and "cell" in prologue.explain()


def test_arrays_are_fetched_anew_and_keep_their_layout():
    own = {"w": np.zeros((2, 3), "f")}
    prologue, check = prologue_for(arrays=[(own, "w")])
    assert check(())[0] is own["w"]
    own["w"] = np.ones((2, 3), "f")
    assert check(())[0] is own["w"]
    for other in (np.ones((3, 2), "f"), np.ones((2, 3), "d"), np.ones((3, 2), "f").T, None, 3):
        own["w"] = other
        assert check(()) is None
        assert "another shape, dtype or layout" in prologue.explain()


def holder(array, flag=True):
    made = Holder()
    made.array, made.flag = array, flag
    return made


def test_arguments():
    x, y = holder(np.zeros((2, 3), "f")), np.zeros(4, "f")
    _, check = prologue_for(args=(x, y))
    assert [a is b for a, b in zip(check((x, y)), (x.array, y), strict=True)] == [True, True]
    other = holder(np.ones((2, 3), "f"))
    assert check((other, y))[0] is other.array
    for wrong in [
        (x,),
        (x, y, y),
        (y, x),
        (x, None),
        (holder(np.zeros((3, 2), "f")), y),
        (holder(np.zeros((2, 3), "d")), y),
        (holder(np.zeros((3, 2), "f").T), y),
        (holder(x.array, False), y),
        (x, np.zeros(8, "f")[::2]),
    ]:
        assert check(wrong) is None


def test_arguments_that_are_one_object():
    x, y = holder(np.zeros(2)), holder(np.zeros(2))
    _, distinct = prologue_for(args=(x, y))
    _, same = prologue_for(args=(x, x))
    assert distinct((x, y)) is not None and distinct((x, x)) is None
    assert len(same((y, y))) == 1 and same((x, y)) is None
    _, none = prologue_for(args=())
    assert none(()) == () and none((x,)) is None
