"""Recorded argument lists."""

import numpy as np
import pytest

from chainwright.ir import IRError, Slot, exact_key, freeze, thaw
from chainwright.ir.frozen import index_source, source
from chainwright.ir.interpret import Environment

VALUES = [
    None,
    3,
    (1, 2.5, "text"),
    [1, [2, None]],
    slice(1, None, 2),
    {"axis": (0, 1), "key": [slice(None)]},
    (Ellipsis, np.float32, np.dtype("f4"), (), [], {}),
    (float("inf"), -0.0, True, 2j, np.float32(0.1)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_freeze_is_hashable_and_thaw_gives_it_back(value):
    frozen = freeze(value)
    hash(frozen)
    assert repr(thaw(frozen, ())) == repr(value)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_source_is_python_text_of_it(value):
    scope = Environment()
    text = source(freeze(value), (), scope)
    assert repr(eval(text, scope.names)) == repr(value)


def test_arrays_are_slots():
    assert thaw(freeze([Slot(1), {"x": Slot(0)}]), ("a", "b")) == ["b", {"x": "a"}]
    assert source(freeze((Slot(1), 2)), ("a", "b"), Environment()) == "(b, 2)"
    with pytest.raises(IRError, match="pass it as a Slot"):
        freeze((1, np.zeros(2)))


@pytest.mark.parametrize(
    "index, text",
    [
        (3, "3"),
        (slice(1, None), "1:"),
        ((slice(None, None, -1), None, ...), "::-1, None, ..."),
        (Slot(0), "a"),
        ((Slot(0), slice(None)), "a, :"),
        ((2,), "2,"),
        ((), "()"),
    ],
)
def test_index_source(index, text):
    assert index_source(freeze(index), ("a",), Environment()) == text


def test_exact_key_tells_apart_what_equality_does_not():
    alike = [1, 1.0, True, np.float32(1), np.float64(1), 1 + 0j]
    assert len({exact_key(value) for value in alike}) == len(alike)
    assert exact_key(0.0) != exact_key(-0.0)
    assert exact_key((1, (2.0,))) != exact_key((1, (2,)))
    assert exact_key(float("nan")) == exact_key(float("nan"))
    assert exact_key(np.float32(2)) == exact_key(np.float32(2))
