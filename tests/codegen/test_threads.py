"""Native code by several threads: the bits do not depend on their number."""

import ctypes
import os
import sys
import threading
import warnings

import numpy as np
import pytest
from ir_graphs import Building, array, values_of
from test_random_graphs import STYLES, grow, like, picked, plain_nans, recorder_of

from chainwright.codegen.native_target import driver, groups, program
from chainwright.ir import Graph, build, interpret
from chainwright.runtime.native import native_target
from chainwright.runtime.options import OPTIONS, blas_threads

TARGET = native_target()
pytestmark = pytest.mark.skipif(
    TARGET is None or not sys.platform.startswith("linux"), reason="there are no threads here"
)
NUMBERS = 1, 2, 3, 5


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Regions of any size are shared, a few rows at a time."""
    monkeypatch.setattr(program, "SHARED_BYTES", 1)
    monkeypatch.setattr(groups, "TILE_BYTES", 400)
    monkeypatch.setattr(groups, "ALONE_BYTES", 800)
    monkeypatch.setattr(groups, "COLUMN_BYTES", 100)


@pytest.fixture
def threads(monkeypatch):
    """Sets the number of threads."""
    return lambda number: monkeypatch.setattr(OPTIONS, "threads", lambda: number)


def local_values(rows, width):
    x, w, b = array("x", rows, width), array("w", width), Building()
    return b.graph((x, w), b.multiply(b.tanh(b.multiply(x, w)), x))


def softmax(rows, width):
    x, b = array("x", rows, width), Building()
    e = b.exp(b.subtract(x, b.max(x, axis=1, keepdims=True)))
    return b.graph((x,), b.divide(e, b.sum(e, axis=1, keepdims=True)))


def one_call(rows, width):
    x, b = array("x", rows, width), Building()
    return b.graph((x,), b.exp(x))


def one_loop(rows, width):
    x, y, b = array("x", rows, width), array("y", width, rows), Building()
    return b.graph((x, y), b.add(x, b.transpose(y)))


def sums_over_rows(rows, width):
    """Threads take turns: the order of the sums is that of the rows."""
    x, w, b = array("x", rows, width), array("w", width), Building()
    y = b.tanh(b.multiply(x, w))
    return b.graph((x, w), b.sum(y, axis=0), b.add(y, 1.0))


def normalized(rows, width):
    """Sums of rows and over them, among each other: the gradient of layer normalization."""
    x, g, w, b = array("x", rows, width), array("g", rows, width), array("w", width), Building()
    h = b.multiply(g, w)
    c = b.subtract(h, b.multiply(b.sum(h, axis=1, keepdims=True), 0.1))
    d = b.multiply(x, b.sum(b.multiply(c, x), axis=1, keepdims=True))
    return b.graph(
        (x, g, w), b.subtract(c, d), b.sum(g, axis=0), b.sum(b.multiply(g, x), axis=0)
    )


def one_sum_of_rows(rows, width):
    x, b = array("x", rows, width), Building()
    return b.graph((x,), b.sum(x, axis=1))


def one_maximum(rows, width):
    x, b = array("x", rows, 3, width), Building()
    return b.graph((x,), b.max(x, axis=(1, 2), keepdims=True))


def one_sum_over_rows(rows, width):
    x, b = array("x", width, 4 * rows), Building()
    return b.graph((x,), b.sum(x, axis=0))


def one_sum_across(rows, width):
    """The sums of columns that lie row by row: NumPy adds whole rows, in their order."""
    x, b = array("x", width, 4 * rows), Building()
    return b.graph((x,), b.sum(b.transpose(x), axis=1))


GRAPHS = [
    local_values, softmax, one_call, one_loop, sums_over_rows, normalized, one_sum_of_rows,
    one_maximum, one_sum_over_rows, one_sum_across,
]


def loaded(graph):
    built = build(graph, {}, TARGET.passes)
    made = TARGET.program(built.forward, "test", len(built.saved))
    return made, made.load()


def run(one, *values):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = one.function(*values, one.new_scratch(), one.new_kept())
    return [plain_nans(a).tobytes() for a in results]


@pytest.mark.parametrize("make", GRAPHS)
@pytest.mark.parametrize("rows", [3, 200, 1001])
def test_any_number_of_threads(make, rows, threads):
    graph = make(rows, 37)
    made, one = loaded(graph)
    shares = any(segment.shares for segment in made.segments.values())
    assert rows == 3 or shares
    values = values_of(graph)
    wanted = [np.asarray(a).tobytes() for a in interpret(graph, *values)]
    for number in NUMBERS:
        threads(number)
        for _ in range(5):
            assert run(one, *values) == wanted, number


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("style", ["rows", "planes"])
def test_random_graphs(seed, style, threads):
    recorder = recorder_of(seed, *STYLES[style])
    grow(recorder, 20)
    outputs = tuple(picked(recorder) for _ in range(4))
    _, one = loaded(Graph(tuple(recorder.inputs), tuple(recorder.nodes), outputs))
    arrays = [like(recorder.rng, recorder.values[node]) for node in recorder.inputs]
    found = []
    for number in NUMBERS:
        threads(number)
        np.random.seed(3)
        found.append(run(one, *arrays))
    assert all(f == found[0] for f in found)


def items(pool):
    return (ctypes.c_int64 * driver.POOL_ITEMS).from_address(pool)


def test_threads_take_part(threads):
    graph = local_values(4000, 50)
    _, one = loaded(graph)
    threads(4)
    values = values_of(graph)
    run(one, *values)
    pool = items(TARGET.linker.pool())
    assert pool[driver.WORKERS] == 3 and pool[driver.BUSY] == 0 and pool[driver.PENDING] == 0
    assert pool[driver.P_NEXT] >= pool[driver.P_TILES] > 100
    names = {thread.name for thread in threading.enumerate() if thread.daemon}
    assert {"chainwright-1", "chainwright-2", "chainwright-3"} <= names
    threads(1)
    assert TARGET.linker.pool() == 0


@pytest.mark.parametrize("place", [0, 399])
def test_warnings_come_from_any_thread(place, threads):
    graph = one_call(400, 30)
    _, one = loaded(graph)
    x = np.ones((400, 30), "f")
    x[place, 3] = 1000
    for number in NUMBERS:
        threads(number)
        with pytest.warns(RuntimeWarning, match="overflow"):
            one.function(x, one.new_scratch(), one.new_kept())
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            one.function(x, one.new_scratch(), one.new_kept())


def test_many_callers(threads):
    """One of them has the threads at a time; the others work alone."""
    graph = softmax(300, 30)
    _, one = loaded(graph)
    threads(3)
    values = [np.full((300, 30), k, "f") + np.arange(30, dtype="f") for k in range(6)]
    wanted = [[np.asarray(a).tobytes() for a in interpret(graph, v)] for v in values]
    wrong = []

    def call(k):
        for _ in range(50):
            if run(one, values[k]) != wanted[k]:
                wrong.append(k)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_fork_has_threads_of_its_own(threads):
    graph = softmax(300, 30)
    _, one = loaded(graph)
    threads(3)
    (x,) = values_of(graph)
    before = run(one, x)
    child = os.fork()
    if not child:
        os._exit(0 if run(one, x) == before else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_as_many_as_the_blas_of_numpy(monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert blas_threads.__wrapped__() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert blas_threads.__wrapped__() == 3
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    assert blas_threads.__wrapped__() == 5


def test_a_small_region_wakes_few(threads, monkeypatch):
    graph = local_values(4000, 50)  # 1.6 MB
    monkeypatch.setattr(program, "SHARED_BYTES", 1 << 20)
    made, one = loaded(graph)
    (segment,) = made.segments.values()
    code = segment.link(TARGET.linker)
    assert code[code[driver.REGIONS] + 3] == 1
    values = values_of(graph)
    threads(1)
    alone = run(one, *values)
    threads(5)
    assert run(one, *values) == alone
