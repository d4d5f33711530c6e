"""Graphs of any sizes from recordings at several ones."""

import numpy as np
import pytest

from chainwright.ir import Graph, Slot, literal, make, placeholder
from chainwright.ir.build import build
from chainwright.ir.make import constant
from chainwright.ir.passes import drop_dead, merge_common
from chainwright.ir.size import Share, Size, at
from chainwright.ir.unify import Different, Unified, fit, fit_share, fit_value

PROBES = [(7, 11), (2, 2), (3, 2), (2, 5), (13, 13)]
N, M = Size(7, (((0,), 1),)), Size(11, (((1,), 1),))


def unified(record, probes=PROBES):
    """The graph of any sizes of ``record(*sizes)``, which gives nodes and outputs."""
    return Unified(probes).graph([record(*probe) for probe in probes])


def graph_of(*outputs, inputs):
    """A graph of what the outputs are computed from."""
    nodes = {}

    def visit(node):
        for source in node.inputs:
            visit(source)
        if not node.is_leaf:
            nodes[node] = None

    for node in outputs:
        visit(node)
    return Graph(tuple(inputs), tuple(nodes), tuple(outputs), "f")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda n, m: 5, "5"),
        (lambda n, m: m, "size1"),
        (lambda n, m: 3 * n, "(3 * size0)"),
        (lambda n, m: n + 2, "(size0 + 2)"),
        (lambda n, m: 2 * n - 1, "(2 * size0 - 1)"),
        (lambda n, m: n * m, "(size0 * size1)"),
        (lambda n, m: 4 * n * n, "(4 * size0 * size0)"),
        (lambda n, m: n + m, "(size0 + size1)"),
        (lambda n, m: m - n, "(- size0 + size1)"),
        (lambda n, m: 2 * n + 3 * m + 1, "(2 * size0 + 3 * size1 + 1)"),
    ],
)
def test_polynomials_are_found(value, text):
    made = fit([value(*probe) for probe in PROBES], PROBES)
    assert repr(made) == text
    assert at(made, (101, 103)) == value(101, 103)
    assert eval(repr(made), {"size0": 101, "size1": 103}) == value(101, 103)


@pytest.mark.parametrize("value", [min, max, lambda n, m: n // 2, lambda n, m: n % 3])
def test_what_is_no_polynomial_is_none(value):
    assert fit([value(*probe) for probe in PROBES], PROBES) is None


def _many(n=20, count=8):
    return [tuple(p) for p in np.random.RandomState(0).randint(2, 30, (count, n)).tolist()]


@pytest.mark.parametrize(
    "value, text",
    [
        (lambda p: 5, "5"),
        (lambda p: p[13], "size13"),
        (lambda p: 12 * p[3] + 4, "(12 * size3 + 4)"),
        (lambda p: sum(p[4:7]), "(size4 + size5 + size6)"),
        (lambda p: 48 * (p[18] + p[19]) - 8, "(48 * size18 + 48 * size19 - 8)"),
        (lambda p: p[1] + p[3] + p[5], "(size1 + size3 + size5)"),
        (lambda p: sum(p[2:9:3]), "(size2 + size5 + size8)"),
        (lambda p: 7 - p[2], "(- size2 + 7)"),
    ],
)
def test_sums_of_many_symbols(value, text):
    probes = _many()
    made = fit([value(p) for p in probes], probes)
    assert repr(made) == text
    assert at(made, range(100, 120)) == value(range(100, 120))


@pytest.mark.parametrize("value", [max, lambda p: p[1] * p[2], lambda p: p[0] + p[2] + p[3]])
def test_what_is_no_sum_of_many_symbols_is_none(value):
    probes = _many()
    assert fit([value(p) for p in probes], probes) is None


def test_a_sum_of_as_many_symbols_as_probes_is_not_believed():
    probes = [(2, 3), (5, 4), (7, 9)]
    assert fit([1, 10, 4], probes) is None


def test_sizes_are_equal_by_what_they_are():
    same = Size(7, (((1,), 1),))
    assert N != same and N not in ("7", 7) and len({(N, 3), (same, 3)}) == 2
    assert (N, 3) != (7, 3) and N == Size(7, (((0,), 1),))
    assert at([(N, slice(0, M)), Share(1.0, N)], (4, 5)) == [(4, slice(0, 5)), 0.25]
    assert Share(1.0, N) != Share(1.0, same) and Share(1.0, N) != 1 / 7
    assert Share(1.0, N) == Share(1.0, Size(7, N.terms)) != Share(-1.0, N)


def test_shares_are_found_with_their_rounding():
    thirds = [1 / n for n, _ in PROBES]
    assert repr(fit_share(thirds, PROBES)) == "(1.0 / size0)"
    single = [float(np.float32(1 / (n * m))) for n, m in PROBES]
    assert fit_share(single, PROBES) is None
    found = fit_share(single, PROBES, lambda x: float(np.float32(x)))
    assert repr(found) == "(1.0 / (size0 * size1))"
    assert fit_share([0.1, 0.2, 0.3, 0.4, 0.5], PROBES) is None


@pytest.mark.parametrize("values", [
    [0.0, 0.5, 1.0, 2.0, 3.0], [3.0, 0.5, 0.2, 0.1, 0.7], [1.0, 1.0 + 2**-52, 1.0, 1.0, 1.0],
    [5e-324, 1.0, 2e-308, 1e308, 1.0], [1.0, -1.0, 1.0, -1.0, 2.0]])
def test_numbers_that_are_no_shares(values):
    assert fit_share(values, PROBES) is None
    assert np.isnan(Share(1.0, Size(0, N.terms))) and np.isnan(
        Share(1.0, Size(1, N.terms), unbiased=True))


@pytest.mark.parametrize("factor", [0.1, 1 - 0.9, 1 - 2e-5, 1.0, -3.7])
@pytest.mark.parametrize("count", [lambda n, m: n * 64, lambda n, m: n * m * 49, lambda n, m: m])
def test_what_makes_a_variance_unbiased(factor, count):
    probes = [(64, 12), (5, 3), (2, 30), (100, 50), (33, 4)]
    counts = [count(*p) for p in probes]
    values = [factor * (n / max(n - 1.0, 1.0)) for n in counts]
    found = fit_share(values, probes)
    assert [found.at(p).hex() for p in probes] == [v.hex() for v in values]
    assert found.size.at((9, 11)) == count(9, 11)
    assert fit_share([*values[:-1], values[-1] + 1e-15], probes) is None


def test_nested_values():
    values = [(slice(0, n), None, [m, 2]) for n, m in PROBES]
    assert fit_value(values, PROBES) == (slice(0, N), None, [M, 2])
    for other in (1.5, "2", True, (1,)):
        with pytest.raises(Different):
            fit_value([*values[:-1], (slice(0, 13), None, [13, other])], PROBES)


def record(n, m):
    x = placeholder("x", (n, m), "f4")
    y = make("reshape", x, shape=(n * m,))
    z = make("multiply", y, literal(1.0 / n))
    part = make("getitem", z, index=(slice(0, m),))
    every = make("getitem", x, constant(np.arange(n)), index=(Slot(0), 0))
    return graph_of(part, every, inputs=[x])


def test_text_of_a_graph_of_any_sizes():
    text = str(unified(record))
    assert "f32[(size0 * size1)] = reshape" in text
    assert "multiply %2 (1.0 / size0)" in text
    assert "0:size1" in text and "call args=(size0,)" in text


def test_passes_that_do_not_look_at_sizes_keep_them():
    built = build(unified(record), {}, (), (drop_dead, merge_common, drop_dead))
    shapes = [node.shape for node in built.forward.nodes if node.op == "reshape"]
    assert [type(n) for n in shapes[0]] == [Size]


def test_nodes_of_other_sizes_that_are_equal_at_the_first_probe_stay_apart():
    def square(n, m):
        x = placeholder("x", (n, m), "f4")
        one, other = (make("zeros", shape=(k, 3), dtype="f4") for k in (n, m))
        first, second = (make("negative", z) for z in (one, other))
        return graph_of(first, second, inputs=[x])

    graph = unified(square, [(7, 7), *PROBES])
    assert [node.shape for node in merge_common(graph).outputs] == [(N, 3), (Size(7, M.terms), 3)]


def test_numbers_that_are_equal_at_the_first_probe_stay_apart():
    def halves(n, m):
        x = placeholder("x", (n, m), "f4")
        factors = [literal(1.0 / n), literal(1.0 / m), literal(0.125), literal(m), literal(8)]
        return graph_of(*[make("multiply", x, f) for f in factors], inputs=[x])

    built = build(unified(halves, [(8, 8), *PROBES]), {}, (), (merge_common,))
    assert len({id(node) for node in built.forward.outputs}) == 5


def test_arrays_of_one_value_are_filled_at_any_size():
    def filled(n, m):
        x = placeholder("x", (n, m), "f4")
        return graph_of(make("add", x, constant(np.full((n, 1), -0.0, "f"))), inputs=[x])

    assert "args=((size0, 1), -0.0)" in str(unified(filled))

    def counted(n, m):
        return graph_of(constant(np.arange(2 * n)[::2]), inputs=[])

    with pytest.raises(Different, match="a constant of"):
        unified(counted)


def broadcast_of_one(n, m):
    x = placeholder("x", (n, m), "f4")
    return graph_of(make("sum", x, axis=0) if n > 2 else make("negative", x), inputs=[x])


def number_of_its_own(n, m):
    x = placeholder("x", (n, m), "f4")
    return graph_of(make("multiply", x, literal(0.5 if n < 10 else 0.25)), inputs=[x])


def other_order(n, m):
    order = (1, 0) if n == 13 else None
    x = placeholder("x", (n, m), "f4", (4, 4 * n) if order else None)
    return graph_of(make("negative", x), inputs=[x])


def table_of_another_size(n, m):
    x = placeholder("x", (n, m), "f4")
    return graph_of(make("multiply", x, constant(np.arange(m, dtype="f4") ** 2)), inputs=[x])


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (broadcast_of_one, "another op"),
        (number_of_its_own, "0.25"),
        (other_order, "another layout"),
        (table_of_another_size, "a constant of"),
    ],
)
def test_what_differs_in_more_than_lengths_is_refused(record, why):
    with pytest.raises(Different, match=why):
        unified(record)


def test_a_first_probe_with_length_one_is_refused():
    with pytest.raises(Different, match="is 1"):
        Unified([(1, 2), (3, 4)])


def test_axes_of_length_one_at_other_probes_have_any_stride():
    def columns(n, m):
        x = placeholder("x", (n, m), "f4", (4 * m, 4 if m > 1 else 40))
        return graph_of(make("negative", x, strides=(4 * m, 4)), inputs=[x])

    assert unified(columns, [*PROBES, (5, 1)]).outputs[0].shape == (N, M)
