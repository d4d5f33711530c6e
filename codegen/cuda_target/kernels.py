"""A :class:`~chainwright.ir.kernel.Kernel` as CUDA C: one function for an item, loops around it.

Sizes and strides are arguments. Where the innermost axis allows it, there is a second form of the
loop that moves four items at a time. Half precision is computed in single precision and rounded
after each step, as CuPy's functions do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from chainwright.ir.kernel import SAME, UNIT, Instr, Kernel, Operand
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
    kind = np.dtype("float16" if dtype == "f16" else _NUMPY[dtype])
    value = np.frombuffer(np.int64(bits).tobytes()[: kind.itemsize], kind)[0]
    return np.float32(value) if dtype == "f16" else value


_NUMPY = {"bool": "bool", **{f"{a}{n}": f"{b}{n}" for a, b, sizes in (
    ("f", "float", (32, 64)), ("i", "int", (8, 16, 32, 64)), ("u", "uint", (8, 16, 32, 64)))
    for n in sizes}}


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
        lines = []
        for instr in self.launch.kernel.body:
            text = f"{TYPES[instr.result]} {instr.name} = {expression(instr)};"
            lines.append(f"{text:<48}  // {instr.origin}" if instr.origin else text)
        return [*lines, *(f"{operand} = {value};" for operand, value in self.launch.kernel.stores)]

    @property
    def parameters(self) -> str:
        items = [f"const {stored(o)}* __restrict__ {o.name}" for o in self.reads]
        items += [f"{stored(o)}* __restrict__ {o.name}" for o in self.writes]
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
        reads = [load(o, f"{o.name}[{places[o.name]}]") for o in self.reads]
        lines.append(self._call([*reads], [f"y_{o.name}" for o in self.writes]))
        return [*lines, *(f"{o.name}[{places[o.name]}] = {store(o, f'y_{o.name}')};"
                          for o in self.writes)]

    @property
    def four(self) -> list[str]:
        """The loop over vectors; nothing where there are none."""
        if not self.launch.by_four:
            return []
        lines, places = self._places()
        for o in self.reads:
            at = f"{o.name}[{places[o.name]}]"
            lines.append(
                f"const {stored(o)} v_{o.name} = {at};" if o.inner == SAME else
                f"const Four<{stored(o)}> v_{o.name} = *(const Four<{stored(o)}>*)&{at};")
        lines += [f"Four<{stored(o)}> v_{o.name};" for o in self.writes]
        lines += ["#pragma unroll", "for (int k = 0; k < 4; k++) {"]
        lines += [f"  {TYPES[o.dtype]} y_{o.name};" for o in self.writes]
        reads = [load(o, f"v_{o.name}" if o.inner == SAME else f"v_{o.name}.at[k]")
                 for o in self.reads]
        lines.append(f"  {self._call(reads, [f'y_{o.name}' for o in self.writes])}")
        lines += [f"  v_{o.name}.at[k] = {store(o, f'y_{o.name}')};" for o in self.writes]
        lines.append("}")
        return [*lines, *(f"*(Four<{stored(o)}>*)&{o.name}[{places[o.name]}] = v_{o.name};"
                          for o in self.writes)]

    def _call(self, reads: list[str], writes: list[str]) -> str:
        numbers = [name for name, _ in self.numbers]
        return f"{self.name}_item({', '.join([*reads, *numbers, *writes])});"


def stored(operand: Operand) -> str:
    """The C type of an operand's items in memory."""
    return "__half" if operand.dtype == "f16" else TYPES[operand.dtype]


def load(operand: Operand, text: str) -> str:
    return f"__half2float({text})" if operand.dtype == "f16" else text


def store(operand: Operand, text: str) -> str:
    return f"__float2half_rn({text})" if operand.dtype == "f16" else text


def expression(instr: Instr) -> str:
    """What one step computes."""
    if instr.op == "cast":
        return rounded(instr, f"({TYPES[instr.result]}){instr.args[0]}")
    text = FORMS[instr.op].text.format(*instr.args, f="" if instr.dtype == "f64" else "f")
    narrow = instr.result in ("i8", "u8", "i16", "u16")
    return rounded(instr, f"({TYPES[instr.result]})({text})" if narrow else text)


def rounded(instr: Instr, text: str) -> str:
    return f"half_({text})" if instr.result == "f16" else text


def cuda_text(launches: dict[str, Launch]) -> str:
    """The text of all kernels of a program, by their names; nothing where there are none."""
    if not launches:
        return ""
    kernels = [KernelText(name, launch) for name, launch in launches.items()]
    return template("chainwright.codegen.cuda_target", "kernels.cu.j2").render(
        preamble=_preamble([k.launch.kernel for k in kernels]), kernels=kernels)


def _preamble(kernels: Sequence[Kernel]) -> list[str]:
    dtypes = {o.dtype for k in kernels for o in k.operands}
    dtypes |= {i.result for k in kernels for i in k.body} | {d for k in kernels for d in k.numbers}
    used = {(i.op, "double" if i.dtype == "f64" else "float") for k in kernels for i in k.body}
    lines = ["#include <cuda_fp16.h>", "", _HALF] if "f16" in dtypes else []
    for name in ("max", "min"):
        for T, f in (("float", "f"), ("double", "")):
            if (f"{name}imum", T) in used:
                lines.append(_MAXIMUM.format(T=T, name=name, f=f))
    return [*lines, _FOUR]
