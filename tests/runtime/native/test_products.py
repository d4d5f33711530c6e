"""Products of our own: their values, and that they depend on nothing but row, column and lanes."""

import itertools
import pickle
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from chainwright.codegen.native_target.products import ADDED, INNER, OUTER, Form
from chainwright.codegen.native_target.steps import Product
from chainwright.runtime import options
from chainwright.runtime.native import native_target, same_bits
from chainwright.runtime.native.products import Machine, Products, forms_of, own_products, way_of

sys.path.append(str(Path(__file__).parent))
from test_red_zones import Zones  # noqa: E402

TARGET = native_target()
pytestmark = pytest.mark.skipif(
    TARGET is None or own_products() is None, reason="there are no products of our own here"
)
NARROW = "+fma,+avx2"
WIDE = NARROW + ",+avx512f,+avx512vl,+avx512dq,+avx512bw"
HERE = [NARROW]
if TARGET is not None and Machine(TARGET.linker.engine.features).bytes == 64:
    HERE.append(WIDE)


def repeated(row, shape):
    return as_strided(row, shape, (0, row.itemsize))


LAYOUTS = {
    "rows by columns": (INNER, lambda a, b: (a, np.ascontiguousarray(b.T).T)),
    "rows by rows": (OUTER, lambda a, b: (a, b)),
    "columns by rows": (OUTER, lambda a, b: (np.ascontiguousarray(a.T).T, b)),
    "every second": (OUTER, lambda a, b: (np.repeat(a, 2, 1)[:, ::2], np.repeat(b, 2, 0)[::2])),
    "backwards": (OUTER, lambda a, b: (a[::-1, ::-1].copy()[::-1, ::-1], b[::-1].copy()[::-1])),
    "far rows": (INNER, lambda a, b: (np.repeat(a, 3, 0)[::3], np.repeat(b.T, 2, 0)[::2].T)),
    "one row again and again": (INNER, lambda a, b: (a, repeated(b[:, 0].copy(), b.T.shape).T)),
}
SHAPES = [
    (2, 2, 2), (3, 1, 7), (1, 5, 1), (4, 16, 6), (5, 17, 13), (12, 33, 31), (13, 31, 32),
    (20, 256, 33), (25, 257, 65), (7, 530, 97), (40, 3, 5),
]  # fmt: skip


@pytest.fixture(params=HERE, ids=lambda features: "wide" if "512" in features else "narrow")
def products(request, monkeypatch):
    monkeypatch.setattr("chainwright.runtime.native.products._LEAST_DEPTH", 1)
    return Products(TARGET, Machine(request.param))


def matrices(m, k, n, dtype="f", seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


def empty(a, b):
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.full((*outer, a.shape[-2], b.shape[-1]), np.nan, a.dtype)


def called(products, a, b):
    return products.call(a, b, empty(a, b), "dot")


def product(products, a, b, c=None):
    c = empty(a, b) if c is None else c
    multiply = products.call(a, b, c, "dot")
    assert multiply is not None
    multiply(a, b, c)
    return c


def way(a, b):
    arrays = a, b, empty(a, b)
    shapes, strides = zip(*((x.shape, x.strides) for x in arrays), strict=True)
    return way_of(Product("dot", a.dtype, shapes, strides, False))


def assert_right(c, a, b):
    """Each item has an error of less than what sums in any order have."""
    a, b = a.astype("g"), b.astype("g")
    bound = (a.shape[-1] + 2) * np.finfo(c.dtype).eps * (abs(a) @ abs(b))
    assert (abs(c - a @ b) <= bound).all()


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values(products, layout, dtype):
    wanted, lay_out = LAYOUTS[layout]
    for shape in SHAPES:
        a, b = lay_out(*matrices(*shape, dtype))
        if min(shape) > 1:  # the stride of a short axis says nothing
            assert way(a, b) == wanted
        assert_right(product(products, a, b), a, b)


@pytest.mark.parametrize("dtype", "fd")
def test_integers_are_exact(products, dtype):
    for shape, (_, lay_out) in itertools.product(SHAPES, LAYOUTS.values()):
        a, b = matrices(*shape, dtype)
        a, b = lay_out(np.round(a * 3), np.round(b * 3))
        assert same_bits(product(products, a, b), (a.astype("q") @ b.astype("q")).astype(dtype))


@pytest.mark.parametrize("layout", ["rows by columns", "rows by rows", "columns by rows"])
def test_an_item_depends_on_its_row_and_column_only(products, layout):
    _, lay_out = LAYOUTS[layout]
    a, b = matrices(29, 301, 75)
    whole = product(products, *lay_out(a, b))
    for rows in (1, 2, 3, 11, 12, 13, 28):
        part = product(products, *lay_out(a[:rows], b))
        assert same_bits(part, whole[:rows])
    for columns in (2, 5, 6, 7, 31, 33):
        part = product(products, *lay_out(a, b[:, -columns:]))
        assert same_bits(part, whole[:, -columns:])


@pytest.mark.parametrize("bytes_", [1, 1 << 14])
def test_what_caches_hold_changes_nothing(products, bytes_, monkeypatch):
    """However many rows and columns are done at a time."""
    products.machine.short = 1024
    for layout in ("rows by columns", "rows by rows", "columns by rows"):
        a, b = LAYOUTS[layout][1](*matrices(300, 200, 210))
        whole = product(products, a, b)
        with monkeypatch.context() as patch:
            for name in ("_HELD_BYTES", "_MANY_BYTES"):
                patch.setattr(f"chainwright.runtime.native.products.{name}", bytes_)
            patch.setattr("chainwright.runtime.native.products._BLOCK_BYTES", (bytes_, 1 << 17))
            assert same_bits(product(Products(TARGET, products.machine), a, b), whole)


def test_threads_change_nothing(products, monkeypatch):
    for layout in ("rows by columns", "rows by rows", "columns by rows"):
        a, b = LAYOUTS[layout][1](*matrices(33, 700, 600))
        found = []
        for threads in (1, 2, 5):
            monkeypatch.setattr(options.OPTIONS, "threads", lambda threads=threads: threads)
            found += [product(products, a, b) for _ in range(3)]
        assert all(same_bits(c, found[0]) for c in found)
        assert_right(found[0], a, b)


BATCHES = {
    "each with each": lambda a, b: (a, b),
    "one a": lambda a, b: (a[:1], b),
    "one b": lambda a, b: (a, b[0]),
    "backwards": lambda a, b: (a[::-1], b),
    "two loops": lambda a, b: (np.repeat(a[None], 6, 0)[::3], b),
    "groups": lambda a, b: (a, np.stack([b, -b, b * 2])),
}


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("batch", BATCHES)
def test_arrays_of_matrices(products, batch, dtype, monkeypatch):
    """Each matrix is what it is alone, whatever the number of threads."""
    for layout in ("rows by columns", "rows by rows", "columns by rows"):
        for shape in ((5, 33, 40), (13, 70, 7), (2, 3, 65), (40, 256, 300)):
            pairs = [matrices(*shape, dtype, seed) for seed in range(4)]
            a, b = BATCHES[batch](*map(np.stack, zip(*pairs, strict=True)))
            _, lay_out = LAYOUTS[layout]
            if layout == "rows by columns":
                b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
            if layout == "columns by rows":
                a = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
            for threads in (1, 3):
                monkeypatch.setattr(options.OPTIONS, "threads", lambda threads=threads: threads)
                c = product(products, a, b)
                outer = c.shape[:-2]
                left, right = (np.broadcast_to(x, (*outer, *x.shape[-2:])) for x in (a, b))
                for k in np.ndindex(outer):
                    assert same_bits(c[k], product(products, *lay_out(left[k], right[k])))


def test_a_result_may_be_a_part_of_an_array(products):
    a, b = matrices(5, 40, 30)
    whole = np.zeros((5, 100), "f")
    part = product(products, a, b, whole[:, 20:50])
    assert same_bits(part.copy(), product(products, a, b))
    assert not whole[:, :20].any() and not whole[:, 50:].any()


def told(call):
    """The warnings of a call, and what it raises where errors are to be raised."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    try:
        with np.errstate(all="raise", under="ignore"):
            call()
    except FloatingPointError as e:
        return [str(w.message) for w in found], str(e)
    return [str(w.message) for w in found], None


@pytest.mark.parametrize("op", ["dot", "matmul"])
@pytest.mark.parametrize("bad", [(np.inf, 0), (3e38, 2), (np.nan, 1), (1, 1)])
def test_warnings_are_numpys(products, op, bad):
    a, b = matrices(5, 40, 30)
    a[0, 0], b[0] = bad
    c = empty(a, b)
    multiply = products.call(a, b, c, op)
    numpys = told(lambda: getattr(np, op)(a, b))
    assert told(lambda: multiply(a, b, c)) == numpys
    if op == "matmul":
        assert bool(numpys[0]) == (bad[0] > 1)
    with np.errstate(all="ignore"):
        multiply(a, b, c)


@pytest.mark.parametrize("layout", ["rows by columns", "rows by rows", "columns by rows"])
def test_special_values(products, layout):
    a, b = matrices(9, 35, 21)
    a[0, 3], a[1, 34], b[5, 7], b[34, 20] = np.nan, np.inf, -np.inf, np.nan
    a[2] = b[:, 2] = 0
    a[3], b[:, 3] = 1e-42, 1e-3  # denormal numbers stay
    a[4], b[:, 4] = 1e30, 1e30
    a, b = LAYOUTS[layout][1](a, b)
    with np.errstate(all="ignore"):
        wanted = (a.astype("d") @ b.astype("d")).astype("f")
        c = product(products, a, b)
    assert (np.isnan(c) == np.isnan(wanted)).all()
    large, rest = np.isinf(wanted), np.isfinite(wanted)
    assert (c[large] == wanted[large]).all()
    np.testing.assert_allclose(c[rest], wanted[rest], rtol=1e-3, atol=1e-5)
    a, b = LAYOUTS[layout][1](np.full((2, 20), 1e-42, "f"), np.ones((20, 2), "f"))
    assert product(products, a, b).min() > 1e-41


def test_no_floating_point_error_is_left_for_what_comes_next(products):
    a = np.full((4, 4), 3e38, "f")
    with np.errstate(all="ignore"):
        assert np.isinf(product(products, a, a)).all()
    with np.errstate(all="raise"):
        a * np.float32(0.5)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("layout", ["rows by columns", "rows by rows", "columns by rows"])
def test_nothing_is_touched_beside_the_arrays(products, layout, dtype):
    for shape in SHAPES:
        a, b = LAYOUTS[layout][1](*matrices(*shape, dtype))
        zones = Zones()
        x, y, c = zones.copy(a), zones.copy(b), zones.empty((len(a), b.shape[1]), dtype)
        product(products, x, y, c)
        zones.check()
        assert_right(c, a, b)


def test_items_need_not_be_aligned(products):
    a, b = matrices(6, 40, 9)
    memory = np.zeros(a.nbytes + 3, np.uint8)
    x = np.ndarray(a.shape, "f", memory, 3)
    x[...] = a
    assert not x.flags.aligned
    assert same_bits(product(products, x, b), product(products, a, b))


def test_one_array_twice(products):
    a, _ = matrices(30, 30, 1)
    assert same_bits(product(products, a, a), product(products, a, a.copy()))
    assert same_bits(product(products, a, a.T), product(products, a, a.copy().T))


def test_dtypes_out_of_files_are_numbers_too(products):
    a, b = matrices(5, 6, 7)
    x = pickle.loads(pickle.dumps(a, 2))
    x.dtype = np.dtype("<f4", copy=True)
    assert same_bits(product(products, x, b), product(products, a, b))


def test_what_is_left_to_numpy(products):
    a, b = matrices(5, 6, 7)
    others = [
        (a.astype("e"), b.astype("e")), (a, b.astype("d")), (a.astype(">f4"), b.astype(">f4")),
        (a[:0], b), (a, b[:, :0]), (a[:, :0], b[:0]),
        (np.asfortranarray(a), np.asfortranarray(b)), (a.astype("i"), b.astype("i")),
        (np.repeat(a, 2, 1)[:, ::2], np.asfortranarray(b)),
        (np.zeros((2, 1 << 14), "f"), np.zeros((2, 1 << 14), "f").T),
    ]  # fmt: skip
    for x, y in others:
        assert called(products, x, y) is None
    for x, y in ((a[0], b), (a, b[:5])):
        assert products.call(x, y, np.empty((5, 7), "f")) is None
    assert products.call(a, b, np.empty((7, 5), "f").T) is None
    x, y = np.ones((2, 3, 4, 5, 6), "f").transpose(1, 0, 2, 3, 4), np.ones((6, 7), "f")
    assert called(products, x[:, ::2], y) is not None
    x = np.ones((4, 4, 4, 5, 6), "f")[::2, ::2, ::2]  # three loops over matrices
    assert called(products, x, y) is None


def test_shallow_products_along_the_lanes_are_numpy_s():
    products = Products(TARGET, Machine(NARROW))
    for k, taken in ((127, False), (128, True), (1 << 13, True), ((1 << 13) + 1, False)):
        a, b = np.ones((3, k), "f"), np.ones((5, k), "f")
        assert (called(products, a, b.T) is not None) == taken
        assert called(products, a, b.T.copy()) is not None


@pytest.mark.parametrize("shape", [(129, 130, 131), (131, 129, 600), (600, 130, 129)])
def test_processors_say_which_are_short(shape):
    """Of some, NumPy's BLAS uses one half: all sides may be longer there."""
    a, b = matrices(*shape)
    for features, cpu, ours in (
        (NARROW, "znver3", False), (WIDE, "sapphirerapids", False), (WIDE, "znver5", True)
    ):  # fmt: skip
        products = Products(TARGET, Machine(features, cpu))
        if features in HERE:
            assert (called(products, a, b) is not None) == ours
            assert called(products, a[:, :128], b[:128]) is not None
    a, b = np.ones((1025, 1025), "f"), np.ones((1025, 1030), "f")
    assert called(Products(TARGET, Machine(HERE[-1], "znver5")), a, b) is None


def test_memory_that_does_not_fit_is_refused(products):
    a, b = matrices(5, 6, 7)
    multiply = called(products, a, b)
    frozen = np.empty((5, 7), "f")
    frozen.flags.writeable = False
    for c in (np.empty((5, 8), "f"), np.empty((5, 7), "d"), np.empty((7, 5), "f").T, frozen):
        with pytest.raises(ValueError, match="does not fit"):
            multiply(a, b, c)


def test_heights_differ_by_one_at_most():
    machine = Machine(WIDE)
    for rows in range(1, 200):
        parts = forms_of(machine, OUTER, np.dtype("f"), rows)
        heights = [form.height for form, _ in parts]
        assert sum(n for _, n in parts) == rows and max(heights) <= 12
        assert max(heights) - min(heights) <= 1
        assert all(n % form.height == 0 for form, n in parts)


def test_names():
    form = Form(OUTER, "d", 4, 6, 2)
    assert Form.named(form.name) == form and f"@{form.name}(" in form.text()


def test_unknown_processors_have_none():
    assert not Machine("+neon").bytes and not Machine("+avx2,-fma").bytes
    assert Machine(WIDE.replace("+avx512vl", "-avx512vl")).bytes == 32


def test_wrong_functions_are_not_used(monkeypatch, caplog):
    products = Products(TARGET, Machine(NARROW))
    linked = products.linked

    def wrong(form, parts):
        multiply = linked(form, parts)

        def spoiled(a, b, c):
            multiply(a, b, c)
            c[..., -1, -1] += 1

        return spoiled

    monkeypatch.setattr(products, "linked", wrong)
    a, b = matrices(5, 6, 7)
    assert called(products, a, b) is None and "is wrong" in caplog.text
    monkeypatch.setattr(products, "linked", linked)
    assert called(products, a, b) is None  # and stays so: numbers do not depend on when
    assert called(products, *matrices(5, 6, 8)) is None


def test_forgotten_layouts_come_back(products, monkeypatch):
    monkeypatch.setattr("chainwright.runtime.native.products._KEPT", 3)
    first = product(products, *matrices(5, 6, 2))
    for n in range(3, 12):
        product(products, *matrices(5, 6, n))
    assert len(products._calls) == 3
    assert same_bits(product(products, *matrices(5, 6, 2)), first)


def test_the_text_has_no_foreign_names():
    """What is called are LLVM's own functions, none of which becomes a call of a library."""
    for lanes, way in itertools.product((4, 8, 16), (INNER, OUTER, ADDED)):
        text = Form(way, "f", lanes, 2, 4 if way == INNER else 2).text()
        names = re.findall(r"^declare \S.*@([\w.]+)\(", text, re.M)
        known = "llvm.fma", "llvm.masked", "llvm.x86.sse", "llvm.prefetch"
        assert names and all(name.startswith(known) for name in names)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("rows", [2, 7, 13, 160])
def test_sums_have_functions_of_their_own(products, rows, dtype):
    """Which are right, for integers."""
    a, b = matrices(rows, 20, 33, dtype)
    shapes, strides = (a.shape, b.shape, (rows, 33)), (a.strides, b.strides, b.strides)
    form = Product("dot", a.dtype, shapes, strides, False)
    parts = products.sum_parts(form)
    assert sum(n for _, n in parts) == rows and {part.way for part, _ in parts} == {ADDED}
    deep = form._replace(shapes=((rows, 65), (65, 33), (rows, 33)))
    assert products.sum_parts(deep) is None
