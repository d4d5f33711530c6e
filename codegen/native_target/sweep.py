"""One loop over many sets of arrays: what an optimizer does with all parameters, in one call.

In: a graph of elementwise nodes over one axis, recorded once for sets of arrays of any number and
size; its other inputs are single numbers, whose values are given at each call. Out: a
:class:`Loop`, and for the sets at hand a :class:`Sweep`, the table that native code runs by.

An update writes over what it reads. So results go to a few kilobytes of memory first, and from
there to their places when no floating-point flag was raised; where one was, the sweep stops, and
whoever called does the rest of that set by NumPy calls, which warn or raise as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir import Graph, Node
from chainwright.ir.kernel import STRIDE, Kernel

from .driver import (
    CHECKS,
    COPY,
    DONE,
    FIRST,
    ITEMS,
    KERNEL,
    MASK,
    MOST_OPERANDS,
    N_BASES,
    N_ITEMS,
    N_OPERANDS,
    OPERANDS,
    PLACE,
    RAISED,
    RESULTS,
    SHARED,
    SWEEP_HEAD,
    TABLE,
    TILE,
)
from .forms import Forms
from .groups import Fused
from .program import Base, Linker, check_of, set_addresses
from .steps import Place

__all__ = ["DONE", "RAISED", "SHARED", "Items", "Loop", "Sweep", "loop_of", "same_walk"]

_TILE_BYTES = 1 << 12  # of each result: what a tile touches stays in the nearest cache


class Loop(NamedTuple):
    """``reads`` and ``writes`` say which inputs of the graph the kernel's operands are.

    A result without an input (its entry is None) has an array of its own in each set, after those
    of the inputs.
    """

    kernel: Kernel
    table: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int | None, ...]
    is_number: tuple[bool, ...]  # of each input
    dtype: np.dtype[Any]


def loop_of(graph: Graph, writes: Sequence[int | None], forms: Forms) -> Loop | None:
    """The loop of a graph whose results are written to these inputs; None if it is none."""
    nodes = _needed(graph)
    if not nodes or any(forms.of(node) != "loop" for node in nodes):
        return None
    if len(set(graph.outputs)) < len(graph.outputs) or any(x.is_leaf for x in graph.outputs):
        return None
    kinds = {x.dtype for x in (*graph.inputs, *graph.outputs)}
    fused = Fused(_Alone(graph.outputs), nodes, by_rows=False)
    step = fused.step()
    kernel = step.function
    if len(kinds) > 1 or not isinstance(kernel, Kernel) or len(kernel.operands) > MOST_OPERANDS:
        return None
    if kernel.ndim > 1 or any(x.inner == STRIDE for x in kernel.operands):
        return None
    place = {node: k for k, node in enumerate(graph.inputs)}
    order = [x for x in nodes if x in set(graph.outputs)]
    goals = [writes[graph.outputs.index(x)] for x in order]
    numbers = tuple(not node.dims for node in graph.inputs)
    table = tuple(x for x in step.table if isinstance(x, int))
    (dtype,) = kinds
    assert dtype is not None
    reads = tuple(place[x] for x in fused.inputs)
    return Loop(kernel, table, reads, tuple(goals), numbers, dtype)


def _needed(graph: Graph) -> list[Node]:
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.inputs)
    return [node for node in graph.nodes if node in needed and not node.is_leaf]


class _Alone:
    """The memory of a loop by itself."""

    fast = False

    def __init__(self, stored: Sequence[Node]) -> None:
        self.stored = set(stored)

    def place(self, x: Node, strides: tuple[int, ...]) -> Place:
        return Place(x, 0, 0)


def same_walk(arrays: Sequence[np.ndarray]) -> bool:
    """Whether arrays have their elements in one piece and in the same order."""
    first = arrays[0]
    if not first.size or any(a.strides != first.strides for a in arrays):
        return False
    if first.flags.c_contiguous or first.flags.f_contiguous:
        return True
    return first.transpose(np.argsort(first.strides)[::-1]).flags.c_contiguous


class Items(NamedTuple):
    """The sets of a sweep: their arrays, and where the numbers of each begin among all."""

    arrays: list[tuple[np.ndarray, ...]]
    numbers: list[int]


class Sweep:
    """Calls native code: ``sweep((code, numbers, *arrays))``, the arrays set by set.

    ``stopped`` is where it has stopped if the result is not :data:`DONE`: the set, and how many of
    its elements are done; :meth:`go_on` says from which set the next call is to begin.
    """

    def __init__(self, loop: Loop, items: Items, linker: Linker) -> None:
        self.loop = loop
        size = loop.dtype.itemsize
        tile = _TILE_BYTES // size
        operands = (*loop.reads, *loop.writes)
        n_results = len(loop.writes)
        memory = np.empty(n_results * _TILE_BYTES + 64, np.uint8)
        self._memory = memory[-memory.ctypes.data % 64 :]
        code = [0] * SWEEP_HEAD
        code[CHECKS] = len(code)
        code += [-1, -1]  # the program itself, and the numbers
        width = len(items.arrays[0])
        for arrays in items.arrays:
            for a in arrays:
                code += check_of(Base("", (a.shape, a.dtype, a.strides)), linker)
        code[N_BASES] = 2 + width * len(items.arrays)
        code[TABLE] = len(code)
        code += loop.table
        code[OPERANDS], code[N_OPERANDS] = len(code), len(operands)
        for k in loop.reads:
            code += [0 if loop.is_number[k] else size, -1]
        for k in range(n_results):
            code += [size, k * _TILE_BYTES]
        code[ITEMS], code[N_ITEMS] = len(code), len(items.arrays)
        place = _places(loop)
        for k, arrays in enumerate(items.arrays):
            slots, offsets, fresh = [], [], width - loop.writes.count(None)
            for x in operands:
                number = x is not None and loop.is_number[x]
                if x is None:
                    at, fresh = fresh, fresh + 1
                else:
                    at = place[x]
                slots.append(1 if number else 2 + k * width + at)
                offsets.append(size * (items.numbers[k] + at) if number else 0)
            code += [arrays[0].size, *slots, *offsets]
        set_addresses(code, linker)
        code[COPY], code[KERNEL] = linker.libc("memcpy"), linker.kernel(loop.kernel)
        code[TILE], code[RESULTS] = tile, self._memory.ctypes.data
        self.code = np.array(code, np.int64)
        brief = sum(arrays[0].nbytes for arrays in items.arrays) < 1 << 16
        self.call: Callable[[Any], int] = linker.callable("sweep", brief)
        self._flags = linker.flags

    def heed(self, kinds: Sequence[str]) -> None:
        """Stop at floating-point errors of these kinds (``over``, ``invalid`` ...)."""
        self.code[MASK] = sum(getattr(self._flags, kind) for kind in kinds)

    @property
    def stopped(self) -> tuple[int, int]:
        return int(self.code[FIRST]), int(self.code[PLACE])

    def go_on(self, item: int) -> None:
        self.code[FIRST], self.code[PLACE] = item, 0


def _places(loop: Loop) -> list[int]:
    """Where each input stands: among the arrays of a set, or among its numbers."""
    counts = {True: 0, False: 0}
    places = []
    for number in loop.is_number:
        places.append(counts[number])
        counts[number] += 1
    return places
