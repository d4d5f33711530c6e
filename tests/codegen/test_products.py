"""Products with one right matrix are done together, with the bits that each has by itself."""

import functools
import warnings

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import MOST_WAITING, parts_of
from chainwright.ir import build, interpret
from chainwright.runtime import options
from chainwright.runtime.native import native_target, own_products

TARGET = native_target()
pytestmark = pytest.mark.skipif(
    TARGET is None or own_products() is None, reason="there are no products of our own here"
)


def prepared(graph):
    return build(graph, {}, TARGET.passes).forward


def run(program, *values):
    loaded = program.load()
    return loaded.function(*values, loaded.new_scratch(), loaded.new_kept())


def floats(x):
    rng = np.random.default_rng(len(x.attr("name")) + x.dims[0])
    return rng.standard_normal(x.dims).astype(x.dtype)


def check(graph):
    values = [floats(x) for x in graph.inputs]
    wanted = interpret(graph, *values)
    for got, right in zip(run(TARGET.program(prepared(graph), "t"), *values), wanted, strict=True):
        assert got.strides == right.strides and got.tobytes() == right.tobytes()


def order(graph):
    """How many products are done together, in their order."""
    units = (unit for part in parts_of(prepared(graph), Forms(TARGET.machine))
             for unit in part.units)
    return [len(unit.nodes) for unit in units if unit.nodes[0].op.startswith("few_rows")]


def regions(graph):
    (segment,) = TARGET.program(prepared(graph), "t").segments.values()
    return segment.regions


#: Rows, inner length, columns.
SIZES = [(20, 160, 170), (3, 333, 601), (7, 650, 129), (33, 64, 259), (2, 1030, 257)]


def several(size, dtype="f", turned=False, count=5, lead=()):
    m, k, n = size
    b, w = Building(), array("w", *((n, k) if turned else (k, n)), dtype=dtype)
    right = b.transpose(w) if turned else w
    xs = [array("x" * (j + 1), *lead, m, k, dtype=dtype) for j in range(count)]
    op = b.few_rows_matmul if lead else b.few_rows
    return b.graph((w, *xs), *(op(b.tanh(x), right) for x in xs))


@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("size", SIZES)
def test_products_of_one_matrix(size, dtype, turned, lead):
    graph = several(size, dtype, turned, lead=lead)
    assert order(graph) == [5]
    check(graph)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_threads_change_nothing(threads, monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "threads", lambda: threads)
    graph = several((20, 650, 1300), turned=True)
    *_, alone = regions(several((20, 650, 1300), turned=True, count=1))
    *_, together = regions(graph)
    assert len(together.steps) == 5 * len(alone.steps) and together.tile > alone.tile
    assert together.rows == alone.rows and together.touched == 5 * alone.touched
    check(graph)


@pytest.mark.parametrize("turned", [True, False])
def test_no_result_takes_the_memory_of_a_factor(turned):
    """All factors are read until the last columns are done, though nothing else reads them."""
    b, w = Building(), array("w", 650, 650)
    right = b.transpose(w) if turned else w
    xs = [array("x" * (j + 1), 20, 650) for j in range(5)]
    factors = [b.tanh(x) for x in xs]
    graph = b.graph((w, *xs), *(b.negative(b.few_rows(x, right)) for x in factors))
    assert order(graph) == [5]
    check(graph)


def test_other_layouts_are_done_by_themselves():
    b, w, x, y = Building(), array("w", 300, 300), array("x", 20, 300), array("y", 21, 300)
    products = [b.few_rows(z, right) for z in (x, y) for right in (w, b.transpose(w))]
    graph = b.graph((w, x, y), *products)
    assert order(graph) == [1, 1, 1, 1]
    check(graph)


def test_what_one_gives_another_needs():
    """Also where memory is used again: each result is the next one's factor."""
    b, w, x = Building(), array("w", 200, 200), array("x", 20, 200)
    one = functools.reduce(lambda h, _: b.tanh(b.few_rows(h, w)), range(4), x)
    graph = b.graph((w, x), b.add(one, b.few_rows(b.negative(x), w)))
    assert order(graph) == [2, 1, 1, 1]
    check(graph)


def recurrent(steps, rows, units, results):
    """What a state gives in each step, which nothing else waits for."""
    b, across, out = Building(), array("w", units, units), array("ww", units, results)
    h, found = array("x", rows, units), []
    inputs = across, out, h
    for _ in range(steps):
        h = b.tanh(b.few_rows(h, across))
        found.append(b.few_rows(h, out))
    return b.graph(inputs, *found)


def test_products_wait_for_others_with_their_matrix():
    graph = recurrent(5, 20, 600, 150)
    assert order(graph) == [1] * 5 + [5]
    check(graph)


def test_a_part_of_the_size_of_a_matrix_waits():
    """Else a program has more in memory than define-by-run, which frees each result."""
    steps, rows, units = 9, 50, 300
    most = -(-units // (rows * MOST_WAITING))
    assert 1 < most < steps
    found = order(recurrent(steps, rows, units, 150))
    assert max(found) == most and sum(found) == 2 * steps
    check(recurrent(steps, rows, units, 150))


def test_products_that_no_others_resemble_do_not_wait():
    """Gradients of weights come with those of inputs: what both read is free after them."""
    b, gy = Building(), array("gy", 20, 300)
    inputs, found = [gy], []
    for k in range(3):
        w, x = array(f"w{k}", 300, 300), array(f"x{k}", 20, 300)
        inputs += w, x
        found.append(b.few_rows(b.transpose(gy), x))
        gy = b.tanh(b.few_rows(gy, w))
    graph = b.graph(inputs, *found, gy)
    places = [node for part in parts_of(prepared(graph), Forms(TARGET.machine))
              for unit in part.units for node in unit.nodes if node.op == "few_rows"]
    assert [node.dims for node in places] == [(300, 300), (20, 300)] * 3
    check(graph)


def test_warnings_are_those_of_each():
    graph = several((20, 160, 170), lead=(2,), count=3)
    values = [floats(x) for x in graph.inputs]
    values[0][:] = 0
    values[0][3] = np.inf
    for x in values[1:]:
        x[..., 3] = 1
    values[2][0, 0, 3] = 0
    program = TARGET.program(prepared(graph), "t")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run(program, *values)
    assert [str(w.message) for w in found] == ["invalid value encountered in matmul"]
