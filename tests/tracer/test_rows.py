"""Each row of the op table is emitted by some recording: no row is there that nothing reaches."""

import numpy as np
import pytest

from chainwright.ir import OPS
from chainwright.runtime.kernels import library_op, products
from chainwright.tracer import Recorder

X = np.arange(12, dtype="f").reshape(3, 4) + 1
UFUNCS = sorted(name for name, row in OPS.items() if isinstance(getattr(np, name, None), np.ufunc))
REDUCTIONS = "sum prod max min any all mean var std argmax argmin cumsum cumprod".split()


def ufunc(name):
    """A call of a ufunc on operands of the first kind that it takes."""
    function = getattr(np, name)

    def run(x):
        for kinds in (signature.split("->")[0] for signature in function.types):
            if not set(kinds) & set("OMm"):
                return function(*(x.astype(kind) for kind in kinds))
        return function(x.astype("M8[s]"))

    return run


def xp_of(x):
    return getattr(x, "__chainwright_xp__", np)


def change(x):
    y = x.copy()
    y[0] = 1
    np.add.at(y, np.array([0, 0]), 2)
    return y


CASES = {
    **{name: ufunc(name) for name in UFUNCS},
    **{name: lambda x, name=name: getattr(np, name)(x) for name in REDUCTIONS},
    **{
        name: lambda x, name=name: getattr(xp_of(x), name)(3) for name in ("zeros", "ones", "empty")
    },
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "call": lambda x: np.linalg.norm(x),
    "cast": lambda x: x.astype("d"),
    "clip": lambda x: x.clip(1, 2),
    "concatenate": lambda x: np.concatenate((x, x)),
    "copy": lambda x: x.copy(),
    "dot": lambda x: x.dot(x.T),
    "few_rows": lambda x: products.dot(np.repeat(x, 512, 0), np.ones((4, 512), "f")),
    "few_rows_matmul": lambda x: products.matmul(np.repeat(x, 512, 0), np.ones((4, 512), "f")),
    "getitem": lambda x: x[1],
    "matmul": lambda x: x @ x.T,
    "pick": lambda x: np.linalg.qr(x),
    "pow": lambda x: x**3,
    "random": lambda x: xp_of(x).random.rand(2),
    "reshape": lambda x: x.reshape(4, 3),
    "setitem": change,
    "add_at": change,
    "stack": lambda x: np.stack((x, x)),
    "transpose": lambda x: x.T,
    "where": lambda x: np.where(x > 1, x, 0),
}
# Leaves are made by ``Recorder.input`` and ``wrap``, a bitcast by the NumPy target's pass,
# the others by the front end's doors.
ELSEWHERE = {"bitcast", "placeholder", "constant", "literal", "host", "write"}


def test_every_row_has_a_case():
    library = {name for name, row in OPS.items() if row.kind == "library" and name != "call"}
    assert set(OPS) - library - ELSEWHERE == set(CASES)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_recording_emits_it(name):
    recorder = Recorder()
    x = X.copy()
    recorder.input(x, "x", "argument")
    result = CASES[name](recorder.wrap(x))
    for value in result if isinstance(result, tuple) else (result,):
        recorder.operand(value)  # a view becomes a node when it is used
    assert name in {node.op for node in recorder.nodes}


def test_a_library_op_is_emitted():
    name = "example of a library op"
    twice = library_op(name)(lambda x: x * 2)
    try:
        recorder = Recorder()
        recorder.input(X, "x", "argument")
        twice(recorder.wrap(X))
        assert [node.op for node in recorder.nodes] == [name]
    finally:
        del OPS[name]
