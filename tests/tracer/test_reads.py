"""Which names a function looks up, and other objects in their places."""

import gc
import os
import sys

import numpy as np
import pytest

from chainwright.tracer import GONE, Functions, Read, StandIns, code_reads, look_up

LIMIT = 3


def reads_of(function, *args, known=()):
    """What ``code_reads`` says of a call."""
    found = []
    functions = Functions()
    for other in known:
        functions.add(other)

    def profile(frame, event, arg):
        if event == "call" and frame.f_code is function.__code__ and not found:
            found.append(code_reads(frame, functions))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return found[0]


def scaled(factor):
    def scale(x):
        return x * factor + LIMIT

    return scale


@pytest.fixture
def no_search(monkeypatch):
    """Looking through all objects takes long."""

    def fail(*args):
        raise AssertionError("all objects are looked through")

    monkeypatch.setattr(gc, "get_referrers", fail)


def test_globals_and_closures(no_search):
    scale = scaled(2)
    found = reads_of(scale, 1, known=[scale])
    assert found.problem is None
    assert [(r.text, r.how, r.value) for r in found.reads] == [
        ("LIMIT", "item", 3),
        ("factor", "cell", 2),
    ]
    assert found.reads[1].owner is scale.__closure__[0]


def test_closure_of_a_function_in_a_closure(no_search):
    inner = scaled(2)

    def outer(x):
        return inner(x)

    found = reads_of(inner, 1, known=[outer])
    assert found.reads[-1].owner is inner.__closure__[0]


def test_closure_of_a_local_function_of_the_caller(no_search):
    scale = scaled(2)
    assert reads_of(scale, 1).reads[-1].owner is scale.__closure__[0]


def test_closure_that_only_the_heap_tells():
    holder = [scaled(2)]
    code = holder[0].__code__
    found = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code is code:
            found.append(code_reads(frame, Functions()))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        holder[0](1)
    finally:
        sys.setprofile(before)
    assert any(r.owner is holder[0].__closure__[0] for r in found[0].reads)


def test_all_closures_that_look_alike_are_watched():
    both = [scaled(2), scaled(2)]
    found = reads_of(both[1], 1, known=both)
    assert [r.owner for r in found.reads if r.how == "cell"] == [f.__closure__[0] for f in both]


def test_classes_that_a_method_may_reach():
    class Base:
        factor = 2

    class Model(Base):
        def run(self):
            return type(self).factor

        def plain(self):
            return 1

    assert [r.owner for r in reads_of(Model.run, Model()).reads] == [Model, Base]
    assert reads_of(Model.plain, Model()).reads == []


def test_environment():
    def read():
        return os.environ.get("HOME"), os.getenv("HOME")

    reads = reads_of(read).reads
    assert ("os.environ", os, "environ") in [(r.text, r.owner, r.key) for r in reads]


def test_assignments_and_comparisons_of_types_are_problems():
    def assign():
        global LIMIT
        LIMIT = 3

    def compare(x):
        return type(x) is np.ndarray

    assert "global name 'LIMIT'" in reads_of(assign).problem
    assert "compare types of arrays" in reads_of(compare, 1).problem


class Owner:
    name = 1


def cell_of(value):
    return (lambda: value).__closure__[0]


@pytest.mark.parametrize(
    ("how", "owner", "key"),
    [("item", {"a": 1}, "a"), ("item", [0, 1], 1), ("attr", Owner(), "name"), ("cell", None, "")],
)
def test_stand_ins(how, owner, key):
    owner = cell_of(1) if how == "cell" else owner
    stand_ins = StandIns()
    stand_ins.place(Read("text", how, owner, key, 1), "other")
    assert look_up(how, owner, key) == "other"
    stand_ins.restore()
    assert look_up(how, owner, key) == 1


def test_stand_ins_leave_what_has_been_put_there():
    names, items = {"a": 1}, [1, 2]
    stand_ins = StandIns()
    stand_ins.place(Read("a", "item", names, "a", 1), "other")
    stand_ins.place(Read("b", "item", items, 0, 1), "another")
    names["a"] = 5
    items.insert(0, 7)  # what stood first stands second now
    stand_ins.restore()
    assert names == {"a": 5} and items == [7, 1, 2]


def test_what_is_gone():
    assert look_up("item", {}, "a") is GONE
    assert look_up("item", [], 3) is GONE
    assert look_up("attr", Owner(), "no such") is GONE
