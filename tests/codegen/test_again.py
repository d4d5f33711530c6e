"""Loops compute once more what they would read of loops before, where that takes little."""

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.ir import build, interpret
from chainwright.runtime import options
from chainwright.runtime.native import native_target

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")
ROWS, WIDTH = 4096, 96
RNG = np.random.default_rng(0)


def program(graph):
    return TARGET.program(build(graph, {}, TARGET.passes).forward, "test")


def run(made, *values):
    loaded = made.load()
    return loaded.function(*values, loaded.new_scratch(), loaded.new_kept())


def check(graph, *values):
    """Equal bits; how many arrays each loop stores, for the loops over whole rows."""
    made = program(graph)
    for got, wanted in zip(run(made, *values), interpret(graph, *values), strict=True):
        assert got.tobytes() == wanted.tobytes()
    return [sum(o.out for o in kernel.operands) for kernel in made.kernels]


def floats(*shape):
    return RNG.uniform(0.1, 0.5, shape).astype("f")  # nothing overflows: NumPy would stand in


def softened(make):
    """``make(b, x, w)`` before and after a sum over rows of exponentials."""
    b, x, w = Building(), array("x", ROWS, WIDTH), array("w", WIDTH)
    before, after = make(b, x, w)
    total = b.sum(b.exp(before), axis=1, keepdims=True)
    return b.graph((x, w), b.divide(after, total)), floats(ROWS, WIDTH), floats(WIDTH)


def chain(b, x, w):
    t = b.add(b.multiply(x, w), 1.0)
    return b.multiply(t, t), b.subtract(t, 3.0)


def of_a_quotient(b, x, w):
    t = b.divide(x, w)
    return b.multiply(t, t), b.subtract(t, 3.0)


def of_another_array(b, x, w):
    y = b.tanh(x)  # which is in memory, as what a loop of NumPy makes is
    t = b.multiply(y, w)
    return b.multiply(t, t), b.subtract(t, y)


def long(b, x, w):
    t = x
    for k in range(9):
        t = b.add(b.multiply(t, w), float(k))
    return t, b.negative(t)


#: What the first loop stores: what exp reads, and what the second loop does not compute.
CASES = {chain: 1, of_a_quotient: 2, of_another_array: 1}


@pytest.mark.parametrize("make", CASES)
def test_what_is_stored(make):
    assert check(*softened(make))[0] == CASES[make]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("make", [*CASES, long])
def test_threads_change_nothing(make, threads, monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "threads", lambda: threads)
    check(*softened(make))


def test_an_output_is_read():
    """It is in memory anyway."""
    b, x = Building(), array("x", ROWS, WIDTH)
    t = b.multiply(x, 3.0)
    total = b.sum(b.exp(b.add(t, 1.0)), axis=1, keepdims=True)
    graph = b.graph((x,), t, b.divide(b.subtract(t, 2.0), total))
    assert check(graph, floats(ROWS, WIDTH))[0] == 2


def test_two_arrays_more_are_too_many():
    b, x, y = Building(), array("x", ROWS, WIDTH), array("y", ROWS, WIDTH)
    t = b.multiply(x, y)
    total = b.sum(b.exp(b.add(t, 1.0)), axis=1, keepdims=True)
    graph = b.graph((x, y), b.divide(b.subtract(t, 2.0), total))
    assert check(graph, floats(ROWS, WIDTH), floats(ROWS, WIDTH))[0] == 2


def test_memory_lasts_until_it_is_read_again():
    """A value that only what is computed again reads; others would like to have its memory."""
    b, x, w = Building(), array("x", ROWS, WIDTH), array("w", WIDTH)
    y = b.tanh(x)
    t = b.multiply(y, w)
    u = b.exp(b.add(t, 1.0))
    v = b.exp(b.multiply(u, 0.01))
    s = b.sin(b.add(v, 2.0))
    total = b.sum(b.exp(b.add(s, u)), axis=1, keepdims=True)
    graph = b.graph((x, w), b.divide(b.subtract(t, 2.0), total))
    check(graph, floats(ROWS, WIDTH), floats(WIDTH))
