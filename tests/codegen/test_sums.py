"""Sums of products and of tables are one step of native code, with the bits of the sums."""

import functools
import operator
import warnings

import numpy as np
import pytest
from ir_graphs import Building, array

import chainwright.runtime.kernels.embedding  # noqa: F401 - the row of add_rows
from chainwright.ir import build, interpret, placeholder
from chainwright.runtime import options
from chainwright.runtime.native import native_target, own_products

TARGET = native_target()
pytestmark = pytest.mark.skipif(
    TARGET is None or own_products() is None, reason="there are no products of our own here"
)
RNG = np.random.default_rng(0)


def prepared(graph):
    return build(graph, {}, TARGET.passes).forward


def run(program, *values):
    loaded = program.load()
    return loaded.function(*values, loaded.new_scratch(), loaded.new_kept())


def ops(graph):
    return [node.op for node in prepared(graph).nodes if node.op not in ("reshape", "empty")]


def check(graph, *values):
    wanted = interpret(graph, *values)
    for got, right in zip(run(TARGET.program(prepared(graph), "t"), *values), wanted, strict=True):
        assert got.strides == right.strides and got.tobytes() == right.tobytes()


def floats(*shape, dtype="f"):
    return RNG.standard_normal(shape).astype(dtype)


class Products:
    """Pairs ``gy.T, x`` as the gradients of a matrix have them, and their sums."""

    def __init__(self, terms, m, k, n, dtype="f"):
        self.b, self.inputs, self.values = Building(), [], []
        self.terms = [self._term(m, k, n, dtype) for _ in range(terms)]

    def array(self, *shape, dtype="f"):
        x = array(f"x{len(self.inputs)}", *shape, dtype=dtype)
        self.inputs.append(x)
        self.values.append(floats(*shape, dtype=dtype))
        return x

    def _term(self, m, k, n, dtype):
        gy, x = self.array(k, m, dtype=dtype), self.array(k, n, dtype=dtype)
        return self.b.few_rows(self.b.transpose(gy), x)

    def graph(self, *outputs):
        return self.b.graph(self.inputs, *outputs)

    def check(self, *outputs):
        check(self.graph(*outputs), *self.values)


def chain(b, terms):
    return functools.reduce(b.add, terms)


SIZES = [(160, 20, 170), (33, 64, 259), (300, 7, 257), (1030, 3, 180), (64, 33, 257)]


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("terms", [2, 3, 5, 6, 11])
@pytest.mark.parametrize("size", SIZES)
def test_sums_of_products(size, terms, dtype):
    p = Products(terms, *size, dtype)
    total = chain(p.b, p.terms)
    assert ops(p.graph(total)).count("few_rows_sum") == 1
    assert "add" not in ops(p.graph(total))
    p.check(total)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("terms", [2, 7])
def test_what_they_are_added_to(terms, first):
    """Whichever operand of an addition is the product."""
    p = Products(terms, 160, 20, 170)
    total = p.b.tanh(p.array(160, 170))
    for term in p.terms:
        total = p.b.add(total, term) if first else p.b.add(term, total)
    assert "add" not in ops(p.graph(total))
    p.check(total)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_threads_change_nothing(threads, monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "threads", lambda: threads)
    p = Products(9, 300, 20, 650)
    p.check(chain(p.b, p.terms))


def test_several_sums_of_one_graph():
    p = Products(4, 160, 20, 170)
    q = [p._term(200, 16, 180, "f") for _ in range(3)]
    sums = chain(p.b, p.terms), chain(p.b, q)
    assert ops(p.graph(*sums)).count("few_rows_sum") == 2
    p.check(*sums)


def test_what_reads_a_sum_and_what_it_reads():
    """The sum of one is a factor of the other's terms."""
    p = Products(3, 160, 20, 170)
    inner = p.b.tanh(chain(p.b, p.terms))
    more = [p.b.few_rows(p.b.transpose(p.array(20, 160)), p.array(20, 170)) for _ in range(2)]
    last = p.b.multiply(chain(p.b, more), inner)
    p.check(inner, last)


def test_a_sum_with_two_readers_stays():
    p = Products(3, 160, 20, 170)
    part = p.b.add(p.terms[0], p.terms[1])
    total = p.b.add(part, p.terms[2])
    found = ops(p.graph(part, total))
    assert found.count("few_rows_sum") == 1 and found.count("add") == 1
    p.check(part, total)


def test_a_term_with_two_readers_stays():
    p = Products(2, 160, 20, 170)
    total = chain(p.b, p.terms)
    assert "few_rows_sum" not in ops(p.graph(total, p.terms[1]))
    p.check(total, p.terms[1])


@pytest.mark.parametrize("sizes", [[(160, 65, 170)] * 2, [(160, 20, 170), (160, 30, 170)]])
def test_other_products_stay(sizes):
    """More inner indices than are one sum; terms of different layouts."""
    p = Products(0, 1, 1, 1)
    total = chain(p.b, [p._term(*size, "f") for size in sizes])
    assert "few_rows_sum" not in ops(p.graph(total))
    p.check(total)


BAD = {
    "a sum that overflows": 3e38, "an infinite product": np.inf,
    "a product that is no number": np.nan,
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_warnings_are_those_of_numpy(case):
    """Of sums, and of products where this NumPy's ``dot`` warns."""
    number = BAD[case]
    p = Products(3, 160, 20, 170)
    for x in p.values:
        x[:] = 0
    for k in (0, 2):
        p.values[k][0, 5] = number
        p.values[k + 1][0, 7] = 1
    graph = p.graph(chain(p.b, p.terms))
    program = TARGET.program(prepared(graph), "t")

    def warned(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            (total,) = call()
        return total, sorted({str(w.message) for w in found})

    total, told = warned(lambda: run(program, *p.values))
    wanted, numpys = warned(lambda: interpret(graph, *p.values))
    assert told == numpys and ("overflow encountered in add" in told) is (number == 3e38)
    np.testing.assert_array_equal(total, wanted)


# -- tables --------------------------------------------------------------------------------------


def tables(kwargs, ids, steps=None, dtype="f"):
    """A graph of a sum of tables, and what it gets."""
    b, inputs, values, terms = Building(), [], [], []
    for k, where in enumerate(ids):
        rows = array(f"rows{k}", *where.shape, 6, dtype=dtype)
        i = placeholder(f"i{k}", where.shape, where.dtype, where.strides)
        terms.append(b.add_rows(rows, i, kwargs=kwargs, shape=(9, 6), dtype=dtype))
        inputs += rows, i
        values += floats(*rows.dims, dtype=dtype), where
    return b.graph(inputs, chain(b, terms)), values


def places(*shape, dtype="i"):
    return RNG.integers(-9, 9, shape).astype(dtype)


IDS = {
    "once": [np.arange(4, dtype="i") + k for k in range(5)],
    "again and again": [places(40) for _ in range(6)],
    "two": [places(3), places(3)],
    "of several axes": [places(4, 5, dtype="l") for _ in range(3)],
    "columns": list(places(20, 7).T),
}


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("ignore", [None, -1, 3])
@pytest.mark.parametrize("ids", IDS)
def test_sums_of_tables(ids, ignore, dtype):
    graph, values = tables((("length", 9), ("ignore_label", ignore)), IDS[ids], dtype=dtype)
    assert ops(graph) == ["add_rows_sum"]
    check(graph, *values)


def test_signs_of_zeros():
    graph, values = tables((("length", 9),), IDS["again and again"])
    for rows in values[::2]:
        rows[:] = -0.0
    check(graph, *values)


def test_tables_added_to_something_stay():
    """It may be -0.0, where 0.0 is added everywhere."""
    graph, values = tables((("length", 9),), IDS["two"])
    start = array("start", 9, 6)
    b = Building()
    b.nodes = list(graph.nodes[:-1])
    first, second = (node for node in b.nodes if node.op == "add_rows")
    graph = b.graph((*graph.inputs, start), b.add(b.add(start, first), second))
    assert "add_rows_sum" not in ops(graph)
    check(graph, *values, np.full((9, 6), -0.0, "f"))


def test_tables_of_rows_out_of_bounds():
    graph, values = tables((("length", 9),), IDS["two"])
    values[3] = np.array([0, 9, 1], "i")
    with pytest.raises(IndexError):
        run(TARGET.program(prepared(graph), "t"), *values)


def test_as_calls_of_numpy():
    """What stands in for native code."""
    graph, values = tables((("length", 9),), IDS["again and again"])
    (node,) = [node for node in prepared(graph).nodes if node.op == "add_rows_sum"]
    added = chainwright.runtime.kernels.embedding.add_rows
    pairs = list(zip(values[::2], values[1::2], strict=True))
    wanted = functools.reduce(operator.add, (added(*pair, length=9) for pair in pairs))
    found = chainwright.runtime.kernels.embedding.add_rows_sum(*values, length=9)
    assert node.shape == wanted.shape and found.tobytes() == wanted.tobytes()
