"""Layouts that stand for larger ones are of the same kind, and get the same answers."""

import tracemalloc

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from chainwright.codegen.native_target.matmul import product_walk
from chainwright.codegen.native_target.reductions import reduce_loops
from chainwright.codegen.native_target.steps import Product, Reduction
from chainwright.ir.layout import extent, is_contiguous
from chainwright.runtime.native import smaller
from chainwright.runtime.native.available import native_target
from chainwright.runtime.native.machine import NumpyMachine
from chainwright.runtime.native.smaller import smaller_product, smaller_reduction

TARGET = native_target()
pytestmark = pytest.mark.skipif(TARGET is None, reason="there is no native code here")

LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "gaps": lambda x: np.concatenate([x, x], -1)[..., : x.shape[-1]],
    "steps": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "windows": lambda x: np.lib.stride_tricks.as_strided(
        np.zeros(2 * x.size, x.dtype), x.shape, (x.itemsize,) * x.ndim
    ),
    "broadcast": lambda x: np.broadcast_to(x[..., :1], x.shape),
}
PRODUCTS = [
    ((300, 600), (600, 400)),
    ((1, 1200), (1200, 400)),
    ((1200, 1), (1, 600)),
    ((400, 1200), (1200, 1)),
    ((1200,), (1200, 300)),
    ((300, 1200), (1200,)),
    ((40, 30, 50), (40, 50, 20)),
    ((40, 30, 50), (50, 20)),
    ((3, 40, 30, 50), (1, 40, 50, 30)),
    ((500, 500), (500, 500)),
]


@pytest.fixture
def small(monkeypatch):
    """Whatever spans more than 16 KiB is large."""
    monkeypatch.setattr(smaller, "_BYTES", 1 << 14)


def product(op, shapes, layouts, same=False):
    a, b = (LAYOUTS[k](np.zeros(s, "f")) for s, k in zip(shapes, layouts, strict=True))
    b = a if same else b
    c = np.empty_like(np.matmul(a, b), order="C")
    parts = a, b, c
    shapes, strides = tuple(x.shape for x in parts), tuple(x.strides for x in parts)
    return Product(op, a.dtype, shapes, strides, same)


def bytes_of(form):
    return sum(extent(*x, 4)[0] for x in zip(form.shapes, form.strides, strict=True))


@pytest.mark.parametrize(
    ("one", "other"), [p for k in LAYOUTS for p in ((k, "rows"), ("columns", k), (k, k))]
)
@pytest.mark.parametrize("shapes", PRODUCTS, ids=str)
def test_products(shapes, one, other, small):
    machine = TARGET.machine
    for op in ("dot", "matmul") if max(map(len, shapes)) < 3 else ("matmul",):
        form = product(op, shapes, (one, other))
        found = smaller_product(form)
        assert bytes_of(found) < bytes_of(form) or bytes_of(form) <= smaller._BYTES
        walks = product_walk(form), product_walk(found)
        assert (walks[0] is None) == (walks[1] is None)
        for shape, strides, short, steps in zip(*form[2:4], *found[2:4], strict=True):
            assert [n == 1 for n in shape] == [n == 1 for n in short]
            assert [np.sign(s) for s in strides] == [np.sign(s) for s in steps]
            for step in (1, -1):
                assert is_contiguous(shape[::step], strides[::step], 4) == is_contiguous(
                    short[::step], steps[::step], 4
                )
        if walks[0] is not None:
            assert machine._product_holds(found) == machine._product_holds(form)


def test_products_of_one_array(small):
    found = smaller_product(product("dot", PRODUCTS[-1], ("rows", "rows"), same=True))
    assert found.shapes[0] == found.shapes[1] and found.strides[0] == found.strides[1]
    assert len(set(found.shapes[0])) == 1


def test_large_products_are_tested_in_little_memory():
    p = product("matmul", ((1, 25088), (25088, 4096)), ("rows", "broadcast"))
    p = p._replace(strides=(p.strides[0], (4096 * 4, 4), p.strides[2]))
    assert bytes_of(p) > 400e6
    assert bytes_of(smaller_product(p)) < 9e6


F32 = np.dtype("f")
WEIGHT = 25088, 4096  # of the first product of VGG16: 392 MiB
OF_VGG16 = {
    "forward": Product(
        "dot", F32, ((1, 25088), WEIGHT, (1, 4096)),
        ((25088 * 4, 4), (4, 25088 * 4), (4096 * 4, 4)), False,
    ),
    "backward": Product(
        "dot", F32, ((4096, 1), (1, 25088), (4096, 25088)),
        ((4, 4096 * 4), (25088 * 4, 4), (25088 * 4, 4)), False,
    ),
    "to the input": Product(
        "matmul", F32, ((1, 4096), (4096, 25088), (1, 25088)),
        ((4096 * 4, 4), (25088 * 4, 4), (25088 * 4, 4)), False,
    ),
    "sum of columns": Reduction("add", F32, WEIGHT, (4096 * 4, 4), (0,), (0, 4)),
    "sum of rows": Reduction("add", F32, WEIGHT, (4096 * 4, 4), (1,), (4, 0)),
    "sum": Reduction("add", F32, WEIGHT, (4096 * 4, 4), (0, 1), (0, 0)),
}


@pytest.mark.parametrize("name", OF_VGG16)
def test_rules_about_large_arrays_are_tested_in_little_memory(name):
    """By a process that finds no answers on disk: it had 1.6 GiB for this."""
    form, machine = OF_VGG16[name], NumpyMachine(TARGET.linker)
    asked = machine.multiplies if isinstance(form, Product) else machine.reduces
    tracemalloc.start()
    try:
        holds = asked(form)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert holds
    # What a rule is about, what NumPy makes of it, and the numbers that are put there.
    assert peak < 4 * smaller._BYTES


@pytest.mark.parametrize("layout", ["rows", "columns", "gaps", "steps"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2), (2,)], ids=str)
@pytest.mark.parametrize("shape", [(40, 300, 20), (1, 3000, 7), (3000, 1, 3)], ids=str)
def test_reductions(shape, axes, layout, small):
    x = LAYOUTS[layout](np.zeros(shape, "f"))
    out = iter(np.add.reduce(x, axes).strides)
    steps = tuple(0 if k in axes else next(out) for k in range(x.ndim))
    form = Reduction("add", x.dtype, x.shape, x.strides, axes, steps)
    found = smaller_reduction(form)
    assert extent(found.shape, found.strides, 4)[0] < extent(form.shape, form.strides, 4)[0]
    loops = reduce_loops(form), reduce_loops(found)
    assert (loops[0] is None) == (loops[1] is None)
    if loops[0] is not None:
        kinds = [[(n == 1, out == 0, k == 4) for n, k, out in found] for found in loops]
        assert kinds[0] == kinds[1]


def test_small_ones_stay_as_they_are():
    form = product("matmul", PRODUCTS[0], ("rows", "columns"))
    assert smaller_product(form) == form
