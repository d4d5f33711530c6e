"""One kernel over many sets of arrays: what an optimizer does with all parameters, in one launch.

In: a loop that was recorded for one set (see :mod:`..native_target.sweep`). Out: its CUDA text. The
kernel takes the address of a table with one entry for each set, its number of items and the
addresses of its arrays; numbers that are the same for all sets are arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from chainwright.ir import Graph, Node
from chainwright.ir.template import template

from ..native_target.steps import dtype_name
from ..native_target.sweep import Loop, loop_of
from .kernels import (
    KernelSource,
    KernelText,
    Launch,
    cuda_text,
    moved_in,
    moved_out,
    number_of,
)
from .ops import TYPES, takes

NAME = "update"


class _Forms:
    """Steps that kernels take are loops."""

    def of(self, node: Node) -> str | None:
        return "loop" if takes(node) else None


class SweepText(NamedTuple):
    """The text of a sweep, and what a launch hands over besides the table and the numbers."""

    code: str
    loop: Loop
    constants: tuple[np.generic, ...]
    width: int  # of an entry of the table


def sweep_text(graph: Graph, writes: Sequence[int | None], title: str) -> SweepText | None:
    """The kernel of a graph whose results are written to these inputs; None if there is none."""
    forms = _Forms()
    loop = loop_of(graph, writes, forms)  # type: ignore[arg-type]
    if loop is None:
        return None
    parts = _Parts(loop, title)
    text = template("chainwright.codegen.cuda_target", "sweep.cu.j2").render(kernel=parts)
    kernel = loop.kernel
    dtypes = frozenset((dtype_name(loop.dtype), *kernel.numbers))
    source = KernelSource(text, kernel.body, dtypes, (NAME,))
    bits = loop.table[len(loop.table) - len(kernel.numbers) :]
    constants = tuple(map(number_of, kernel.numbers, bits))
    return SweepText(cuda_text([source]), loop, constants, parts.width)


class _Parts:
    """The parts of the text, for the template."""

    name = NAME

    def __init__(self, loop: Loop, title: str) -> None:
        self.loop, self.title = loop, title
        reads = [o for o in loop.kernel.operands if not o.out]
        self.writes = [o for o in loop.kernel.operands if o.out]
        pairs = list(zip(reads, loop.reads, strict=True))
        self.arrays = [(o, k) for o, k in pairs if not loop.is_number[k]]
        self.numbers = [(o, k) for o, k in pairs if loop.is_number[k]]
        self.kind = TYPES[dtype_name(loop.dtype)]
        strides = tuple((0,) for _ in loop.kernel.operands)
        self._item = KernelText(NAME, Launch(loop.kernel, (4,), strides, ()))
        self._reads = reads

    @property
    def item_parameters(self) -> str:
        return self._item.item_parameters

    @property
    def body(self) -> list[str]:
        return self._item.body

    @property
    def parameters(self) -> str:
        numbers = [f"{self.kind} {o.name}" for o, _ in self.numbers]
        numbers += [f"{TYPES[d]} c{k}" for k, d in enumerate(self.loop.kernel.numbers)]
        return ", ".join(["const long long* __restrict__ sets", *numbers])

    @cached_property
    def places(self) -> dict[int, int]:
        """Where an entry of the table has each array among the inputs."""
        inputs = [k for k, number in enumerate(self.loop.is_number) if not number]
        return {k: 1 + place for place, k in enumerate(inputs)}

    @property
    def width(self) -> int:
        return 1 + len(self.places) + self.loop.writes.count(None)

    @cached_property
    def _addresses(self) -> list[tuple[str, str, int]]:
        """Types, names and places of the pointers."""
        found = [(f"const {self.kind}", o.name, self.places[k]) for o, k in self.arrays]
        fresh = 1 + len(self.places)
        for o, k in zip(self.writes, self.loop.writes, strict=True):
            found.append((self.kind, o.name, fresh if k is None else self.places[k]))
            fresh += k is None
        return found

    @property
    def pointers(self) -> list[str]:
        return [f"{kind}* {name} = ({kind}*)set[{place}];"
                for kind, name, place in self._addresses]

    @property
    def addresses(self) -> str:
        places = sorted({place for _, _, place in self._addresses})
        return " | ".join(f"set[{place}]" for place in places)

    def _call(self, values: dict[str, str]) -> str:
        reads = [values.get(o.name, o.name) for o in self._reads]
        numbers = [f"c{k}" for k in range(len(self.loop.kernel.numbers))]
        writes = [f"y_{o.name}" for o in self.writes]
        return f"{NAME}_item({', '.join([*reads, *numbers, *writes])});"

    @property
    def one(self) -> list[str]:
        lines = [f"{self.kind} y_{o.name};" for o in self.writes]
        lines.append(self._call({o.name: f"{o.name}[i]" for o, _ in self.arrays}))
        return [*lines, *(f"{o.name}[i] = y_{o.name};" for o in self.writes)]

    @property
    def four(self) -> list[str]:
        lines = [moved_in(self.kind, o.name, f"{o.name}[i]", vector=True) for o, _ in self.arrays]
        lines += [f"Four<{self.kind}> v_{o.name};" for o in self.writes]
        lines += ["#pragma unroll", "for (int k = 0; k < 4; k++) {"]
        lines += [f"  {self.kind} y_{o.name};" for o in self.writes]
        lines.append("  " + self._call({o.name: f"v_{o.name}.at[k]" for o, _ in self.arrays}))
        lines += [f"  v_{o.name}.at[k] = y_{o.name};" for o in self.writes]
        lines.append("}")
        return [*lines, *(moved_out(self.kind, o.name, f"{o.name}[i]") for o in self.writes)]


def numbers_of(loop: Loop, numbers: Sequence[float]) -> list[np.generic]:
    """The numbers of a launch that the kernel reads, in its order."""
    inputs = [k for k, number in enumerate(loop.is_number) if number]
    return [loop.dtype.type(numbers[inputs.index(k)]) for k in loop.reads if loop.is_number[k]]
