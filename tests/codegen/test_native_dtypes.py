"""Native programs for all ops of the table and all dtypes: the code is valid, and loads."""

import warnings

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.codegen.native_target.llvm import kernel_text
from chainwright.ir import IRError, build, interpret
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
