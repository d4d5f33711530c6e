"""Products of matrices by code of our own: which code, tested before it is used, and calls of it.

In: two matrices and memory for the result. Whether there is code for them depends on the processor
and on the layouts alone, never on when it is asked: what is missing is compiled at once.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from chainwright.codegen.native_target import NativeTarget, products
from chainwright.codegen.native_target.driver import SILENT
from chainwright.codegen.native_target.products import INNER, OUTER, Form
from chainwright.codegen.native_target.program import Base, Segment, with_threads
from chainwright.codegen.native_target.settle import Settlement
from chainwright.codegen.native_target.steps import Place, Region, Step
from chainwright.ir import placeholder

from .available import native_target
from .engine import Engine

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

    def call(self, a: np.ndarray, b: np.ndarray) -> Callable[[Any, Any, Any], None] | None:
        """What computes ``a b`` into its third argument; None if NumPy does.

        Raises:
            ValueError: When it is called, if the third is no array in C order that fits.
        """
        key = a.shape, a.strides, b.shape, b.strides, a.dtype, b.dtype
        try:
            return self._calls[key]
        except KeyError:
            pass
        found = self._calls[key] = self._new(a, b)
        while len(self._calls) > _KEPT:
            self._calls.popitem(last=False)
        return found

    def _new(self, a: np.ndarray, b: np.ndarray) -> Callable[[Any, Any, Any], None] | None:
        way = way_of(a, b)
        if way is None:
            return None
        parts = forms_of(self.machine, way, a.dtype, len(a))
        return self.linked(a, b, parts) if all(self._works(form) for form, _ in parts) else None

    def linked(
        self, a: np.ndarray, b: np.ndarray, parts: list[tuple[Form, int]]
    ) -> Callable[[Any, Any, Any], None]:
        """A call with the given forms; ``parts`` say how many rows each of them does."""
        segment = segment_of(a, b, parts)
        code = segment.link(self._linker)
        run = self._linker.callable("run")
        if segment.shares:
            run = with_threads(run, self._linker)

        shape, dtype = (len(a), b.shape[1]), a.dtype

        def multiply(a: Any, b: Any, c: Any) -> None:
            if c.shape != shape or c.dtype != dtype or not c.flags.carray:
                raise ValueError("the memory for a product does not fit")
            run((code, a, b, c))

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
        a = rng.integers(-8, 9, (rows, deep)).astype(kind)
        b = rng.integers(-8, 9, (columns, deep)).astype(kind)
        right = b.T if form.way == INNER else np.ascontiguousarray(b.T)
        c = np.full((rows, columns), np.nan, kind)
        self.linked(a, right, [(form, rows)])(a, right, c)
        return bool((c == a.astype("q") @ b.T.astype("q")).all())


_SAMPLES = (1, 2, 2), (1, 19, 7), (2, 530, 81)


def way_of(a: np.ndarray, b: np.ndarray) -> str | None:
    """How a product is computed, by the layouts of its operands; None where NumPy does it."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != len(b) or not (a.size and b.size):
        return None
    if a.dtype != b.dtype or a.dtype.char not in "fd" or not a.dtype.isnative:
        return None
    size = a.itemsize
    if b.strides[1] == size:
        return OUTER
    if b.strides[0] == size and a.strides[1] == size:
        return INNER if _LEAST_DEPTH <= len(b) <= _MOST_DEPTH else None
    return None


def forms_of(
    machine: Machine, way: str, dtype: np.dtype[Any], rows: int
) -> list[tuple[Form, int]]:
    """The functions for a number of rows, and how many of these each does: heights differ by 1."""
    highest, width = machine.blocks[way]
    lanes = machine.bytes // dtype.itemsize
    blocks = -(-rows // highest)
    height, more = divmod(rows, blocks)
    sizes = (height + 1, more), (height, blocks - more)
    return [(Form(way, dtype.char, lanes, h, width), h * n) for h, n in sizes if n]


def segment_of(a: np.ndarray, b: np.ndarray, parts: list[tuple[Form, int]]) -> Segment:
    """A program of one region: all parts for some blocks of columns at a time."""
    (m, k), n, size = a.shape, b.shape[1], a.itemsize
    nodes = [
        placeholder("a", a.shape, a.dtype, a.strides),
        placeholder("b", b.shape, b.dtype, b.strides),
        placeholder("c", (m, n), a.dtype, (n * size, size)),
    ]
    form = parts[0][0]
    blocks = -(-n // form.columns)
    deep = k if form.way == INNER else min(k, products.DEPTH)
    tile = max(1, _BLOCK_BYTES[form.way == OUTER] // (deep * size * form.columns))
    steps, first = [], 0
    for part, rows in parts:
        table = rows, k, n, *a.strides, *b.strides, n * size, 0
        offsets = first * a.strides[0], 0, first * n * size
        operands = [Place(x, at, 0) for x, at in zip(nodes, offsets, strict=True)]
        operands.append(Place(products.MARK, 0, 1))
        steps.append(Step(part.name, table, tuple(operands), SILENT, "product"))
        first += rows
    if m <= _FEW:
        tile = min(tile, -(-blocks // _PARTS))
    region = Region(blocks, min(tile, blocks), tuple(steps), apart=True)
    places = {p: (1 + nodes.index(p.value), p.offset) for s in steps for p in s.operands[:3]}
    # Whoever calls knows the layouts; a dtype out of a file is equal to NumPy's own, not the same.
    layouts = [Base(x.attr("name"), None) for x in nodes]
    return Segment(layouts, [region], [], places, Settlement("product", [], {}, {}))


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
