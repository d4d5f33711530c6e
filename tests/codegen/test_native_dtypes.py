"""Native programs for all ops of the table and all dtypes: the code is valid, and loads."""

import warnings

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.llvm import kernel_text
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import IRError, Slot, build, interpret, literal, placeholder
from chainwright.ir.op import OPS
from chainwright.runtime.native import native_target

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")

DTYPES = ["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d"]
ROWS, WIDTH = 40, 25


#: What becomes of the result of an op: they make one group, where that is possible.
USES = (
    lambda b, y: b.sum(b.add(y, y), axis=0),
    lambda b, y: b.prod(b.sqrt(y), axis=0),
    lambda b, y: b.max(y, axis=1, keepdims=True),
    lambda b, y: b.concatenate(y, y, axis=0),
)


def graphs(dtype):
    """Each op with arrays of a dtype, and each use of its result."""
    for op in OPS.values():
        if op.kind != "elementwise":
            continue
        inputs = [
            array(f"x{k}", *shape, dtype=dtype)
            for k, shape in zip(range(op.arity), [(ROWS, WIDTH), (WIDTH,), ()], strict=False)
        ]
        for use in USES:
            b = Building()
            try:
                attrs = {"dtype": np.dtype(dtype)} if op.name == "cast" else {}
                y = use(b, getattr(b, op.name)(*inputs, **attrs))
            except (IRError, TypeError):
                continue  # NumPy has no such loop
            yield op.name, b.graph(tuple(inputs), y, name=op.name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_are_valid(dtype):
    """LLVM takes the text of each kernel; none is compiled."""
    binding = pytest.importorskip("llvmlite.binding")
    texts, count = set(), 0
    for _, graph in graphs(dtype):
        built = build(graph, {}, TARGET.passes)
        program = TARGET.program(built.forward, "test", len(built.saved))
        texts |= {kernel_text(kernel) for kernel in program.kernels}
        count += 1
    for text in texts:
        binding.parse_assembly(text).verify()
    assert count > 30


SOME = {"e": ("add", "exp", "copy"), "f": ("add", "tanh"), "i": ("multiply",), "?": ("equal",)}


@pytest.mark.parametrize("dtype", SOME)
def test_values(dtype):
    rng = np.random.default_rng(0)
    for name, graph in graphs(dtype):
        if name not in SOME[dtype]:
            continue
        values = [np.asarray(rng.standard_normal(x.shape) * 2).astype(dtype) for x in graph.inputs]
        built = build(graph, {}, TARGET.passes)
        loaded = TARGET.program(built.forward, "test", len(built.saved)).load()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = loaded.function(*values, loaded.new_scratch(), loaded.new_kept())
            wanted = interpret(graph, *values)
        for a, b in zip(got, wanted, strict=True):
            assert (a.dtype, a.tobytes()) == (b.dtype, np.asarray(b).tobytes()), name


def test_half_precision_is_moved():
    """No arithmetic, so that the bits of all numbers stay, those of NaNs too."""
    x = np.arange(1 << 16, dtype="H").view("e")[:: (1 << 16) // 960].copy()[:960].reshape(24, 40)
    y, ids = np.roll(x, 7, 1)[:, 3:9].copy(), np.array([3, 0, -1])
    a, b = placeholder("a", x.shape, "e"), placeholder("b", y.shape, "e")
    i = placeholder("i", (3,), "q")
    g = Building()
    part = (slice(None), slice(2, 38, 6))
    results = (
        g.copy(g.transpose(a)),
        g.reshape(g.transpose(a), shape=(960,)),
        g.concatenate(a, b, axis=1),
        g.setitem(a, b, index=part),
        g.setitem(a, literal(0.1), index=part),
        g.getitem(a, i, index=(Slot(0),)),
        g.setitem(a, g.getitem(a, i, index=(Slot(0),)), i, index=(Slot(0),)),
        g.cast(g.getitem(a, index=part), dtype=np.dtype("e")),
        g.zeros(shape=(2, 3), dtype=np.dtype("e")),
        g.ones(shape=(3, 2), dtype=np.dtype("e")),
    )
    graph = g.graph((a, b, i), *results, name="moves")
    built = build(graph, {}, TARGET.passes).forward
    assert all(part.native for part in parts_of(built, Forms(TARGET.machine)))
    loaded = TARGET.program(built, "test").load()
    with np.errstate(all="raise"):
        got = loaded.function(x, y, ids, loaded.new_scratch(), loaded.new_kept())
    for one, other in zip(got, interpret(graph, x, y, ids), strict=True):
        assert (one.dtype, one.tobytes()) == (other.dtype, np.ascontiguousarray(other).tobytes())


@pytest.mark.parametrize("number", [1e-5, 7e4, -1e9])
def test_numbers_that_numpy_warns_of_are_left_to_it(number):
    a, g = placeholder("a", (8, 8), "e"), Building()
    graph = g.graph((a,), g.setitem(a, literal(number), index=(slice(2), slice(None))), name="set")
    built = build(graph, {}, TARGET.passes).forward
    assert not any(part.native for part in parts_of(built, Forms(TARGET.machine)))
