"""Products of matrices by code of our own: which code, tested before it is used, and calls of it.

In: two matrices and memory for the result. Whether there is code for them depends on the processor
and on the layouts alone, never on when it is asked: what is missing is compiled at once.
"""

from __future__ import annotations

import functools
import logging
import math
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from chainwright.codegen.native_target import NativeTarget, products
from chainwright.codegen.native_target.driver import OURS, SILENT
from chainwright.codegen.native_target.matmul import Walk, product_of, product_region, product_walk
from chainwright.codegen.native_target.products import INNER, OUTER, Form
from chainwright.codegen.native_target.program import Base, Segment, with_threads
from chainwright.codegen.native_target.settle import Settlement
from chainwright.codegen.native_target.steps import LIBRARY, Place, Product, Region, Step, Work
from chainwright.codegen.native_target.steps import Machine as NativeMachine
from chainwright.ir import Node, make, placeholder

from .available import native_target
from .engine import Engine

Parts = list[tuple[Form, int]]

logger = logging.getLogger("chainwright")

_KEPT = 256  # layouts that are remembered
_BLOCK_BYTES = 1 << 15, 1 << 17  # of b that a thread does at a time: inner, outer
_PARTS = 4  # at least, for threads, as far as there are columns; each reads all rows of a,
_FEW = 256  # which pays if these are few
#: Inner indices of sums along the lanes: with fewer the totals take the time, more leave caches.
_LEAST_DEPTH, _MOST_DEPTH = 128, 1 << 13


class Machine:
    """What registers there are: bytes of one, and blocks that fit, by their way.

    Known to be good: x86 with FMA, and vectors of 32 or 64 bytes.
    """

    def __init__(self, features: str) -> None:
        found = {f[1:] for f in features.split(",") if f.startswith("+")}
        self.bytes = 0
        if "fma" in found and "avx2" in found:
            self.bytes, self.blocks = 32, {INNER: (3, 4), OUTER: (6, 2)}
        if self.bytes and {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= found:
            self.bytes, self.blocks = 64, {INNER: (4, 6), OUTER: (12, 2)}


class Products:
    """Calls of products, by their layouts."""

    def __init__(self, target: NativeTarget, machine: Machine) -> None:
        self._linker, self.machine = target.linker, machine
        self._calls: OrderedDict[Any, Callable[[Any, Any, Any], None] | None] = OrderedDict()
        self._sound: dict[Form, bool] = {}

    def call(
        self, a: np.ndarray, b: np.ndarray, c: np.ndarray, op: str = "matmul"
    ) -> Callable[[Any, Any, Any], None] | None:
        """What computes ``a b`` into an array laid out as ``c``; None if NumPy does.

        It warns of what NumPy warns of: of nothing, where ``op`` is ``dot``.

        Raises:
            ValueError: When it is called, if the third array is none that fits.
        """
        key = a.shape, a.strides, b.shape, b.strides, c.strides, a.dtype, b.dtype, op
        try:
            return self._calls[key]
        except KeyError:
            pass
        found = self._calls[key] = self._new(a, b, c, op)
        while len(self._calls) > _KEPT:
            self._calls.popitem(last=False)
        return found

    def _new(
        self, a: np.ndarray, b: np.ndarray, c: np.ndarray, op: str
    ) -> Callable[[Any, Any, Any], None] | None:
        if a.dtype != b.dtype:
            return None
        shapes, strides = (a.shape, b.shape, c.shape), (a.strides, b.strides, c.strides)
        form = Product(op, a.dtype, shapes, strides, False)
        parts = self.parts(form)
        return None if parts is None else self.linked(form, parts)

    def parts(self, form: Product) -> Parts | None:
        """The functions for a product, and how many rows each of them does; None if NumPy does."""
        way = way_of(form)
        if way is None:
            return None
        parts = forms_of(self.machine, way, form.dtype, form.shapes[0][-2])
        return parts if all(self._works(part) for part, _ in parts) else None

    def linked(self, form: Product, parts: Parts) -> Callable[[Any, Any, Any], None]:
        """A call with the given functions."""
        segment = segment_of(form, parts)
        code = segment.link(self._linker)
        settlement, settlement.flags = segment.settlement, self._linker.flags
        run = self._linker.callable("run")
        if segment.shares:
            run = with_threads(run, self._linker)
        shape, strides, dtype = form.shapes[2], form.strides[2], form.dtype

        def multiply(a: Any, b: Any, c: Any) -> None:
            fits = c.shape == shape and c.strides == strides and c.dtype == dtype
            if not fits or not c.flags.writeable:
                raise ValueError("the memory for a product does not fit")
            flags = run((code, a, b, c))
            if flags and settlement.matters(flags):
                np.matmul(a, b)  # warns or raises

        return multiply

    def _works(self, form: Form) -> bool:
        """Whether a function gives products of integers, which have one right value."""
        found = self._sound.get(form)
        if found is None:
            try:
                found = all(self._is_right(form, *s) for s in _SAMPLES)
            except Exception as error:
                logger.info("there is no code for products: %s", error)
                found = False
            else:
                if not found:
                    logger.warning("products stay calls of NumPy: %s is wrong", form.name)
            self._sound[form] = found
        return found

    def _is_right(self, form: Form, blocks: int, deep: int, columns: int) -> bool:
        rng = np.random.default_rng(0)
        kind, rows = np.dtype(form.kind), blocks * form.height
        a = rng.integers(-8, 9, (2, rows, deep)).astype(kind)
        b = rng.integers(-8, 9, (2, columns, deep)).astype(kind)
        turned = b.swapaxes(1, 2)
        right = turned if form.way == INNER else np.ascontiguousarray(turned)
        c = np.full((2, rows, columns), np.nan, kind)
        arrays = a, right, c
        shapes, strides = zip(*((x.shape, x.strides) for x in arrays), strict=True)
        self.linked(Product("dot", kind, shapes, strides, False), [(form, rows)])(*arrays)
        return bool((c == a.astype("q") @ turned.astype("q")).all())


_SAMPLES = (1, 2, 2), (1, 19, 7), (2, 530, 81)


def way_of(form: Product) -> str | None:
    """How a product is computed, by the layouts of its operands; None where NumPy does it."""
    if form.dtype.char not in "fd" or not form.dtype.isnative:
        return None
    if any(len(shape) < 2 or 0 in shape for shape in form.shapes):
        return None
    (*_, a_deep), (*_, b_deep, b_column), (*_, c_column) = form.strides
    deep, size = form.shapes[1][-2], form.dtype.itemsize
    if form.shapes[0][-1] != deep or c_column != size or product_walk(form) is None:
        return None
    if b_column == size:
        return OUTER
    if b_deep == size and a_deep == size:
        return INNER if _LEAST_DEPTH <= deep <= _MOST_DEPTH else None
    return None


def forms_of(machine: Machine, way: str, dtype: np.dtype[Any], rows: int) -> Parts:
    """The functions for a number of rows, and how many of these each does: heights differ by 1."""
    highest, width = machine.blocks[way]
    lanes = machine.bytes // dtype.itemsize
    blocks = -(-rows // highest)
    height, more = divmod(rows, blocks)
    sizes = (height + 1, more), (height, blocks - more)
    return [(Form(way, dtype.char, lanes, h, width), h * n) for h, n in sizes if n]


def region_of(
    form: Product, parts: Parts, places: tuple[Place, Place, Place], origin: str = ""
) -> Region:
    """All parts for some blocks of columns at a time, of one matrix after the other."""
    function, (_, m, k, _) = parts[0][0], walk_of(form).lengths
    deep = k if function.way == INNER else min(k, products.DEPTH)
    most = _BLOCK_BYTES[function.way == OUTER]
    tile = max(1, most // (deep * form.dtype.itemsize * function.columns))
    total = _blocks(form, function)
    if m <= _FEW:
        tile = min(tile, -(-total // _PARTS))
    sizes = [math.prod(shape) for shape in form.shapes]
    steps = tuple(_steps(form, parts, places, origin, Place(products.MARK, 0, 1), 1))
    touched = sum(sizes) * form.dtype.itemsize
    return Region(total, min(tile, total), steps, apart=True, part=touched)


def steps_of(
    form: Product, parts: Parts, places: tuple[Place, Place, Place], origin: str = ""
) -> list[Step]:
    """A whole product for each row of a region, which does one row at a time."""
    whole = _blocks(form, parts[0][0])
    return _steps(form, parts, places, origin, Place(products.MARK, 0, 0), whole)


def _blocks(form: Product, function: Form) -> int:
    walk = walk_of(form)
    count, _, _, n = walk.lengths
    return walk.calls * count * -(-n // function.columns)


def _steps(
    form: Product,
    parts: Parts,
    places: tuple[Place, Place, Place],
    origin: str,
    mark: Place,
    each: int,
) -> list[Step]:
    walk = walk_of(form)
    count, _, k, n = walk.lengths
    near, (a_row, a_deep, b_deep, b_column, c_row, _) = walk.strides[:3], walk.strides[3:]
    blocks = -(-n // parts[0][0].columns)
    kind = SILENT if form.op == "dot" else OURS
    steps, first = [], 0
    for part, rows in parts:
        table = rows, k, n, a_row, a_deep, b_deep, b_column, c_row, blocks, count
        offsets = first * a_row, 0, first * c_row
        operands = [p._replace(offset=p.offset + o) for p, o in zip(places, offsets, strict=True)]
        operands.append(mark)
        every = (*table, *near, *walk.steps, each, 0)
        steps.append(Step(part.name, every, tuple(operands), kind, form.op, (origin,)))
        first += rows
    return steps


def walk_of(form: Product) -> Walk:
    walk = product_walk(form)
    assert walk is not None
    return walk


def places_of(a: Node, b: Node, c: Node) -> tuple[Place, Place, Place]:
    return Place(a, 0, 0), Place(b, 0, 0), Place(c, 0, 0)


def segment_of(form: Product, parts: Parts) -> Segment:
    """A program of one product."""
    layouts = zip("abc", form.shapes, form.strides, strict=True)
    nodes = [placeholder(name, shape, form.dtype, steps) for name, shape, steps in layouts]
    region = region_of(form, parts, places_of(*nodes))
    operands = [(k, p) for s in region.steps for k, p in enumerate(s.operands[:3], 1)]
    places = {p: (k, p.offset) for k, p in operands}
    # Whoever calls knows the layouts; a dtype out of a file is equal to NumPy's own, not the same.
    bases = [Base(name, None) for name in "abc"]
    return Segment(bases, [region], [], places, Settlement("product", [], {}, {}))


def _work(op: str) -> Callable[[Node, NativeMachine], Work | None]:
    """What computes products with few rows in define-by-run, as a part of a program."""

    def work(node: Node, machine: NativeMachine) -> Work | None:
        a, b = node.inputs
        found, origin = own_products(), str(node.origin or "")
        form = product_of(make("matmul", a, b, strides=node.steps))
        parts = None if found is None or form is None else found.parts(form)
        if form is not None and parts is not None:
            own = region_of(form._replace(op=op), parts, places_of(a, b, node), origin)
            return Work((), lambda memory: [own])
        plain = product_of(make(op, a, b, strides=node.steps))
        if plain is None or not machine.multiplies(plain):
            return None
        return Work((), lambda memory: [product_region(plain, (a, b, node), origin)])

    return work


LIBRARY.update(few_rows=_work("dot"), few_rows_matmul=_work("matmul"))


@functools.cache
def own_products() -> Products | None:
    """The products of this process; None where there is no native code.

    On Linux only: elsewhere there is one thread, and NumPy's BLAS may have many.
    """
    target = native_target() if sys.platform == "linux" else None
    if target is None:
        return None
    engine: Engine = target.linker.engine  # type: ignore[attr-defined]
    machine = Machine(engine.features)
    return Products(target, machine) if machine.bytes else None
