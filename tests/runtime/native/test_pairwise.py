import ctypes
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainwright.codegen.native_target import pairwise
from chainwright.codegen.native_target.reductions import CUT, reduce_loops, reduce_step
from chainwright.codegen.native_target.steps import OwnLoop, Reduction
from chainwright.runtime.native.machine import MachineLinker

LENGTHS = [*range(1, 300), 504, 512, 1000, 1023, 1024, 1025, 5001, 8191, 10007, 100003]
LENGTHS = [n for n in LENGTHS if n <= CUT]  # NumPy has longer runs added up in parts


@pytest.fixture(scope="module")
def linker():
    try:
        return MachineLinker()
    except ImportError as error:
        pytest.skip(str(error))


def summed(linker, x, first):
    """``first`` and the items of a run, by the function that stands for NumPy's loop."""
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(
        linker.driver(f"{pairwise.SUM}_{x.dtype.char}")
    )
    out = np.full(1, first, x.dtype)
    addresses = [a.ctypes.data for a in (out, x, out)]
    call((ctypes.c_void_p * 3)(*addresses), (ctypes.c_ssize_t * 1)(x.size), None, None)
    return out


@pytest.mark.parametrize("dtype", "fd")
def test_the_order_is_numpys(linker, dtype):
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        x = (rng.standard_normal(n) * np.exp(rng.standard_normal(n) * 3)).astype(dtype)
        assert summed(linker, x, 0).tobytes() == np.add.reduce(x).tobytes(), n
        assert summed(linker, x, -2.5) == np.add.reduce(x, initial=-2.5), n


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, 1e-42])
def test_special_values(linker, dtype, value):
    for n in (1, 2, 7, 8, 33, 300):
        x = np.full(n, value, dtype)
        assert summed(linker, x, 0).tobytes() == np.add.reduce(x).tobytes()
        x[n // 2] = -value
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(summed(linker, x, 0), np.add.reduce(x, keepdims=True))


def function_of(shape, axes, dtype="f", ufunc="add", order="C"):
    x = np.empty(shape, dtype, order)
    kept = np.empty([n for k, n in enumerate(shape) if k not in axes], dtype)
    steps = iter(kept.strides)
    out = tuple(0 if k in axes else next(steps) for k in range(x.ndim))
    form = Reduction(ufunc, x.dtype, x.shape, x.strides, axes, out)
    loops = reduce_loops(form)
    return reduce_step(form, loops[-3:], (1, 0, 0), ()).table[0]


def test_runs_are_ours_and_all_else_is_numpys():
    assert function_of((4, 8), (1,)) == OwnLoop("chainwright_sum_f")
    assert function_of((4, 8), (0, 1), "d") == OwnLoop("chainwright_sum_d")
    assert function_of((4, 2), (1,)) == OwnLoop("chainwright_sum_f")
    for other in (
        function_of((4, 8), (0,)),  # rows are added to rows
        function_of((4, 8), (1,), order="F"),  # items lie apart
        function_of((4, 8), (1,), "e"),
        function_of((4, 8), (1,), ufunc="maximum"),
    ):
        assert not isinstance(other, OwnLoop)


def test_an_overflow_is_told_as_by_numpy(linker):
    class Sum(chainer.Chain):
        def forward(self, x):
            return F.sum(x, axis=1)

    compiled = type("Compiled", (Sum,), {"forward": chainer.static_graph(Sum.forward)})()
    x = np.full((3, 16), 3e38, "f")
    seen = []
    native = chainer.using_config("static_target", "native")
    with native, chainer.using_config("static_budget", None):
        for model in (Sum(), compiled, compiled, compiled):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                y = model.forward(chainer.Variable(x)).array
            # A call that is checked tells it twice.
            seen.append((y.tobytes(), {str(w.message).split(" in ")[0] for w in told}))
    assert compiled.schedule_manager.programs
    assert seen[1:] == seen[:1] * 3 and seen[0][1]
