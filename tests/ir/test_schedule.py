"""Execution orders."""

import pytest
from ir_graphs import Building, array

from chainwright.ir.schedule import ordering_edges, schedule

X, STATE = array("x", 3), array("s", 3, kind="state")


def test_a_valid_order_stays():
    b = Building()
    b.tanh(b.exp(X))
    b.negative(X)
    assert schedule(b.nodes) == b.nodes


def test_data_flow_effects_and_reads_before_writes():
    b = Building()
    view = b.reshape(STATE, shape=(3, 1))
    late = b.exp(view)
    one = b.random(fn="rand", args=(3,), shape=(3,), dtype="f8")
    write = b.write(STATE, X)
    two = b.random(fn="rand", args=(3,), shape=(3,), dtype="f8")
    assert ordering_edges(b.nodes) == [(one, write), (write, two), (view, write), (late, write)]
    assert schedule([view, one, write, two, late]) == [view, one, late, write, two]


def test_units_come_together():
    b = Building()
    one, other, three = b.exp(X), b.negative(X), b.tanh(X)
    assert schedule(b.nodes, {one: 0, three: 0}) == [one, three, other]


def test_units_in_a_circle_are_a_bug():
    b = Building()
    one = b.exp(X)
    three = b.negative(b.tanh(one))
    with pytest.raises(AssertionError, match="circle"):
        schedule(b.nodes, {one: 0, three: 0})
