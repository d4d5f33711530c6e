"""Native programs: listing, segments, warnings, and what stands in where they cannot run."""

import logging
import pickle
import warnings

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.codegen.native_target import NativeTarget
from chainwright.codegen.native_target.llvm import kernel_text, name_of
from chainwright.codegen.native_target.matmul import product_of
from chainwright.codegen.native_target.settle import Settlement
from chainwright.ir import Graph, Slot, build, interpret
from chainwright.runtime.native import native_target

machine = pytest.importorskip("chainwright.runtime.native.machine")

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")


def native(graph, target=TARGET):
    built = build(graph, {}, target.passes)
    return target.program(built.forward, "test", len(built.saved))


def softmax(rows=64, width=5000):
    x = array("x", rows, width)
    b = Building()
    e = b.exp(b.subtract(x, b.max(x, axis=1, keepdims=True)))
    return b.graph((x,), b.divide(e, b.sum(e, axis=1, keepdims=True)), name="softmax")


def run(program, *values):
    loaded = program.load()
    return loaded.function(*values, loaded.new_scratch(), loaded.new_kept())


SOFTMAX = """\
segment segment
  for 1 of 64 rows:
    reduce maximum.reduce(x[64, 5000], max[64, 1])
    kernel0(x[64, 5000], max[64, 1], subtract[64, 5000])
    flat exp(subtract[64, 5000], exp[64, 5000])
    reduce add.reduce(exp[64, 5000], sum[64, 1])
    kernel1(exp[64, 5000], sum[64, 1], divide[64, 5000])

kernel0(n0, n1; f32 a0[i,j], f32 a1[i,0]; out f32 y0[i,j])
  for i < n0
    for j < n1
      f32 t0 = a0 - a1
      y0 = t0

kernel1(n0, n1; f32 a0[i,j], f32 a1[i,0]; out f32 y0[i,j])
  for i < n0
    for j < n1
      f32 t0 = a0 / a1
      y0 = t0"""


def test_the_listing_of_a_group():
    program = native(softmax(width=4096))
    assert program.listing == SOFTMAX.replace("5000", "4096")


def test_a_row_runs_before_the_next_begins():
    program = native(softmax())
    assert program.scratch_bytes < 3 * 5000 * 4  # a row of each, not 64
    x = np.random.default_rng(0).standard_normal((64, 5000)).astype("f")
    assert run(program, x)[0].tobytes() == interpret(softmax(), x)[0].tobytes()


@pytest.mark.parametrize("keepdims", [False, True])
def test_a_sum_over_rows_is_part_of_the_group(keepdims):
    x, w, b = array("x", 300, 40, 25), array("w", 25), Building()
    y = b.tanh(b.multiply(x, w))
    graph = b.graph((x, w), b.sum(y, axis=0, keepdims=keepdims), b.sum(y, axis=2))
    program = native(graph)
    assert program.scratch_bytes < 4 * 300 * 40 * 25  # only some rows of y are stored
    assert "for 4 of 300 rows:" in program.listing
    rng = np.random.default_rng(5)
    values = [rng.standard_normal(s).astype("f") for s in ((300, 40, 25), (25,))]
    for got, wanted in zip(run(program, *values), interpret(graph, *values), strict=True):
        assert got.tobytes() == wanted.tobytes()


def test_one_kernel_for_all_sizes_of_a_form():
    one, other = native(softmax(64, 5000)), native(softmax(33, 77))
    names = [[name_of(kernel) for kernel in program.kernels] for program in (one, other)]
    assert names[0] == names[1] and len(names[0]) == 2


def test_kernels_name_no_foreign_symbols():
    for kernel in native(softmax()).kernels:
        text = kernel_text(kernel)
        declared = [line for line in text.splitlines() if line.startswith("declare")]
        assert all("@llvm." in line for line in declared)
        called = [line for line in text.splitlines() if " call " in line]
        assert all("@llvm." in line or ".loops(" in line for line in called)


def test_python_runs_between_segments():
    x, b = array("x", 4, 3), Building()
    y = b.add(b.multiply(x, 2.0), 1.0)
    z = b.pick(b.host(y, fn=lambda a: (a + 1,)), k=0, shape=(4, 3), dtype="f4")
    program = native(b.graph((x,), b.tanh(b.negative(z))))
    lines = [line.strip() for line in program.source.splitlines()]
    assert lines.count("flags = run(arrays)") == 2
    assert lines.index("flags = run(arrays)") < next(
        k for k, l in enumerate(lines) if "= host(" in l
    )
    value = np.random.default_rng(1).standard_normal((4, 3)).astype("f")
    assert run(program, value)[0].tobytes() == np.tanh(-(value * 2 + 1 + 1)).tobytes()


def test_arrays_made_of_nothing_are_there_for_whoever_reads_them():
    """Python as the first reader, with native code before or not; native code; the caller."""
    x, places, b = array("x", 4, 3), array("places", 2, dtype="i8"), Building()
    zeros = [b.zeros(shape=(4, 3), dtype="f4") for _ in range(4)]
    framed = b.setitem(b.empty(shape=(4, 3), dtype="f4"), 7.0, index=slice(0, 4))
    filled = b.setitem(framed, b.getitem(x, index=slice(1, 3)), index=slice(1, 3))
    first = b.add_at(zeros[0], 1.0, places, index=Slot(0))
    y = b.multiply(b.add(x, first), b.add(zeros[1], 2.0))
    then = b.add_at(zeros[2], 3.0, places, index=Slot(0))
    outputs = b.add(y, then), zeros[3], b.add(framed, filled), b.setitem(zeros[3], 4.0, index=0)
    program = native(b.graph((x, places), *outputs))
    value = np.random.default_rng(3).standard_normal((4, 3)).astype("f")
    one = np.array([[1], [0], [1], [0]], "f")
    loaded = program.load()
    scratch, kept = loaded.new_scratch(), loaded.new_kept()
    assert scratch
    for dirt in (0, 255):
        for memory in scratch:
            memory.reshape(-1).view(np.uint8)[...] = dirt
        got, nothing, both, four = loaded.function(value, np.array([0, 2]), scratch, kept)
        assert got.tobytes() == ((value + one) * 2 + one * 3).tobytes()
        assert (nothing == 0).all() and four.tolist() == [[4] * 3, *[[0] * 3] * 3]
        assert (both[::3] == 14).all() and both[1:3].tobytes() == (value[1:3] + 7).tobytes()


def test_arrays_of_another_layout_are_computed_by_numpy():
    program = native(softmax(6, 7))
    x = np.random.default_rng(2).standard_normal((7, 6)).astype("f").T
    expected = interpret(softmax(6, 7), np.ascontiguousarray(x))[0]
    np.testing.assert_array_equal(run(program, x)[0], expected)


def with_its_own_dtype(array):
    """An array from a pickle: its dtype equals NumPy's, and is another object."""
    found = pickle.loads(pickle.dumps(array))
    assert found.dtype == array.dtype and found.dtype is not array.dtype
    return found


@pytest.mark.parametrize("form", [with_its_own_dtype, lambda a: with_its_own_dtype(a) * 1])
def test_arrays_from_a_pickle_are_computed_by_native_code(monkeypatch, form):
    def replaced(*_):
        raise AssertionError("NumPy has computed it")

    monkeypatch.setattr(Settlement, "_replaced", replaced)
    x = np.random.default_rng(2).standard_normal((6, 7)).astype("f")
    got = run(native(softmax(6, 7)), form(x))[0]
    assert got.tobytes() == interpret(softmax(6, 7), x)[0].tobytes()


@pytest.mark.parametrize("dtype", [">f4", "i4"])
def test_arrays_of_another_dtype_are_not_taken_for_those_expected(dtype):
    x = np.random.default_rng(2).integers(0, 5, (6, 7)).astype(dtype)
    got = run(native(softmax(6, 7)), x)[0]
    np.testing.assert_allclose(got, interpret(softmax(6, 7), x.astype("f"))[0], 1e-6)


def with_guards(shape, dtype, rng):
    """An array with bytes on both sides that nobody may touch, and what looks at them."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.full(size + 256, 0xA5, np.uint8)
    inner = np.ndarray(shape, dtype, memory.data, 128)
    inner[...] = rng.standard_normal(shape)
    return inner, lambda: (memory[:128] == 0xA5).all() and (memory[128 + size :] == 0xA5).all()


@pytest.mark.parametrize("shape", [(3, 7), (17, 33), (5, 1), (1, 9), (2, 3, 5)])
def test_nothing_is_written_beside_the_arrays(shape):
    state, x, b = array("s", *shape, kind="state"), array("x", *shape), Building()
    y = b.tanh(b.add(b.multiply(x, state), 0.5))
    total = b.sum(y, axis=0)
    b.write(state, b.add(state, y))
    program = native(b.graph((state, x), b.transpose(y), total)).load()
    rng = np.random.default_rng(3)
    (s, s_whole), (v, v_whole) = with_guards(shape, "f", rng), with_guards(shape, "f", rng)
    size = program.program.scratch_bytes
    zone = np.full(size + 128, 0x5A, np.uint8)
    views = program.program.scratch
    scratch = tuple(
        np.ndarray(w.shape, w.dtype, zone.data, 64 + w.offset, w.strides) for w in views
    )
    before = s.copy()
    got = program.function(s, v, scratch, program.new_kept())
    wanted = np.tanh(v * before + np.float32(0.5))
    assert got[0].tobytes() == wanted.T.tobytes() and got[1].tobytes() == wanted.sum(0).tobytes()
    assert s.tobytes() == (before + wanted).tobytes()
    assert s_whole() and v_whole()
    assert (zone[:64] == 0x5A).all() and (zone[64 + size :] == 0x5A).all()


def quotient():
    """x / 0 warns; the state counts how often the segment has run."""
    state, x, b = array("s", 4, 3, kind="state"), array("x", 4, 3), Building()
    b.write(state, b.add(state, 1.0))
    return b.graph((state, x), b.divide(1.0, x))


def test_warnings_come_as_numpy_gives_them():
    program = native(quotient())
    state, zeros = np.zeros((4, 3), "f"), np.zeros((4, 3), "f")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(run(program, state, zeros)[0]).all()
    assert (state == 1).all()
    with np.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
        run(program, state, zeros)
    assert (state == 2).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        run(program, state, zeros)
    assert (state == 2).all()  # what raises writes nothing
    with np.errstate(all="raise"):
        run(program, state, np.ones((4, 3), "f"))
    assert (state == 3).all()


@pytest.mark.parametrize(
    ("value", "kind"), [(1e30, "over"), (np.inf, "invalid")], ids=["overflow", "invalid"]
)
def test_kinds_of_errors(value, kind):
    x, b = array("x", 3, 4), Building()
    square = b.multiply(x, x)
    program = native(b.graph((x,), b.subtract(square, square)))
    array_ = np.full((3, 4), value, "f")
    with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError):
        run(program, array_)
    others = {k: "raise" for k in ("divide", "under", "over", "invalid") if k != kind}
    others |= {"invalid": "ignore"}  # of an infinity that overflowed
    with np.errstate(**{**others, kind: "ignore"}):
        run(program, array_)


class Doubtful:
    """A machine on which some rule does not hold."""

    def __init__(self, refused):
        self.refused = refused

    def __getattr__(self, name):
        if name == self.refused:
            return lambda *args: False
        return getattr(TARGET.machine, name)


def test_arithmetic_that_fails_its_test_runs_through_the_loop():
    target = NativeTarget(Doubtful("arithmetic"), TARGET.linker)
    x, b = array("x", 8, 5), Building()
    program = native(b.graph((x,), b.add(x, 1.0)), target)
    assert program.kernels == () and "flat add(" in program.listing
    value = np.random.default_rng(4).standard_normal((8, 5)).astype("f")
    assert run(program, value)[0].tobytes() == (value + 1).tobytes()


@pytest.mark.parametrize("rule", ["loop", "reduces", "multiplies"])
def test_a_rule_that_fails_leaves_it_to_numpy(rule):
    target = NativeTarget(Doubtful(rule), TARGET.linker)
    x, w, b = array("x", 8, 5), array("w", 5, 6), Building()
    y = b.tanh(b.add(b.dot(x, w), 1.0))
    graph = b.graph((x, w), b.sum(y, axis=1))
    program = native(graph, target)
    called = {
        "loop": "tanh(",
        "reduces": "add_reduce(",
        "multiplies": "dot(",
    }[rule]
    assert called in program.source and "run(arrays)" in program.source
    assert called not in native(graph).source
    rng = np.random.default_rng(4)
    values = [rng.standard_normal(s).astype("f") for s in ((8, 5), (5, 6))]
    assert run(program, *values)[0].tobytes() == interpret(graph, *values)[0].tobytes()


def column_and_row(m, n, dtype, transposed, op="dot"):
    """A graph that multiplies a column and a row and adds something, and values for it."""
    b, row, c = Building(), array("y", 1, n, dtype=dtype), array("c", m, n, dtype=dtype)
    column = array("x", *((1, m) if transposed else (m, 1)), dtype=dtype)
    product = getattr(b, op)(b.transpose(column) if transposed else column, row)
    graph = b.graph((column, row, c), b.add(product, c), product)
    # What gets too small for a number, and zeros, have signs.
    tiny = float(np.finfo(dtype).smallest_subnormal) ** 0.5
    few = np.array([tiny, -tiny / 2, 0, 1.5, -0.0, -1, tiny / 3, np.inf, np.nan, 7.1], dtype)
    sizes = column.shape, row.shape, c.shape
    return graph, [np.resize(np.roll(few, k), size) for k, size in enumerate(sizes)]


@pytest.mark.parametrize("op", ["dot", "matmul"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(2, 2), (1, 5), (7, 1), (3, 40), (300, 64)])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_column_times_a_row(shape, transposed, dtype, op):
    graph, values = column_and_row(*shape, dtype, transposed, op)
    for got, wanted in zip(run(native(graph), *values), interpret(graph, *values), strict=True):
        assert machine.same_bits(got, wanted)


@pytest.mark.parametrize("way", ["added", "joined", "none"])
def test_a_column_times_a_row_is_a_loop(way):
    """Where one is known to give what NumPy gives."""
    graph, _ = column_and_row(30, 40, "f4", True)
    program = native(graph, NativeTarget(Decided(way), TARGET.linker))
    assert ("product" in program.listing) is (way == "none")
    assert any("select" in kernel_text(kernel) for kernel in program.kernels) is (way == "joined")


class Decided:
    """The rules, with one that is decided here."""

    def __init__(self, way):
        self.way = way

    def outer(self, form, joined):
        return self.way == ("joined" if joined else "added")

    def __getattr__(self, name):
        return getattr(TARGET.machine, name)


@pytest.mark.parametrize("way", ["added", "joined", "none"])
def test_the_rules_of_columns_and_rows_look_at_zeros(way, monkeypatch):
    """And at what gets too small for another number."""
    graph, _ = column_and_row(30, 40, "f4", False)
    form = next(product_of(node) for node in graph.nodes if node.op == "dot")
    fresh = machine.NumpyMachine(TARGET.linker)
    dot = {
        "added": lambda a, b: a * b + np.float32(0),
        "joined": lambda a, b: np.where((a != 0) & (b != 0), a * b, a * b + np.float32(0)),
        "none": lambda a, b: a * b,
    }[way]
    monkeypatch.setattr(machine.np, "dot", dot)
    assert [fresh.outer(form, joined) for joined in (False, True)] == [
        way == "added", way == "joined"]  # fmt: skip
    assert way != "none" or not fresh.multiplies(form)  # NumPy's own loop is one of the others


def test_a_rule_is_tested_against_numpy(monkeypatch, caplog):
    """A loop that gives other bits than NumPy's call is not used, and the log says so."""
    fresh, real = machine.NumpyMachine(TARGET.linker), machine.loop_of
    monkeypatch.setattr(machine, "loop_of", lambda ufunc, dtypes: real(np.cos, dtypes))
    with caplog.at_level(logging.INFO, "chainwright"):
        assert not fresh.loop(np.sin, (np.dtype("f"), np.dtype("f")))
        assert not fresh.loop(np.sin, (np.dtype("f"), np.dtype("f")))
    assert len(caplog.records) == 1 and "NumPy has other bits" in caplog.text
    assert fresh.loop(np.cos, (np.dtype("f"), np.dtype("f")))


def test_an_empty_graph():
    x = array("x", 0, 3)
    b = Building()
    program = native(b.graph((x,), b.exp(x)))
    assert run(program, np.zeros((0, 3), "f"))[0].shape == (0, 3)
    assert native(Graph((), (), ())).load().function((), ()) == ()
