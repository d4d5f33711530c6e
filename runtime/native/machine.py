"""What is known of NumPy on this processor: each rule is tested before it is used.

A rule that fails its test is not used: these nodes stay calls of NumPy, and the log says so.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import platform
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainwright.codegen.native_target import (
    driver,
    llvm,
    pairwise,
    places,
    products,
    windows,
    words,
)
from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.groups import Group
from chainwright.codegen.native_target.matmul import product_region
from chainwright.codegen.native_target.outer import is_outer, outer_product
from chainwright.codegen.native_target.program import ANSWERS, Base, Segment
from chainwright.codegen.native_target.reductions import reduce_loops, reduce_step
from chainwright.codegen.native_target.settle import Flags, Settlement
from chainwright.codegen.native_target.steps import Loop, Place, Product, Reduction, Region
from chainwright.ir import Node, literal, make, placeholder
from chainwright.ir.kernel import Kernel
from chainwright.ir.layout import extent
from chainwright.ir.node import dtype_of

from ..options import OPTIONS
from .answers import Answers
from .bits import same_bits
from .engine import Engine, libc_address
from .loops import layout, loop_of
from .methods import builtin, python_address
from .smaller import smaller_product, smaller_reduction
from .threads import Threads

logger = logging.getLogger("chainwright")

_FLAGS = {
    "x86_64": Flags(divide=4, over=8, under=16, invalid=1),
    "AMD64": Flags(divide=4, over=8, under=16, invalid=1),
    "aarch64": Flags(divide=2, over=4, under=8, invalid=1),
    "arm64": Flags(divide=2, over=4, under=8, invalid=1),
}
_LIBC = "feclearexcept", "fetestexcept", "memcpy"
_DRIVER = {
    "run": driver.RUN,
    "worker": driver.WORKER,
    "commit": driver.COMMIT,
    "sweep": driver.SWEEP,
    "series": driver.SERIES,
    "loop": driver.LOOP,
    "flat": driver.FLAT,
    "reduce": driver.REDUCE,
    "product": driver.PRODUCT,
}


class MachineLinker:
    """Compiles kernels and knows the addresses of everything else."""

    def __init__(self) -> None:
        found, flags = layout(), _FLAGS.get(platform.machine())
        if found is None or flags is None:
            raise ImportError("native code does not know this Python, NumPy or processor")
        self.flags = flags
        self._libc = {name: libc_address(name) for name in _LIBC}
        self._python = {name: python_address(name) for name in ANSWERS}
        self._brief: dict[str, Callable[[Any], int]] = {}
        self.engine = Engine()
        self._threads = Threads(lambda: self.driver("worker"))
        texts = [driver.driver_text(found), words.words_text(found)]
        texts += [*places.texts(), *windows.texts(), *pairwise.texts()]
        self._text = "\n".join(texts)

    def kernel(self, kernel: Kernel) -> int:
        return self.engine.function(llvm.name_of(kernel), lambda: llvm.kernel_text(kernel))

    def driver(self, name: str) -> int:
        if name.startswith(products.PREFIX):
            return self.engine.function(name, products.Form.named(name).text)
        return self.engine.function(_DRIVER.get(name, name), lambda: self._text)

    def callable(self, name: str, brief: bool = False) -> Callable[[Any], int]:
        if brief:
            if name not in self._brief:
                self._brief[name] = builtin(name, self.driver(_DRIVER[name] + driver.BRIEF))
            return self._brief[name]
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.py_object)(self.driver(name))

    def pool(self) -> int:
        return self._threads.pool(OPTIONS.threads())

    def multiplies(self) -> bool:
        return OPTIONS.target() != "numpy"

    def loop(self, loop: Loop) -> int:
        found = loop_of(loop.ufunc, loop.dtypes)
        if found is None:
            raise RuntimeError(f"{loop.ufunc} has no loop for {loop.dtypes}")
        return found[loop.part]

    def descriptor(self, dtype: np.dtype[Any]) -> int:
        return id(np.dtype(dtype.char))

    def libc(self, name: str) -> int:
        return self._libc[name]

    def python(self, name: str) -> int:
        return self._python[name]


class NumpyMachine:
    """The rules, each tested once: in this process, or in an earlier one, by its ``answers``."""

    def __init__(self, linker: MachineLinker, answers: Answers | None = None) -> None:
        self._linker, self._answers = linker, answers
        self._known: dict[Any, bool] = {}

    def loop(self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool:
        return self._ask((ufunc, dtypes), lambda: self._loop_holds(ufunc, dtypes))

    def arithmetic(self, op: str, dtype: str) -> bool:
        return self._ask((op, dtype), lambda: self._arithmetic_holds(op, dtype))

    def reduces(self, reduction: Reduction) -> bool:
        return self._ask_smaller(reduction, smaller_reduction, self._reduction_holds)

    def multiplies(self, product: Product) -> bool:
        return self._ask_smaller(product, smaller_product, self._product_holds)

    def outer(self, product: Product, joined: bool) -> bool:
        short = smaller_product(product)
        return self._ask(("outer", joined, short), lambda: _outer_holds(short, joined))

    def _ask_smaller(
        self, form: Any, smaller: Callable[[Any], Any], holds: Callable[[Any], bool]
    ) -> bool:
        """The answer for a layout, which is that of a smaller one of its kind."""
        found = self._known.get(form)
        if found is None:
            short = smaller(form)
            found = self._known[form] = self._ask(short, lambda: holds(short))
        return found

    def _ask(self, key: Any, test: Callable[[], bool]) -> bool:
        found = self._known.get(key)
        if found is None:
            kept = self._answers if _is_of_numpy(key[0]) else None
            found = kept.get(key) if kept is not None else None
            if found is None:
                with np.errstate(all="ignore"):
                    found = test()
                if kept is not None:
                    kept.add(key, found)
            self._known[key] = found
            if not found:
                logger.info("native code does not do this, NumPy has other bits: %s", key)
        return found

    # -- the tests -----------------------------------------------------------------------------

    def _loop_holds(self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool:
        if loop_of(ufunc, dtypes) is None:
            return False
        operands = [sample(dtype, k) for k, dtype in enumerate(dtypes[: ufunc.nin])]
        forms = [operands]
        if ufunc.nin == 2:
            forms += [[operands[0], operands[1][:1]], [operands[0][:1], operands[1]]]
        for arrays in forms:
            wanted = ufunc(*arrays)
            got = np.empty_like(wanted)
            self._call_loop(ufunc, dtypes, [*arrays, got])
            if not same_bits(got, wanted):
                return False
        return True

    def _call_loop(
        self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...], arrays: list[np.ndarray]
    ) -> None:
        """In pieces of 37 items: results depend neither on length nor on place."""
        function, data = loop_of(ufunc, dtypes) or (0, 0)
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(function)
        steps = (ctypes.c_ssize_t * 8)(*[a.itemsize * (a.size > 1) for a in arrays])
        for start in range(0, arrays[-1].size, 37):
            length = (ctypes.c_ssize_t * 1)(min(37, arrays[-1].size - start))
            at = [a.ctypes.data + start * s for a, s in zip(arrays, steps, strict=False)]
            call((ctypes.c_void_p * len(at))(*at), length, steps, data)

    def _arithmetic_holds(self, op: str, dtype: str) -> bool:
        kind = dtype_of(dtype)
        ufunc = getattr(np, op, None)
        count = 3 if op == "where" else ufunc.nin if isinstance(ufunc, np.ufunc) else 1
        kinds = [np.dtype(bool), kind, kind] if op == "where" else [kind] * count
        arrays = [sample(k, j) for j, k in enumerate(kinds)]
        if op == "clip":
            return all(self._agrees(op, np.clip, arrays, b) for b in ((0.0, 1.0), (-2.5, 0.0)))
        return self._agrees(op, np.where if op == "where" else ufunc, arrays)

    def _agrees(
        self, op: str, function: Any, arrays: list[np.ndarray], numbers: tuple[float, ...] = ()
    ) -> bool:
        """Whether the native form of an op gives what a function of NumPy gives."""
        nodes = [placeholder(f"x{k}", a.shape, a.dtype) for k, a in enumerate(arrays)]
        try:
            node = make(op, *nodes, *map(literal, numbers))
        except Exception:  # no loop for this dtype
            return False
        wanted = function(*arrays, *numbers)
        got = np.empty_like(wanted)
        group = Group((node,), Forms(_Trusting()), lambda node: True)
        self._run([group.region()], dict(zip((*nodes, node), (*arrays, got), strict=True)))
        return same_bits(got, wanted)

    def _reduction_holds(self, form: Reduction) -> bool:
        loops = reduce_loops(form)
        ufunc = getattr(np, form.ufunc)
        if loops is None or loop_of(ufunc, (form.dtype,) * 3) is None:
            return False
        x = laid_out(form.shape, form.dtype, form.strides, 0)
        wanted = ufunc.reduce(x, form.axes)
        kept = [k for k in range(x.ndim) if k not in form.axes]
        got = _like([x.shape[k] for k in kept], form.dtype, [form.out[k] for k in kept])
        rows = loops[0] if len(loops) == 4 else (1, 0, 0)
        nodes = [placeholder(n, (1,), form.dtype) for n in "xy"]
        operands = tuple(Place(n, 0, 0) for n in nodes)
        step = reduce_step(form, loops[-3:], rows, operands)
        self._run([Region(1, 1, (step,))], dict(zip(nodes, (x, got), strict=True)))
        return same_bits(got, np.asarray(wanted))

    def _product_holds(self, form: Product) -> bool:
        if loop_of(np.matmul, (form.dtype,) * 3) is None:
            return False
        one, other, result = (placeholder(n, (1,), form.dtype) for n in "abc")
        region = product_region(form, (one, other, result))
        for a, b in _factors(form):
            got = _like(form.shapes[2], form.dtype, form.strides[2])
            self._run([region], {one: a, other: b, result: got})
            if not same_bits(got, getattr(np, form.op)(a, b)):
                return False
        return True

    def _run(self, regions: list[Region], arrays: dict[Node, np.ndarray]) -> None:
        """Run regions on arrays, which are handed over whole."""
        slots = {node: k for k, node in enumerate(arrays, 1)}
        places = {
            p: (slots[p.value], p.offset)
            for region in regions
            for step in region.steps
            for p in step.operands
            if isinstance(p.value, Node)
        }
        bases = [Base(str(k), None) for k in range(len(arrays))]
        segment = Segment(bases, regions, [], places, Settlement("", (), {}, {}))
        code = segment.link(self._linker)
        if self._linker.callable("run")((code, *arrays.values())) < 0:
            raise AssertionError("a segment of unchecked arrays was refused")


def _is_of_numpy(asked: Any) -> bool:
    """Whether a name says what is meant: others may have ufuncs of the same name as NumPy's."""
    return isinstance(asked, str) or getattr(np, asked.__name__, None) is asked


def _factors(form: Product) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Operands of a product: of usual size, and where one item is one product, zeros and others."""
    layouts = zip(form.shapes[:2], form.strides[:2], strict=True)
    a, b = (laid_out(s, form.dtype, t, k) for k, (s, t) in enumerate(layouts))
    b = a if form.same else b
    yield a, b
    if not is_outer(form):
        return
    # Products that are too small to be a number end as zeros of the one sign or of the other.
    tiny = float(np.finfo(form.dtype).smallest_subnormal) ** 0.5
    few = np.array([tiny, -tiny / 2, 0.0, 1.5, -0.0, -1.0, tiny / 3], form.dtype)
    for k in range(few.size):
        a[...], b[...] = np.resize(few, a.shape), np.resize(np.roll(few, k), b.shape)
        yield a, b


def _outer_holds(form: Product, joined: bool) -> bool:
    """Whether NumPy's product of a column and a row is what a loop computes."""

    def op(name: str, *operands: Any) -> Any:
        return getattr(np, name)(*operands)

    zero = form.dtype.type(0)
    return all(
        same_bits(outer_product(op, zero, a, b, joined), op(form.op, a, b))
        for a, b in _factors(form)
    )


class _Trusting:
    """Says yes: what tests a rule may not ask for it."""

    def loop(self, ufunc: Any, dtypes: Any) -> bool:
        return True

    def arithmetic(self, op: str, dtype: str) -> bool:
        return True

    def reduces(self, reduction: Any) -> bool:
        return True

    def multiplies(self, product: Any) -> bool:
        return True

    def outer(self, product: Any, joined: bool) -> bool:
        return True


@functools.cache
def sample(dtype: np.dtype[Any], seed: int, size: int = 211) -> np.ndarray:
    """Numbers of all sizes, with zeros of both signs, infinities and NaN in all pairs."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(size) > 0.5
    if dtype.kind in "iu":
        return rng.integers(-50 if dtype.kind == "i" else 0, 100, size).astype(dtype)
    with np.errstate(all="ignore"):
        values = rng.standard_normal(size) * np.exp(rng.standard_normal(size) * 3)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 1e-40, 1e30])
        values[50:150] = special.repeat(10) if seed == 0 else np.resize(special, 100)
        return values.astype(dtype)


def laid_out(shape: Any, dtype: np.dtype[Any], strides: Any, seed: int) -> np.ndarray:
    """Random numbers in an array of this layout."""
    array = _like(shape, dtype, strides)
    array[...] = np.resize(_random(dtype, seed), array.shape)
    return array


@functools.cache
def _random(dtype: np.dtype[Any], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return (rng.standard_normal(10007) * 3).astype(dtype)
    return rng.integers(-9, 99, 10007).astype(dtype)


def _like(shape: Any, dtype: np.dtype[Any], strides: Any) -> np.ndarray:
    size, first = extent(tuple(shape), tuple(strides), dtype.itemsize)
    memory = np.zeros(max(size, 1), np.uint8)
    return np.ndarray(tuple(shape), dtype, memory.data, first, tuple(strides))
