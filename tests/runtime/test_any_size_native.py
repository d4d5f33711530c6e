"""Native code for arrays of any sizes: the bits of NumPy's calls, or NumPy's calls."""

import numpy as np
import pytest
from test_any_size import PROBES, inputs_of, recorded

from chainwright.codegen.native_target import any_size as native
from chainwright.codegen.native_target.any_size import Tables, Written, any_size_program
from chainwright.ir import Graph, make, placeholder
from chainwright.ir.instance import graph_at
from chainwright.ir.passes import prepare
from chainwright.ir.size import Size
from chainwright.ir.unify import Different, Unified
from chainwright.runtime.any_size import AT_PROBES, AnySizeSchedule
from chainwright.runtime.background import BACKGROUND
from chainwright.runtime.native import native_target
from chainwright.runtime.options import OPTIONS

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")
GY = (np.float32(0.7) * np.ones((), "f"),)
SOON = [(5, 9), (12, 3), (3, 20), (8, 8)]


@pytest.fixture(autouse=True)
def target(monkeypatch):
    monkeypatch.setattr(OPTIONS, "target", lambda: "native")
    monkeypatch.setattr(OPTIONS, "budget", lambda: None)


def probes_between(least, largest, seen):
    """As compiled methods give them: in the middle, the corners, and what calls had."""
    (a, b), (c, d) = least, largest
    return list(dict.fromkeys([(7, 11), least, largest, (a, d), (c, b), *seen]))


def schedule(probes=probes_between):
    pairs = [recorded(*probe) for probe in PROBES]
    graphs = Unified(PROBES)
    forward = graphs.graph([pair[0] for pair in pairs])
    backward = graphs.graph([pair[1] for pair in pairs])
    return AnySizeSchedule(forward, {"all": backward}, 2, "an example", probes)


def results(made, sizes, seed=3, change=None):
    arrays = inputs_of(*sizes, seed=seed)
    if change is not None:
        change(*arrays)
    found, kept = made.forward((*sizes, *arrays))
    return [*found, *made.backwards["all"](kept.values, GY)]


def same(one, other):
    return all(
        (a.shape, a.dtype, a.strides, a.tobytes()) == (b.shape, b.dtype, b.strides, b.tobytes())
        for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def plain():
    return schedule(None)


@pytest.fixture
def made():
    found = schedule()
    for k, sizes in enumerate(SOON):
        results(found, sizes, k)
    assert found._native is not None
    return found


@pytest.mark.parametrize("sizes", [(3, 3), (4, 7), (5, 20), (12, 20), (11, 17), (3, 19), (12, 3)])
def test_same_bits_within_the_sizes_that_have_come(made, plain, sizes):
    for seed in range(5):
        assert same(results(made, sizes, seed), results(plain, sizes, seed))
    assert not made._native._is_wrong and not made.backwards["all"].native._is_wrong
    assert made._native.takes(sizes) and made._native._compared == 3


@pytest.mark.parametrize("sizes", [(2, 9), (13, 9), (40, 2), (5, 21), (30, 30)])
def test_other_sizes_are_numpys(made, plain, sizes):
    assert not made._native.takes(sizes)
    assert same(results(made, sizes), results(plain, sizes))


def test_many_calls_of_other_sizes_have_native_code_made_anew(made, plain):
    for k in range(60):
        sizes = 20 + k % 7, 30 + k % 5
        assert same(results(made, sizes, k), results(plain, sizes, k))
    assert made._native.takes((24, 32)) and made._native.takes((4, 5))
    assert made._made == 2


@pytest.fixture
def jobs(monkeypatch):
    """What is to be compiled in the background, which does not come to it."""
    found = []
    monkeypatch.setattr(OPTIONS, "target", lambda: "auto")
    monkeypatch.setattr(BACKGROUND, "do", found.append)
    return found


def test_it_is_made_once_at_a_time_however_many_calls_come_meanwhile(jobs):
    made = schedule()
    for sizes in 4 * SOON:
        results(made, sizes)
    assert len(jobs) == 1
    jobs.pop()()
    for k in range(200):
        results(made, (20 + k % 7, 30 + k % 5))
    assert len(jobs) == 1 and made._made == 1
    jobs.pop()()
    for k in range(200):
        results(made, (20 + k % 7, 30 + k % 5))
    assert not jobs and made._made == 2


def test_calls_of_one_row_have_no_native_code_made(jobs):
    made = schedule()
    for k in range(100):
        results(made, (1, 2 + k % 9))
    assert not jobs
    for sizes in 4 * SOON:
        results(made, sizes)
    jobs.pop()()
    for k in range(100):
        results(made, (1 + 4 * (k % 2), 3 + k % 9))
    assert not jobs and made._made == 1 and made._native.takes((5, 8))


def test_what_numpy_warns_of_it_warns_of_once(made, plain):
    def large(x, w, t):
        x[:] = 3e38

    for k in range(4):
        results(made, (5, 9), k)
    with pytest.warns(RuntimeWarning, match="overflow") as caught:
        found = results(made, (5, 9), 0, large)
    with np.errstate(all="ignore"):
        assert same(found, results(plain, (5, 9), 0, large))
    assert len({str(w.message) for w in caught}) == len(caught)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        results(made, (5, 9), 0, large)


def test_what_numpy_refuses_it_refuses(made):
    def wrong(x, w, t):
        t[0, 0] = 99

    for k in range(4):
        results(made, (5, 9), k)
    with pytest.raises(IndexError):
        results(made, (5, 9), 0, wrong)


def test_native_code_that_is_wrong_is_not_used(plain, monkeypatch, caplog):
    given = native.Tables.__call__

    def other(self, sizes):
        tables = given(self, sizes)
        if sizes == (6, 7):
            raise AssertionError("it is used")
        return tables

    made = schedule()
    for k, sizes in enumerate(SOON):
        results(made, sizes, k)
    run = made._native.runner.run
    made._native._compared = 0
    wrong = [y + 1 if y.dtype.kind == "f" else y for y in run(
        made._native.runner.function, (5, 9, *inputs_of(5, 9)))]
    monkeypatch.setattr(type(made._native.runner), "run", lambda self, *args: tuple(wrong))
    wanted = results(plain, (5, 9), 0)
    assert same(results(made, (5, 9), 0)[:2], wanted[:2])
    assert "gave other bits" in caplog.text
    monkeypatch.undo()
    monkeypatch.setattr(native.Tables, "__call__", other)
    assert same(results(made, (6, 7), 0), results(plain, (6, 7), 0))


def test_too_little_memory_is_numpys(made, plain):
    """Bounds are those of calls; within them another length may be the largest."""
    tables = next(
        value for value in made._native.runner.function.__globals__.values()
        if type(value) is Tables)
    tables._have[:] = 0
    assert same(results(made, (6, 13)), results(plain, (6, 13)))
    with pytest.raises(native.Elsewhere):
        tables((6, 14))


def program(build, probes):
    def graph_at(probe):
        g = prepare(build(*probe), (*AT_PROBES, *native_target().passes))
        symbols = [placeholder(f"size{k}", (), "i8") for k in range(2)]
        return Graph((*symbols, *g.inputs), g.nodes, g.outputs, g.name, g.groups)

    return any_size_program(Written(graph_at, probes, native_target(), "an example"), ())


def spaced(n, m, width=24):
    """A part of wider rows, and the sum of all its items."""
    x = placeholder("x", (n, m), "f4", (4 * width, 4))
    y = make("multiply", x, x, order=(0, 1))
    total = make("sum", x, axis=None)
    return Graph((x,), (y, total), (y, total), "f")


def test_rows_that_happen_to_lie_side_by_side_are_numpys():
    """NumPy adds them up as one row then, in another order."""
    probes = [(5, 7), (3, 4), (9, 40), (9, 4), (3, 40)]
    function = program(spaced, probes).load()
    for n, m in ((4, 6), (8, 23), (6, 25)):
        base = np.random.RandomState(m).randn(n * 24 + m).astype("f")
        x = np.lib.stride_tricks.as_strided(base, (n, m), (96, 4))
        _, total = function.function(n, m, x, function.new_scratch(), ())
        assert total.tobytes() == x.sum().tobytes()
    x = np.random.RandomState(0).randn(8, 24).astype("f")
    with pytest.raises(native.Elsewhere):
        function.function(8, 24, x, function.new_scratch(), ())


def test_a_layout_that_differs_at_a_probe_is_refused():
    with pytest.raises(Different):
        program(spaced, [(5, 7), (3, 4), (9, 24), (9, 4), (3, 24)])


def test_other_nodes_are_refused():
    def build(n, m):
        x = placeholder("x", (n, m), "f4")
        y = make("tanh" if n > 6 else "exp", x)
        return Graph((x,), (y,), (y,), "f")

    with pytest.raises(Different):
        program(build, [(5, 7), (3, 4), (9, 24), (9, 4)])


def test_instances_have_the_layouts_of_recordings():
    pairs = [recorded(*probe) for probe in PROBES]
    unified = Unified(PROBES).graph([pair[0] for pair in pairs])
    for probe, (graph, _) in zip(PROBES, pairs, strict=True):
        if 1 not in probe:  # axes of one may have any stride
            layouts = [(x.op, x.shape, x.dtype, x.strides) for x in graph_at(unified, probe).nodes]
            for node in graph.nodes:
                assert (node.op, node.shape, node.dtype, node.strides) in layouts


def test_a_layout_that_is_not_known_is_refused():
    n = Size(7, (((0,), 1),))
    x = placeholder("x", (n, 3), "f4", (48, 16))
    with pytest.raises(Different, match="layout"):
        graph_at(Graph((x,), (), (x,), "f"), (9,))


def test_what_is_in_vain_ends_early():
    """Where the least sizes or the largest need other buffers, the rest are not looked at."""
    seen = []

    def build(n, m):
        seen.append(n)
        x = placeholder("x", (n, m), "f4")
        nodes = [make("matmul", x, make("transpose", x))]
        for _ in range(2 if n > 50 else 0):
            nodes.append(make("matmul", nodes[-1], nodes[-1]))
        return Graph((x,), (nodes[0].inputs[1], *nodes), (nodes[-1],), "f")

    probes = [(n, 7) for n in (7, 6, 5, 4, 60, 8, 9)]
    with pytest.raises(Different):
        program(build, probes)
    assert seen == [7, 4, 60]
