"""Printed graphs that are read again."""

import ast
import pathlib

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.ir import IRError, Slot, constant, interpret, literal, verify
from chainwright.ir.parse import parse


def golden():
    """All printed graphs that stand in the tests of this folder."""
    here = pathlib.Path(__file__)
    for path in sorted(here.parent.glob("test_*.py")):
        if path.name == here.name:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.rstrip("\n")
                if text.startswith("graph ") and "\n  return" in text:
                    yield pytest.param(text, id=f"{path.stem}:{node.lineno}")


@pytest.mark.parametrize("text", [*golden()])
def test_golden_graphs_come_back(text):
    assert str(parse(text)) == text


def test_golden_graphs_are_found():
    assert len(list(golden())) >= 3


def test_the_values_are_those_of_the_graph():
    x, b = array("x", 3, 4), Building()
    y = b.multiply(b.add(x, literal(0.5)), constant(np.float32(3)))
    part = b.getitem(y, index=(slice(None, None, -1), slice(1, 3)))
    graph = b.graph((x,), b.sum(part, axis=(1,), keepdims=True), b.transpose(x, axes=(1, 0)))
    again = verify(parse(str(graph)))
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    for first, second in zip(interpret(graph, value), interpret(again, value), strict=True):
        np.testing.assert_array_equal(first, second)
        assert first.strides == second.strides


def test_settings_of_every_form():
    x, b = array("x", 4), Building()
    settings = {"a": [1, -2.5, None], "b": (slice(1, None, 2), Slot(0), "x = [1]"), "c": "it's"}
    b.call(x, fn=len, args=(settings, ..., float("-inf"), float("nan")), shape=(), dtype="f8")
    text = str(b.graph((x,)))
    assert str(parse(text)) == text


@pytest.mark.parametrize("text, message", [
    ("%1 = add", "line 1: a graph begins with its name"),
    ("graph g\n  %x: f32[3] = argument", "line 2: a graph ends with what it returns"),
    ("graph g\n  nonsense\n  return 1", "line 2: 'nonsense': this is no line of a graph"),
    ("graph g\n  %1: f32[] = ad 1 2\n  return %1", "there is no op 'ad'"),
    ("graph g\n  %1: f32[] = add %x 2\n  return %1", "%x is not computed before it is used"),
    ("graph g\n  %1: f32[] = add 1 2 axis=0\n  return %1", "add and the attribute axis do not fit"),
    ("graph g\n  %1: q7[] = add 1 2\n  return %1", "line 2"),
])  # fmt: skip
def test_what_is_no_graph(text, message):
    with pytest.raises(IRError, match=message):
        parse(text)
