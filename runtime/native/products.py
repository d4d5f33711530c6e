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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chainwright.codegen.native_target import NativeTarget, products
from chainwright.codegen.native_target.matmul import (
    Walk,
    is_silent,
    product_of,
    product_region,
    product_walk,
)
from chainwright.codegen.native_target.moves import copy_region
from chainwright.codegen.native_target.products import ADDED, INNER, OUTER, Form
from chainwright.codegen.native_target.program import Base, Segment, with_threads
from chainwright.codegen.native_target.settle import Settlement
from chainwright.codegen.native_target.steps import LIBRARY, Place, Product, Region, Step, Work
from chainwright.codegen.native_target.steps import Machine as NativeMachine
from chainwright.ir import Node, make, placeholder

from ..interrupts import pass_on
from .available import native_target
from .engine import Engine

Parts = list[tuple[Form, int]]

logger = logging.getLogger("chainwright")

_KEPT = 256  # layouts that are remembered
_BLOCK_BYTES = 1 << 15, 1 << 17  # of b that a thread does at a time: inner, outer
_MANY_BYTES = 1 << 18  # the same where there are many rows
_HELD_BYTES = 1 << 18  # what some rows, done at a time, read of a (inner) or write of c (outer)
_SUM_BYTES = 1 << 19  # of all b of a step
_PARTS = 4  # at least, for threads, as far as there are columns; each reads all rows of a,
_FEW = 256  # which pays if these are few
#: Inner indices of sums along the lanes: with fewer the totals take the time, more leave caches.
_LEAST_DEPTH, _MOST_DEPTH = 128, 1 << 13


class Machine:
    """What registers there are: bytes of one, and blocks that fit, by their way.

    Known to be good: x86 with FMA, and vectors of 32 or 64 bytes. Blocks that are ``added`` have
    sums and totals, for which 32 registers suffice; of 16 the sums get most, and the totals are in
    memory. ``short`` is how long the shortest side of a product may be: with more, NumPy's BLAS is
    as good, but for processors of AMD with vectors of 64 bytes, of which it uses one half.
    """

    def __init__(self, features: str, cpu: str = "") -> None:
        found = {f[1:] for f in features.split(",") if f.startswith("+")}
        self.bytes = 0
        if "fma" in found and "avx2" in found:
            self.bytes, self.blocks = 32, {INNER: (3, 4), OUTER: (6, 2), ADDED: (6, 2)}
        if self.bytes and {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= found:
            self.bytes, self.blocks = 64, {INNER: (4, 6), OUTER: (12, 2), ADDED: (12, 1)}
        self.short = 1024 if self.bytes == 64 and cpu.startswith("znver") else 128


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
        if way is None or min(*form.shapes[0][-2:], form.shapes[1][-1]) > self.machine.short:
            return None
        parts = forms_of(self.machine, way, form.dtype, form.shapes[0][-2])
        return parts if all(self._works(part) for part, _ in parts) else None

    def sum_parts(self, form: Product) -> Parts | None:
        """The same for a product that is one of those that are added up."""
        if way_of(form) != OUTER or form.shapes[0][-1] > products.DEPTH:
            return None  # DEPTH is a short side
        parts = forms_of(self.machine, ADDED, form.dtype, form.shapes[0][-2])
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
                getattr(np, form.op)(a, b)  # warns or raises

        return multiply

    def _works(self, form: Form) -> bool:
        """Whether a function gives products of integers, which have one right value."""
        found = self._sound.get(form)
        if found is None:
            try:
                found = all(self._is_right(form, *s) for s in _SAMPLES)
            except Exception as error:
                pass_on(error)
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
        if form.way == ADDED:
            return self._adds_right(form, a, right, c)
        arrays = a, right, c
        shapes, strides = zip(*((x.shape, x.strides) for x in arrays), strict=True)
        self.linked(Product("dot", kind, shapes, strides, False), [(form, rows)])(*arrays)
        return bool((c == a.astype("q") @ turned.astype("q")).all())


    def _adds_right(self, form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> bool:
        """Whether a function adds up the products of two pairs."""
        deep = min(a.shape[-1], products.DEPTH)
        a, b = a[..., :deep], b[:, :deep]
        arrays = *a, *b, c[0]
        nodes = [placeholder(f"x{k}", x.shape, x.dtype, x.strides) for k, x in enumerate(arrays)]
        places = [Place(node, 0, 0) for node in nodes]
        shapes, strides = zip(*((x.shape, x.strides) for x in (a[0], b[0], c[0])), strict=True)
        product = Product("dot", a.dtype, shapes, strides, False)
        pairs = [(places[0], places[2]), (places[1], places[3])]
        regions = sum_regions(product, [(form, len(c[0]))], pairs, places[4], False)
        segment = segment_over(nodes, regions)
        code = segment.link(self._linker)
        flags = self._linker.callable("run")((code, *arrays))
        return not flags and bool((c[0] == sum(a.astype("q") @ b.astype("q"))).all())


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
    most = _BLOCK_BYTES[function.way == OUTER] if m <= _FEW else _MANY_BYTES
    tile = max(1, most // (deep * form.dtype.itemsize * function.columns))
    total = _blocks(form, function)
    if m <= _FEW:
        tile = min(tile, -(-total // _PARTS))
    sizes = [math.prod(shape) for shape in form.shapes]
    steps = tuple(_steps(form, parts, places, origin, Place(products.MARK, 0, 1), 1))
    touched = sum(sizes) * form.dtype.itemsize
    return Region(total, min(tile, total), steps, apart=True, part=touched)


def sum_regions(
    form: Product,
    parts: Parts,
    pairs: Sequence[tuple[Place, Place]],
    c: Place,
    started: bool,
    origin: str = "",
) -> list[Region]:
    """The sum of products of one form, a few columns at a time; ``started``: added to ``c``."""
    _, m, k, n = walk_of(form).lengths
    columns, size = parts[0][0].columns, form.dtype.itemsize
    total, most = -(-n // columns), products.MOST_PRODUCTS
    tile = min(max(1, _SUM_BYTES // (most * k * size * columns)), -(-total // _PARTS))
    steps: list[Step] = []
    for start in range(0, len(pairs), most):
        some = pairs[start : start + most]
        facts = len(some), int(started or start > 0), int(start + most >= len(pairs))
        steps += _sum_steps(form, parts, some, c, facts, origin)
    touched = (len(pairs) * (m * k + k * n) + m * n) * size
    return [Region(total, tile, tuple(steps), apart=True, part=touched)]


def _sum_steps(
    form: Product,
    parts: Parts,
    pairs: Sequence[tuple[Place, Place]],
    c: Place,
    facts: tuple[int, int, int],
    origin: str,
) -> Iterator[Step]:
    """Some of the products, added to ``c``: a step for each number of rows."""
    walk = walk_of(form)
    _, _, k, n = walk.lengths
    a_row, a_deep, b_deep, b_column, c_row, _ = walk.strides[3:]
    blocks, near_and_far, each, first = -(-n // parts[0][0].columns), (0,) * 6, 1, 0
    for part, rows in parts:
        table = rows, k, n, a_row, a_deep, b_deep, b_column, c_row, blocks, 1
        places = [c._replace(offset=c.offset + first * c_row), Place(products.MARK, 0, each)]
        for a, b in pairs:
            places += [a._replace(offset=a.offset + first * a_row), b]
        every = (*table, *near_and_far, each, int(is_silent(form.op)), 0, 0, *facts)
        yield Step(part.name, every, tuple(places), label="sum of products", origins=(origin,))
        first += rows


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
    quiet = int(is_silent(form.op))
    steps, first = [], 0
    for part, rows in parts:
        table = rows, k, n, a_row, a_deep, b_deep, b_column, c_row, blocks, count
        offsets = first * a_row, 0, first * c_row
        operands = [p._replace(offset=p.offset + o) for p, o in zip(places, offsets, strict=True)]
        operands.append(mark)
        every = (*table, *near, *walk.steps, each, quiet, *_at_a_time(form, part))
        steps.append(
            Step(part.name, every, tuple(operands), label=form.op, origins=(origin,))
        )
        first += rows
    return steps


def _at_a_time(form: Product, function: Form) -> tuple[int, int]:
    """How many blocks of rows and of columns caches hold."""
    _, m, k, n = walk_of(form).lengths
    size = form.dtype.itemsize
    deep = k if function.way == INNER else min(n, _BLOCK_BYTES[1] // (products.DEPTH * size))
    wide = _BLOCK_BYTES[0] // (deep * size * function.columns)
    return max(1, _HELD_BYTES // (deep * size * function.height)), max(1, wide)


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
    return segment_over(nodes, [region_of(form, parts, places_of(*nodes))])


def segment_over(nodes: Sequence[Node], regions: list[Region]) -> Segment:
    """A program of regions over arrays that come in the order of their nodes."""
    operands = (p for region in regions for s in region.steps for p in s.operands)
    slots = {node: k for k, node in enumerate(nodes, 1)}
    places = {p: (slots[p.value], p.offset) for p in operands if isinstance(p.value, Node)}
    # Whoever calls knows the layouts; a dtype out of a file is equal to NumPy's own, not the same.
    bases = [Base(node.attr("name"), None) for node in nodes]
    return Segment(bases, regions, [], places, Settlement("product", [], {}, {}))


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


def _work_of_sum(node: Node, machine: NativeMachine) -> Work | None:
    """What adds up products with few rows, where each by itself would go to memory and back."""
    *_, start = node.inputs
    started = len(node.inputs) % 2 == 1
    pairs = list(zip(node.inputs[:-1:2], node.inputs[1::2], strict=True))
    found, (a, b), origin = own_products(), pairs[0], str(node.origin or "")
    form = product_of(make("matmul", a, b, strides=node.steps))
    parts = None if found is None or form is None else found.sum_parts(form)
    if form is None or parts is None:
        return None
    places = [(Place(x, 0, 0), Place(y, 0, 0)) for x, y in pairs]
    regions = sum_regions(form, parts, places, Place(node, 0, 0), started, origin)
    if started:
        regions.insert(0, copy_region(start, node, node.dims, node.steps, 0, origin))
    return Work((), lambda memory: regions)


LIBRARY.update(
    few_rows=_work("dot"), few_rows_matmul=_work("matmul"), few_rows_sum=_work_of_sum
)


@functools.cache
def own_products() -> Products | None:
    """The products of this process; None where there is no native code.

    On Linux only: elsewhere there is one thread, and NumPy's BLAS may have many.
    """
    target = native_target() if sys.platform == "linux" else None
    if target is None:
        return None
    engine: Engine = target.linker.engine  # type: ignore[attr-defined]
    machine = Machine(engine.features, engine.cpu)
    return Products(target, machine) if machine.bytes else None
