"""A :class:`~.rows.RowKernel` as CUDA C, by a warp for each row or by a block.

Sizes and strides are arguments, as those of other kernels are; where the innermost axis allows it,
there is a second form that moves four items at a time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from chainwright.ir import Node
from chainwright.ir.template import template

from ..native_target.steps import Ints, dtype_name
from .kernels import (
    LARGEST,
    KernelSource,
    loaded,
    memory_type,
    moved_in,
    moved_out,
    saved,
    statements,
    with_origin,
)
from .ops import FLOATS, TYPES
from .rows import REDUCTIONS, Pass, Reduced, RowKernel

WARP_ROW = 1024  # items: longer rows are for blocks
WARPS, THREADS = 4, 256

#: Reductions over the threads of a warp and of a block; all of them get the result.
PREAMBLE = """\
struct Sum {
  template <class T> static __device__ __forceinline__ T of(T a, T b) { return a + b; }
};
struct Product {
  template <class T> static __device__ __forceinline__ T of(T a, T b) { return a * b; }
};
struct Maximum {
  template <class T> static __device__ __forceinline__ T of(T a, T b) {
    return a != a ? a : b != b ? b : a > b ? a : b;
  }
};
struct Minimum {
  template <class T> static __device__ __forceinline__ T of(T a, T b) {
    return a != a ? a : b != b ? b : a < b ? a : b;
  }
};
template <class Op, class T> __device__ __forceinline__ T over_warp(T x) {
  for (int k = 16; k; k >>= 1) x = Op::of(x, __shfl_xor_sync(0xffffffffu, x, k));
  return x;
}
template <class Op, class T> __device__ __forceinline__ T over_block(T x) {
  __shared__ T parts[8];
  x = over_warp<Op>(x);
  __syncthreads();  // the reduction before has been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
  for (int k = 1; k < 8; k++) x = Op::of(x, parts[k]);
  return x;
}"""


class Walked(NamedTuple):
    """An operand: its pointer, and its strides along the axes of rows and within a row."""

    pointer: str
    value: Node
    rows: Ints
    columns: Ints

    @property
    def kind(self) -> str:
        return dtype_name(self.value.dtype)


class RowText:
    """The parts of one row kernel's text, and what a launch of it hands over."""

    def __init__(self, plan: RowKernel) -> None:
        self.plan = plan
        self.name = "kernel"
        wide = list(dict.fromkeys(x for p in plan.passes for x in p.section.inputs))
        narrow = plan.narrow_dims()
        none = (0,) * len(plan.space.axes)
        self.reads = {x: Walked(f"x{k}", x, *plan.wide_strides(x)) for k, x in enumerate(wide)}
        self.singles = {x: Walked(f"w{k}", x, plan.narrow_strides(x, dims), none)
                        for k, (x, dims) in enumerate(narrow.items())}
        stored = [n for p in plan.passes for n, _ in p.stores]
        self.writes = {x: Walked(f"y{k}", x, *plan.wide_strides(x)) for k, x in enumerate(stored)}
        self.results = {
            x: Walked(f"z{k}", x, plan.narrow_strides(x, x.dims), none)
            for k, (x, _) in enumerate(plan.narrow_stores)}
        self._merge()
        self.by_warp = plan.space.columns <= WARP_ROW
        self.threads = 32 * WARPS if self.by_warp else THREADS
        self.rows_of_block = WARPS if self.by_warp else 1
        self.width = 32 if self.by_warp else THREADS
        self.index = "long long" if self._is_wide() else "int"
        self.passes = [PassText(self, k, p) for k, p in enumerate(plan.passes)]

    @property
    def operands(self) -> list[Walked]:
        parts = self.reads, self.singles, self.writes, self.results
        return [w for part in parts for w in part.values()]

    @property
    def values(self) -> list[Node]:
        """The arrays that a launch hands over."""
        return [w.value for w in self.operands]

    def _merge(self) -> None:
        """Make axes one that all operands step through as one."""
        space, found = self.plan.space, self.operands
        rows, row_steps = _merged([space.dims[k] for k in space.kept], [w.rows for w in found])
        inner, steps = _merged([space.dims[k] for k in space.axes], [w.columns for w in found])
        self.row_lengths, self.lengths = rows, inner
        pairs = zip(row_steps, steps, strict=True)
        new = {w.pointer: (a, b) for w, (a, b) in zip(found, pairs, strict=True)}
        for part in (self.reads, self.singles, self.writes, self.results):
            for x, w in part.items():
                part[x] = Walked(w.pointer, x, *new[w.pointer])

    def _is_wide(self) -> bool:
        def reach(lengths: Ints, steps: Ints) -> int:
            return sum((n - 1) * abs(s) for n, s in zip(lengths, steps, strict=True))

        far = [reach(self.row_lengths, w.rows) + reach(self.lengths, w.columns)
               for w in self.operands]
        space = self.plan.space
        return max(*far, space.rows + 4 * 2048, space.columns + 4 * THREADS) >= LARGEST

    @property
    def by_four(self) -> bool:
        """Whether four items at a time are whole vectors of all operands of passes."""
        walked = [*self.reads.values(), *self.writes.values()]
        inner = {w.columns[-1] for w in walked}
        moved = [w for w in walked if w.columns[-1] == 1]
        steps = (s for w in moved for s in (*w.rows, *w.columns[:-1]))
        return self.lengths[-1] % 4 == 0 and inner <= {0, 1} and all(s % 4 == 0 for s in steps)

    @property
    def vectors(self) -> list[Node]:
        """The arrays that have to be aligned for that."""
        return [w.value for w in (*self.reads.values(), *self.writes.values()) if w.columns[-1]]

    # -- arguments -----------------------------------------------------------------------------

    @property
    def numbers(self) -> list[tuple[str, int]]:
        return list(self.plan.numbers)

    @property
    def sizes(self) -> list[int]:
        found = [*self.row_lengths, *self.lengths]
        for w in self.operands:
            found += [s for s, known in _steps(w) if known is None]
        return found

    @property
    def parameters(self) -> str:
        read, written = (*self.reads.values(), *self.singles.values()), (
            *self.writes.values(), *self.results.values())
        items = [f"const {memory_type(w.kind)}* __restrict__ {w.pointer}" for w in read]
        items += [f"{memory_type(w.kind)}* __restrict__ {w.pointer}" for w in written]
        items += [f"{TYPES[dtype]} {name}" for (dtype, _), name in self.plan.numbers.items()]
        sizes = [f"n{k}" for k in range(len(self.row_lengths))]
        sizes += [f"m{k}" for k in range(len(self.lengths))]
        for w in self.operands:
            sizes += [f"{w.pointer}_s{k}" for k, (_, known) in enumerate(_steps(w))
                      if known is None]
        return ", ".join([*items, *(f"long long {name}" for name in sizes)])

    # -- text ----------------------------------------------------------------------------------

    @property
    def comment(self) -> list[str]:
        found = [i.origin for p in self.plan.passes for i in p.section.body]
        found += [str(r.node.origin or "") for p in self.plan.passes for r in p.reduced]
        return [f"{self.name}: {', '.join(filter(None, dict.fromkeys(found)))}"]

    @property
    def count(self) -> str:
        return " * ".join(f"({self.index})n{k}" for k in range(len(self.row_lengths)))

    @property
    def columns(self) -> str:
        return " * ".join(f"({self.index})m{k}" for k in range(len(self.lengths)))

    @property
    def forms(self) -> list[dict[str, object]]:
        one = {"name": self.name, "vectors": False, "times": ""}
        four = {"name": f"{self.name}_by_four", "vectors": True, "times": " * 4"}
        return [one, four] if self.by_four else [one]

    @property
    def places(self) -> list[str]:
        return _taken_apart("row", "i", "n", len(self.row_lengths), self.index)

    def place(self, w: Walked, inner: bool) -> str:
        """Where an operand's item lies."""
        letters = [_letter("row", "i", k, len(w.rows)) for k in range(len(w.rows))]
        letters += [_letter("j", "j", k, len(w.columns)) for k in range(len(w.columns))]
        terms = []
        for k, (letter, (_, known)) in enumerate(zip(letters, _steps(w), strict=True)):
            if known is None:
                terms.append(f"{letter} * ({self.index}){w.pointer}_s{k}")
            elif known and (inner or k < len(w.rows)):
                terms.append(letter)
        return f"{w.pointer}[{' + '.join(terms) or '0'}]"

    @property
    def before(self) -> list[str]:
        between = self.plan.between
        lines = [f"const {TYPES[w.kind]} {between.inputs[x]} = "
                 f"{loaded(w.kind, self.place(w, False))};" for x, w in self.singles.items()]
        return lines + statements(between.body[: self.plan.before])

    @property
    def stores(self) -> list[str]:
        named = dict(self.plan.narrow_stores)
        return [f"{self.place(w, False)} = {saved(w.kind, named[x])};"
                for x, w in self.results.items()]

    def source(self, name: str) -> KernelSource:
        self.name = name
        text = template("chainwright.codegen.cuda_target", "rows.cu.j2").render(kernel=self)
        plan = self.plan
        body = [*plan.between.body, *(i for p in plan.passes for i in p.section.body)]
        dtypes = {w.kind for w in self.operands} | {dtype for dtype, _ in self.numbers}
        dtypes |= {dtype_name(r.node.dtype) for p in plan.passes for r in p.reduced}
        entries = tuple(str(form["name"]) for form in self.forms)
        return KernelSource(text, body, frozenset(dtypes), entries, rows=True)

    @property
    def form(self) -> str:
        """Equal for kernels that can share one text."""
        return re.sub(r" *//.*", "", self.source("kernel").text)

    @property
    def blocks(self) -> int:
        """The number of blocks for all rows."""
        return -(-prod(self.row_lengths) // self.rows_of_block)


class PassText:
    """One walk over the items of a row."""

    def __init__(self, kernel: RowText, place: int, plan: Pass) -> None:
        self.kernel, self.number, self.plan = kernel, place, plan

    @property
    def name(self) -> str:
        return f"{self.kernel.name}_pass{self.number}"

    @property
    def _given(self) -> list[tuple[str, str]]:
        """Types and names of the single numbers that the steps read."""
        plan, kernel = self.plan, self.kernel.plan
        read = {a for i in plan.section.body for a in i.args}
        read |= {v for _, v in plan.stores} | {r.value for r in plan.reduced}
        kinds = {name: TYPES[dtype] for (dtype, _), name in kernel.numbers.items()}
        kinds |= {name: TYPES[dtype_name(n.dtype)] for n, name in kernel.between.names.items()}
        return [(kinds[name], name) for name in sorted(read & set(kinds))]

    @property
    def parameters(self) -> str:
        section = self.plan.section
        items = [f"{TYPES[dtype_name(x.dtype)]} {name}" for x, name in section.inputs.items()]
        items += [f"{kind} {name}" for kind, name in self._given]
        items += [f"{TYPES[dtype_name(n.dtype)]}& y{k}"
                  for k, (n, _) in enumerate(self.plan.stores)]
        return ", ".join([*items, *(f"{r.kind}& {r.name}" for r in self.plan.reduced)])

    @property
    def body(self) -> list[str]:
        lines = statements(self.plan.section.body)
        lines += [f"y{k} = {value};" for k, (_, value) in enumerate(self.plan.stores)]
        for r in self.plan.reduced:
            text = f"{r.name} = {REDUCTIONS[r.node.op]}::of({r.name}, {r.value});"
            lines.append(with_origin(text, str(r.node.origin or "")))
        return lines

    @property
    def starts(self) -> list[str]:
        return [f"{r.kind} {r.name} = {identity(r)};" for r in self.plan.reduced]

    def walk(self, vectors: bool) -> list[str]:
        kernel = self.kernel
        lines = _taken_apart("j", "j", "m", len(kernel.lengths), kernel.index)
        reads = [kernel.reads[x] for x in self.plan.section.inputs]
        writes = [kernel.writes[n] for n, _ in self.plan.stores]
        if not vectors:
            lines += [f"{TYPES[w.kind]} y_{w.pointer};" for w in writes]
            values = [loaded(w.kind, kernel.place(w, True)) for w in reads]
            lines.append(self._call(values, [f"y_{w.pointer}" for w in writes]))
            return [*lines, *(f"{kernel.place(w, True)} = {saved(w.kind, f'y_{w.pointer}')};"
                              for w in writes)]
        values = []
        for w in reads:
            kind, at = memory_type(w.kind), kernel.place(w, True)
            moved = bool(w.columns[-1])
            values.append(loaded(w.kind, f"v_{w.pointer}.at[k]" if moved else f"v_{w.pointer}"))
            lines.append(moved_in(kind, w.pointer, at, moved))
        lines += [f"Four<{memory_type(w.kind)}> v_{w.pointer};" for w in writes]
        lines += ["#pragma unroll", "for (int k = 0; k < 4; k++) {"]
        lines += [f"  {TYPES[w.kind]} y_{w.pointer};" for w in writes]
        lines.append(f"  {self._call(values, [f'y_{w.pointer}' for w in writes])}")
        lines += [f"  v_{w.pointer}.at[k] = {saved(w.kind, f'y_{w.pointer}')};" for w in writes]
        lines.append("}")
        return [*lines, *(moved_out(memory_type(w.kind), w.pointer, kernel.place(w, True))
                          for w in writes)]

    def _call(self, values: Sequence[str], results: Sequence[str]) -> str:
        given = [name for _, name in self._given]
        names = [*values, *given, *results, *(r.name for r in self.plan.reduced)]
        return f"{self.name}({', '.join(names)});"

    @property
    def ends(self) -> list[str]:
        """The reductions over the threads, and the steps that follow from them."""
        kernel = self.kernel
        lines = []
        for r in self.plan.reduced:
            over = f"over_{'warp' if kernel.by_warp else 'block'}<{REDUCTIONS[r.node.op]}>"
            text = f"{over}({r.name})"
            if r.node.op == "mean":
                text = f"{text} / ({r.kind})columns"
            if dtype_name(r.node.dtype) == "f16":
                text = f"half_({text})"
            lines.append(f"{r.name} = {text};")
        passes = kernel.plan.passes
        begin = passes[self.number - 1].after if self.number else kernel.plan.before
        return lines + statements(kernel.plan.between.body[begin : self.plan.after])


def identity(reduced: Reduced) -> str:
    """What a reduction of nothing is."""
    op, kind = reduced.node.op, dtype_name(reduced.node.dtype)
    if op in ("sum", "mean"):
        return "0"
    if op == "prod":
        return "1"
    sign = "-" if op == "max" else ""
    if kind == "f64":
        return f"{sign}__longlong_as_double(0x7ff0000000000000ll)"
    if kind in FLOATS:
        return f"{sign}__int_as_float(0x7f800000)"
    limits = np.iinfo({"i32": "int32", "i64": "int64"}[kind])
    return f"-{limits.max}ll - 1" if sign else f"{limits.max}ll"


def _merged(lengths: Sequence[int], steps: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    axes: list[tuple[int, Ints]] = []
    for k, n in enumerate(lengths):
        column = tuple(s[k] for s in steps)
        if n == 1:
            continue
        if axes and all(a == n * b for a, b in zip(axes[-1][1], column, strict=True)):
            axes[-1] = (axes[-1][0] * n, column)
        else:
            axes.append((n, column))
    axes = axes or [(1, (0,) * len(steps))]
    return tuple(n for n, _ in axes), [tuple(c[k] for _, c in axes) for k in range(len(steps))]


def _steps(w: Walked) -> list[tuple[int, int | None]]:
    """The strides, and what of them stands in the text: zeros, and one within a row."""
    found: list[tuple[int, int | None]] = [(s, 0 if s == 0 else None) for s in w.rows]
    found += [(s, 0 if s == 0 else None) for s in w.columns[:-1]]
    last = w.columns[-1]
    return [*found, (last, last if last in (0, 1) else None)]


def _letter(whole: str, letter: str, k: int, n: int) -> str:
    return whole if n == 1 else f"{letter}{k}"


def _taken_apart(whole: str, letter: str, length: str, n: int, index: str) -> list[str]:
    """Lines that make the places along ``n`` axes of one number."""
    if n == 1:
        return []
    lines = [f"{index} {letter}_ = {whole};"]
    for k in range(n - 1, 0, -1):
        size = f"({index}){length}{k}"
        lines.append(f"const {index} {letter}{k} = {letter}_ % {size}; {letter}_ /= {size};")
    return [*lines, f"const {index} {letter}0 = {letter}_;"]

