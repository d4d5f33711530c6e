"""A :class:`~chainwright.ir.kernel.Kernel` as CUDA C: one function for an item, loops around it.

Sizes and strides are arguments. Where the innermost axis allows it, there is a second form of the
loop that moves four items at a time. Half precision is computed in single precision and rounded
after each step, as CuPy's functions do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir.kernel import SAME, UNIT, Instr, Kernel, Operand
from chainwright.ir.node import dtype_of
from chainwright.ir.template import template

from ..native_target.steps import Nest
from .ops import FORMS, TYPES

#: As in CuPy's functions: a NaN goes on, the first one first.
_MAXIMUM = """\
__device__ __forceinline__ {T} {name}imum({T} a, {T} b) {{
  return a != a ? a : b != b ? b : f{name}{f}(a, b);
}}"""
_HALF = """\
__device__ __forceinline__ float half_(float x) { return __half2float(__float2half_rn(x)); }"""
_FOUR = "template <class T> struct __align__(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Four { T at[4]; };"
LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel in its loops, and the numbers that a call hands over."""

    kernel: Kernel
    lengths: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]  # of the operands, in items
    numbers: tuple[tuple[str, int], ...]  # dtype and bits

    @property
    def size(self) -> int:
        return prod(self.lengths)

    @property
    def by_four(self) -> bool:
        """Whether four items at a time are whole vectors of all operands."""
        operands = self.kernel.operands
        if self.lengths[-1] % 4 or any(o.inner not in (UNIT, SAME) for o in operands):
            return False
        vectors = (s for o, s in zip(operands, self.strides, strict=True) if o.inner == UNIT)
        return all(s % 4 == 0 for steps in vectors for s in steps[:-1]) and self.size >= 1024

    @property
    def form(self) -> Any:
        """Equal for launches that can share one text."""
        return self.kernel.key, self.by_four, self.wide, _same_strides(self)

    @property
    def wide(self) -> bool:
        """Whether places need more than 32 bits."""
        pairs = (zip(self.lengths, strides, strict=True) for strides in self.strides)
        reach = max(sum((n - 1) * abs(s) for n, s in pair) for pair in pairs)
        return max(reach, self.size) + 4 * 2048 * 256 >= LARGEST

    @property
    def sizes(self) -> tuple[int, ...]:
        """The lengths and strides that the kernel takes as arguments, in their order."""
        found = list(self.lengths)
        for operand, strides in zip(self.kernel.operands, self.strides, strict=True):
            found += [s for s, known in zip(strides, _known(operand, strides), strict=True)
                      if known is None]
        return tuple(found)


def _same_strides(launch: Launch) -> Any:
    pairs = zip(launch.kernel.operands, launch.strides, strict=True)
    return tuple(tuple(_known(operand, strides)) for operand, strides in pairs)


def _known(operand: Operand, strides: Sequence[int]) -> list[int | None]:
    """The strides that stand in the text: zeros, and those of the innermost axis."""
    inner = {UNIT: 1, SAME: 0}.get(operand.inner)
    return [*(0 if s == 0 else None for s in strides[:-1]), inner]


def launch_of(kernel: Kernel, nest: Nest, values: Sequence[Any], numbers: Any) -> Launch:
    """A kernel on values, with the loops it runs in."""
    lengths = (nest.rows * nest.factor, *nest.lengths)
    pairs = zip(nest.strides, [x.dtype.itemsize for x in values], strict=True)
    strides = tuple(tuple(s // size for s in steps) for steps, size in pairs)
    return Launch(kernel, lengths, strides, tuple(numbers))


def number_of(dtype: str, bits: int) -> np.generic:
    """The scalar with these bits, as an argument of a kernel."""
    kind = dtype_of(dtype)
    value = np.frombuffer(np.int64(bits).tobytes()[: kind.itemsize], kind)[0]
    return np.float32(value) if dtype == "f16" else value


class KernelText:
    """The parts of one kernel's text, for the template."""

    def __init__(self, name: str, launch: Launch) -> None:
        self.name, self.launch = name, launch
        kernel = launch.kernel
        self.reads = [o for o in kernel.operands if not o.out]
        self.writes = [o for o in kernel.operands if o.out]
        self.numbers = [(f"c{k}", dtype) for k, dtype in enumerate(kernel.numbers)]
        self.index = "long long" if launch.wide else "int"
        self.lengths = [f"n{k}" for k in range(len(launch.lengths))]
        self.count = " * ".join(f"({self.index}){n}" for n in self.lengths)

    @property
    def comment(self) -> list[str]:
        origins = dict.fromkeys(i.origin for i in self.launch.kernel.body if i.origin)
        return [f"{self.name}: {', '.join(origins)}"] if origins else [self.name]

    @property
    def item_parameters(self) -> str:
        items = [f"{TYPES[o.dtype]} {o.name}" for o in self.reads]
        items += [f"{TYPES[dtype]} {name}" for name, dtype in self.numbers]
        return ", ".join([*items, *(f"{TYPES[o.dtype]}& {o.name}" for o in self.writes)])

    @property
    def body(self) -> list[str]:
        lines = statements(self.launch.kernel.body)
        return [*lines, *(f"{operand} = {value};" for operand, value in self.launch.kernel.stores)]

    @property
    def parameters(self) -> str:
        items = [f"const {memory_type(o.dtype)}* __restrict__ {o.name}" for o in self.reads]
        items += [f"{memory_type(o.dtype)}* __restrict__ {o.name}" for o in self.writes]
        items += [f"{TYPES[dtype]} {name}" for name, dtype in self.numbers]
        return ", ".join([*items, *(f"long long {name}" for name in (
            *self.lengths, *self._stride_names()))])

    def _stride_names(self) -> list[str]:
        return [f"{o.name}_s{k}" for o, known in self._strides() for k, s in enumerate(known)
                if s is None]

    def _strides(self) -> list[tuple[Operand, list[int | None]]]:
        pairs = zip(self.launch.kernel.operands, self.launch.strides, strict=True)
        return [(operand, _known(operand, strides)) for operand, strides in pairs]

    def _places(self) -> tuple[list[str], dict[str, str]]:
        """Lines that take the index apart, and the place of each operand."""
        lines, letters = [], ["i"]
        if len(self.lengths) > 1:
            lines.append(f"{self.index} r = i;")
            letters = [f"i{k}" for k in range(len(self.lengths))]
            for letter, name in [*zip(letters, self.lengths, strict=True)][:0:-1]:
                n = f"({self.index}){name}"
                lines.append(f"const {self.index} {letter} = r % {n}; r /= {n};")
            lines.append(f"const {self.index} {letters[0]} = r;")
        places = {}
        for operand, known in self._strides():
            terms = [
                letter if s == 1 else f"{letter} * ({self.index}){operand.name}_s{k}"
                for k, (letter, s) in enumerate(zip(letters, known, strict=True)) if s != 0
            ]
            places[operand.name] = " + ".join(terms) or "0"
        return lines, places

    @property
    def one(self) -> list[str]:
        """The loop over single items."""
        lines, places = self._places()
        lines += [f"{TYPES[o.dtype]} y_{o.name};" for o in self.writes]
        reads = [loaded(o.dtype, f"{o.name}[{places[o.name]}]") for o in self.reads]
        lines.append(self._call([*reads], [f"y_{o.name}" for o in self.writes]))
        return [*lines, *(f"{o.name}[{places[o.name]}] = {saved(o.dtype, f'y_{o.name}')};"
                          for o in self.writes)]

    @property
    def four(self) -> list[str]:
        """The loop over vectors; nothing where there are none."""
        if not self.launch.by_four:
            return []
        lines, places = self._places()
        for o in self.reads:
            at = f"{o.name}[{places[o.name]}]"
            lines.append(moved_in(memory_type(o.dtype), o.name, at, o.inner == UNIT))
        lines += [f"Four<{memory_type(o.dtype)}> v_{o.name};" for o in self.writes]
        lines += ["#pragma unroll", "for (int k = 0; k < 4; k++) {"]
        lines += [f"  {TYPES[o.dtype]} y_{o.name};" for o in self.writes]
        reads = [loaded(o.dtype, f"v_{o.name}" if o.inner == SAME else f"v_{o.name}.at[k]")
                 for o in self.reads]
        lines.append(f"  {self._call(reads, [f'y_{o.name}' for o in self.writes])}")
        lines += [f"  v_{o.name}.at[k] = {saved(o.dtype, f'y_{o.name}')};" for o in self.writes]
        lines.append("}")
        return [*lines, *(moved_out(memory_type(o.dtype), o.name, f"{o.name}[{places[o.name]}]")
                          for o in self.writes)]

    def _call(self, reads: list[str], writes: list[str]) -> str:
        numbers = [name for name, _ in self.numbers]
        return f"{self.name}_item({', '.join([*reads, *numbers, *writes])});"


def memory_type(dtype: str) -> str:
    """The C type of items in memory."""
    return "__half" if dtype == "f16" else TYPES[dtype]


def loaded(dtype: str, text: str) -> str:
    return f"__half2float({text})" if dtype == "f16" else text


def saved(dtype: str, text: str) -> str:
    return f"__float2half_rn({text})" if dtype == "f16" else text


def moved_in(kind: str, name: str, at: str, vector: bool) -> str:
    """Load four items, or the one that is the same for them."""
    if not vector:
        return f"const {kind} v_{name} = {at};"
    return f"const Four<{kind}> v_{name} = *(const Four<{kind}>*)&{at};"


def moved_out(kind: str, name: str, at: str) -> str:
    """Store four items."""
    return f"*(Four<{kind}>*)&{at} = v_{name};"


def statements(body: Sequence[Instr]) -> list[str]:
    """Steps as C statements, with the lines of the user."""
    return [with_origin(f"{TYPES[i.result]} {i.name} = {expression(i)};", i.origin) for i in body]


def with_origin(text: str, origin: str) -> str:
    return f"{text:<48}  // {origin}" if origin else text


def expression(instr: Instr) -> str:
    """What one step computes."""
    if instr.op == "cast":
        return rounded(instr, f"({TYPES[instr.result]}){instr.args[0]}")
    text = FORMS[instr.op].text.format(*instr.args, f="" if instr.dtype == "f64" else "f")
    narrow = instr.result in ("i8", "u8", "i16", "u16")
    return rounded(instr, f"({TYPES[instr.result]})({text})" if narrow else text)


def rounded(instr: Instr, text: str) -> str:
    return f"half_({text})" if instr.result == "f16" else text


class KernelSource(NamedTuple):
    """The text of a kernel, its steps, and the dtypes in it."""

    text: str
    body: Sequence[Instr]
    dtypes: frozenset[str]
    entries: tuple[str, ...]
    rows: bool = False  # it has reductions within rows


def source_of(name: str, launch: Launch) -> KernelSource:
    """The text of a loop over items."""
    kernel = launch.kernel
    text = template("chainwright.codegen.cuda_target", "kernel.cu.j2").render(
        kernel=KernelText(name, launch))
    dtypes = frozenset((*(o.dtype for o in kernel.operands), *kernel.numbers))
    entries = (name, f"{name}_by_four") if launch.by_four else (name,)
    return KernelSource(text, kernel.body, dtypes, entries)


def cuda_text(kernels: Sequence[KernelSource], rows: str = "") -> str:
    """The text of all kernels of a program; nothing where there are none.

    ``rows`` is what those with reductions within rows need.
    """
    if not kernels:
        return ""
    lines = _preamble(kernels) + ([rows] if any(k.rows for k in kernels) else [])
    return "\n\n".join(["\n".join(lines), *(k.text.rstrip() for k in kernels)]) + "\n"


def _preamble(kernels: Sequence[KernelSource]) -> list[str]:
    dtypes = {i.result for k in kernels for i in k.body}.union(*(k.dtypes for k in kernels))
    used = {(i.op, "double" if i.dtype == "f64" else "float") for k in kernels for i in k.body}
    lines = ["#include <cuda_fp16.h>", "", _HALF] if "f16" in dtypes else []
    for name in ("max", "min"):
        for T, f in (("float", "f"), ("double", "")):
            if (f"{name}imum", T) in used:
                lines.append(_MAXIMUM.format(T=T, name=name, f=f))
    return [*lines, _FOUR]
