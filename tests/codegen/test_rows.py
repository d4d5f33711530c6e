"""Every row of the op table: the program gives what NumPy gives, for several dtypes and layouts."""

import warnings

import numpy as np
import pytest
from codegen_targets import TARGET, generate

from chainwright.ir import OPS, Graph, Slot, build, literal, make, placeholder
from chainwright.runtime.kernels import products

UFUNCS = [name for name, row in OPS.items() if "casting" in row.attrs]
LAYOUTS = ["c", "transposed", "strided", "scalar", "empty"]
INDEX = np.array([2, 0, 2])


def two(op, *arrays, call=None, **attrs):
    return op, arrays, call or getattr(np, op), attrs


def a(*shape, dtype=np.float32, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 3
    return (values > 0) if dtype is bool else values.astype(dtype)


def setitem(base, value, *index):
    new = base.copy()
    new[index or slice(1, 3)] = value
    return new


def add_at(base, value, index):
    new = base.copy()
    np.add.at(new, index, value)
    return new


X, Y, SQUARE, CUBE = a(5, 4), a(5, 4, seed=1), a(4, 4, seed=2), a(2, 3, 4)
FLAGS, INTS = X > 0, a(5, 4, dtype=np.int32)

# One line for each row that is no ufunc, or one for each setting that changes its text.
CASES = [
    two("where", FLAGS, X, Y),
    two("where", FLAGS, X, 0.5),
    two("where", INTS, 1.5, X),
    two("clip", X, -1.0, 1.0),
    two("clip", X, None, 0.5),
    ("pow", (X, 2), lambda x, p: x**p, {}),
    ("pow", (X, 3), lambda x, p: x**p, {}),
    ("pow", (abs(X), 0.5), lambda x, p: x**p, {}),
    ("pow", (X, -1), lambda x, p: x**p, {}),
    ("pow", (INTS, 2), lambda x, p: x**p, {}),
    ("cast", (X,), lambda x: x.astype(np.float64), {}),
    ("cast", (X,), lambda x: x.astype(np.float32), {}),
    ("cast", (X.T,), lambda x: x.astype(np.int16), {}),
    ("copy", (X.T,), lambda x: x.copy(), {}),
    ("copy", (X.T,), lambda x: x.copy("K"), {}),
    ("copy", (X,), lambda x: x.copy("F"), {}),
    *(two(op, x) for op in ("sum", "prod", "max", "min", "mean", "var", "std") for x in (X, CUBE)),
    *(two(op, x) for op in ("any", "all", "argmax", "argmin") for x in (X, FLAGS)),
    *(
        (op, (x,), lambda x, op=op, k=k: getattr(np, op)(x, **k), k)
        for op in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")
        for x in (X, X.T, CUBE, CUBE.transpose(2, 0, 1), FLAGS.astype(np.int8), a(5, 4, dtype="e"))
        for k in ({"axis": 0}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}, {"axis": ()})
    ),
    *(
        (op, (x,), lambda x, op=op, k=k: getattr(np, op)(x, **k), k)
        for op in ("argmax", "argmin")
        for x in (X, X.T, CUBE)
        for k in ({"axis": 0}, {"axis": 1, "keepdims": True})
    ),
    *(
        (op, (INTS,), lambda x, op=op: getattr(np, op)(x, dtype=np.float64), {"compute": "d"})
        for op in ("sum", "prod", "mean", "var", "std")
    ),
    ("var", (X,), lambda x: np.var(x, axis=0, ddof=1), {"axis": 0, "ddof": 1}),
    ("std", (X,), lambda x: np.std(x, axis=0, ddof=1), {"axis": 0, "ddof": 1}),
    *(
        (op, (x,), lambda x, op=op, k=k: getattr(np, op)(x, **k), k)
        for op in ("cumsum", "cumprod")
        for x in (X, INTS.T)
        for k in ({}, {"axis": 0}, {"axis": 1})
    ),
    ("reshape", (X,), lambda x: x.reshape(2, 10), {}),
    ("reshape", (X.T,), lambda x: x.reshape(2, 10), {}),
    ("reshape", (X,), lambda x: x.reshape((2, 10), order="F"), {"fortran": True}),
    ("reshape", (X.T,), lambda x: x.reshape((2, 10), order="F"), {"fortran": True}),
    ("transpose", (CUBE,), lambda x: x.transpose(1, 2, 0), {"axes": (1, 2, 0)}),
    ("transpose", (CUBE,), lambda x: x.T, {}),
    ("broadcast_to", (X,), lambda x: np.broadcast_to(x, (3, 5, 4)), {}),
    ("bitcast", (X,), lambda x: x.view(np.int32), {}),
    ("getitem", (X,), lambda x: x[1:4:2, None, ..., -1], {"index": np.s_[1:4:2, None, ..., -1]}),
    ("getitem", (X,), lambda x: x[::-1], {"index": np.s_[::-1]}),
    ("getitem", (X, INDEX), lambda x, i: x[i], {"index": Slot(0)}),
    ("getitem", (X, INDEX), lambda x, i: x[:, i], {"index": (slice(None), Slot(0))}),
    ("getitem", (X, INDEX, INDEX), lambda x, i, j: x[i, j], {"index": (Slot(0), Slot(1))}),
    ("setitem", (X, Y[1:3]), setitem, {"index": slice(1, 3)}),
    ("setitem", (X.T, 2.0, INDEX), setitem, {"index": (Slot(0),)}),
    ("add_at", (X, 1.5, INDEX), add_at, {"index": Slot(0)}),
    ("add_at", (X, a(3, 4), INDEX), add_at, {"index": Slot(0)}),
    ("concatenate", (X, Y), lambda *x: np.concatenate(x, 1), {"axis": 1}),
    ("concatenate", (X, INTS), lambda *x: np.concatenate(x), {}),
    ("concatenate", (X, Y), lambda *x: np.concatenate(x, None), {"axis": None}),
    ("stack", (X, Y), lambda *x: np.stack(x, -1), {"axis": -1}),
    ("zeros", (), lambda: np.zeros((2, 3), "f"), {}),
    ("ones", (), lambda: np.ones((2, 3, 4), "i").transpose(2, 0, 1), {}),
    two("dot", X, SQUARE),
    two("dot", X[0], SQUARE[1]),
    two("dot", X.T, X),
    two("dot", CUBE, SQUARE),
    two("dot", INTS, SQUARE),
    two("dot", X, 2.0),
    two("few_rows", X, SQUARE, call=products.few_rows),
    two("few_rows", X.T, X, call=products.few_rows),
    two("few_rows_matmul", X, SQUARE, call=products.few_rows_matmul),
    two("few_rows_matmul", X.T, X, call=products.few_rows_matmul),
    two("matmul", X, SQUARE.T),
    two("matmul", CUBE, SQUARE),
    two("matmul", CUBE.transpose(2, 1, 0), a(4, 2, 5).transpose(0, 1, 2)),
    two("matmul", X, SQUARE[0]),
    ("call", (SQUARE,), lambda x: np.linalg.inv(x), {"fn": np.linalg.inv}),
    (
        "call",
        (X,),
        lambda x: np.roll(x, 2, axis=1),
        {"fn": np.roll, "args": (Slot(0), 2), "kwargs": {"axis": 1}},
    ),
    ("call", (X,), lambda x: np.flip(x), {"fn": np.flip, "view": True}),
]
ELSEWHERE = {"placeholder", "constant", "literal", "empty", "random", "host", "write", "pick"}


def library(name):
    return OPS[name].kind == "library" and name != "call"


def test_every_row_has_a_case():
    done = {case[0] for case in CASES} | set(UFUNCS) | ELSEWHERE
    assert {name for name in OPS if not library(name)} == done


def operand(value, k):
    if not isinstance(value, np.ndarray):
        return literal(value)
    return placeholder(f"x{k}", value.shape, value.dtype, value.strides)


def check(op, values, call, attrs):
    """Run one node as an output, and once more with its value in scratch memory."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(call(*values))
        nodes = [operand(value, k) for k, value in enumerate(values)]
        facts = {"shape": expected.shape, "dtype": expected.dtype, "strides": expected.strides}
        node = make(op, *nodes, **facts, **attrs)
        after = make("copy", node, strides=expected.copy().strides)
        inputs = tuple(x for x in nodes if x.op == "placeholder")
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        for outputs, nodes in [((node,), (node,)), ((after,), (node, after))]:
            built = build(Graph(inputs, nodes, outputs), {}, TARGET.passes).forward
            loaded = generate(built, title=op).load()
            (got,) = loaded.function(*arrays, loaded.new_scratch(), ())
            wanted = expected if outputs == (node,) else expected.copy()
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            assert got.strides == wanted.strides or not got.size, loaded.program.source
            assert got.tobytes() == wanted.tobytes(), loaded.program.source


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_row(case):
    check(*case)


def lay_out(array, layout):
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "strided":
        return np.repeat(array, 2, axis=1)[:, ::2]
    if layout == "scalar":
        return np.array(array[0, 0])
    return array[:0] if layout == "empty" else array


@pytest.mark.parametrize("name", UFUNCS)
def test_ufunc(name):
    """Every loop of every ufunc, on five layouts."""
    ufunc = getattr(np, name)
    for signature in ufunc.types:
        kinds = signature.split("->")[0]
        if set(kinds) & set("OMmgG") or name == "isnat":
            continue
        arrays = [a(4, 7, dtype=bool if k == "?" else k, seed=s) for s, k in enumerate(kinds)]
        if "shift" in name or name in ("power", "float_power", "ldexp"):
            arrays = [abs(x) if x.dtype.kind != "b" else x for x in arrays]
        for layout in LAYOUTS:
            check(name, [lay_out(x, layout) for x in arrays], ufunc, {})


BACKWARDS = {
    "rows": np.s_[::-1], "columns": np.s_[:, ::-1], "both": np.s_[::-1, ::-1],
    "every second": np.s_[::2, ::-2],
}  # fmt: skip


@pytest.mark.parametrize("which", ["all", "first", "last"])
@pytest.mark.parametrize("index", BACKWARDS)
@pytest.mark.parametrize("name", UFUNCS)
def test_ufunc_of_arrays_that_go_backwards(name, index, which):
    """NumPy turns an axis round where no operand goes forward; its loops differ by strides."""
    ufunc = getattr(np, name)
    for signature in ufunc.types:
        kinds = signature.split("->")[0]
        if set(kinds) - set("fd"):
            continue
        arrays = [a(9, 37, dtype=k, seed=s) for s, k in enumerate(kinds)]
        if name in ("power", "float_power", "ldexp"):
            arrays = [abs(x) for x in arrays]
        turned = range(len(arrays)) if which == "all" else (0 if which == "first" else -1,)
        shape = arrays[0][BACKWARDS[index]].shape
        laid = [x[: shape[0], : shape[1]].copy() for x in arrays]
        for k in turned:
            laid[k] = arrays[k][BACKWARDS[index]]
        check(name, laid, ufunc, {})


@pytest.mark.parametrize("op", ["sum", "mean", "max", "prod", "var"])
@pytest.mark.parametrize("index", BACKWARDS)
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_reduction_of_an_array_that_goes_backwards(op, index, axis):
    x = a(67, 371)[BACKWARDS[index]]
    check(op, [x], lambda x: getattr(np, op)(x, axis=axis), {"axis": axis})


@pytest.mark.parametrize("value", [2, 0.5, -0.0, float("nan"), float("inf"), 1j, True])
@pytest.mark.parametrize("dtype", ["e", "f", "d", "i", "B", "?"])
def test_python_scalars_promote_weakly(value, dtype):
    for name in ("add", "multiply", "maximum", "less", "power", "divide"):
        try:
            with np.errstate(all="ignore"):
                getattr(np, name)(abs(a(3, 2, dtype=np.float64)).astype(dtype), value)
        except (TypeError, OverflowError):
            continue
        check(name, [abs(a(3, 2, dtype=np.float64)).astype(dtype), value], getattr(np, name), {})


def test_a_scalar_too_large_for_the_dtype_compares_as_numpy_does():
    check("less", [np.array([1, 200], np.uint8), 300], np.less, {})


def test_compute_dtype():
    check("add", [X, X], lambda x, y: np.add(x, y, dtype=np.float64), {"compute": np.dtype("d")})
