"""Native programs that run one after the other on parts of the same arrays, in one call.

In: programs of one segment, each for a step of a loop: a :class:`Part` for each number of rows
that a step may have. Out: the table of a *series*, which says for each step which program it is,
and where in the arrays its operands begin. So a loop of any number of steps needs no code.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from chainwright.ir import Graph

from .driver import (
    CHECKS,
    ITEMS,
    MASK,
    MOST_OPERANDS,
    N_BASES,
    N_ITEMS,
    POOL,
    SERIES_HEAD,
    WIDTH,
)
from .program import ADDRESS, BRIEF_BYTES, Linker, NativeProgram, set_addresses


class Part:
    """The program of a step; its operands are the inputs of a graph, and then its results.

    ``code`` is what runs, ``memory`` how many bytes it takes to work in, ``bytes`` how many all of
    its values have, ``shares`` whether threads may take part. ``operands`` says of each base but
    the first which operand that is; behind these is the memory.
    """

    def __init__(
        self, code: np.ndarray, operands: Sequence[int], memory: int, nbytes: int, shares: bool
    ) -> None:
        self.code, self.address, self.operands = code, code.ctypes.data, [*operands]
        self.memory, self.bytes, self.shares = memory, nbytes, shares

    @classmethod
    def of(cls, graph: Graph, program: NativeProgram, linker: Linker) -> Part | None:
        """The part that a program is; None if it is more than one run of native code."""
        if len(program.segments) != 1:
            return None
        (segment,) = program.segments.values()
        settlement = segment.settlement
        located = settlement.inputs | settlement.outputs
        values = [*graph.inputs, *graph.outputs]
        places = dict[int, int]()
        for k, node in enumerate(values):
            if node in located and located[node].view is None:
                places[located[node].slot] = k
            elif node in located or k >= len(graph.inputs):
                return None  # a result that is no array of its own, or no array to the segment
        if len(set(values)) < len(values):
            return None
        operands = list[int]()
        for slot, base in enumerate(segment.bases, 1):
            if slot not in places and base.layout is not None:
                return None  # a constant
            operands.append(places.get(slot, len(values)))
        if segment.commits or len(operands) >= MOST_OPERANDS:
            return None
        code = segment.link(linker)
        facts = program.scratch_bytes, program.intermediate_bytes, segment.shares
        return cls(code, operands, *facts)

    @classmethod
    def between(cls, rows: Sequence[int], parts: Sequence[Part], n: int) -> Part | None:
        """That for ``n`` rows, of those for fewer, for some between, and for more rows.

        None if these differ in anything that does not grow by the same for each row.
        """
        few, some, many = parts
        facts = {(len(p.code), *p.operands, p.shares) for p in parts}
        if len(facts) > 1:
            return None
        low, middle, high = rows
        grows, rest = np.divmod(many.code - few.code, high - low)
        wrong = (rest != 0) | (few.code + grows * (middle - low) != some.code)
        if wrong.any() or grows[many.code >= ADDRESS].any():
            return None
        code = few.code + grows * (n - low)
        return cls(code, few.operands, many.memory, many.bytes, few.shares)

    def item(self, most: int) -> list[int]:
        """What tables say of it, where programs have that many bases at most."""
        return [self.address, *self.operands, *[0] * (most - len(self.operands))]


def series(
    parts: Sequence[Part], which: np.ndarray, offsets: np.ndarray, linker: Linker
) -> np.ndarray:
    """The table of a series.

    Args:
        parts: The programs.
        which: For each step, which of these it is.
        offsets: For each step, and each operand and the memory to work in, at which byte of its
            array it begins.
        linker: Knows the addresses.
    """
    steps, slots = offsets.shape
    most = max([len(part.operands) for part in parts])
    head, width = SERIES_HEAD + 1 + slots, 1 + 2 * most
    table = np.empty(head + steps * width, np.int64)
    table[:head] = -1  # nothing is asked for of an array
    table[:SERIES_HEAD] = _head(linker)
    table[N_BASES] = 1 + slots
    table[N_ITEMS], table[ITEMS], table[WIDTH] = steps, head, width
    items = table[head:].reshape(steps, width)
    programs = np.array([part.item(most) for part in parts])
    items[:, 0] = programs[which, 0]
    operands = programs[:, 1:]
    if (operands == operands[0]).all():
        items[:, 1::2] = operands[0] + 1
        items[:, 2::2] = offsets[:, operands[0]]
    else:
        operands = operands[which]
        np.add(operands, 1, out=items[:, 1::2])
        items[:, 2::2] = np.take_along_axis(offsets, operands, 1)
    return table


@functools.cache
def _head(linker: Linker) -> np.ndarray:
    """What all tables begin with."""
    head = np.zeros(SERIES_HEAD, np.int64)
    set_addresses(head, linker)
    head[CHECKS], head[MASK] = SERIES_HEAD, linker.flags.all
    return head


def is_brief(parts: Sequence[Part], steps: int) -> bool:
    """Whether a series is to keep the GIL: taking it back would take longer."""
    most = max([part.bytes for part in parts])
    return steps * most < BRIEF_BYTES and not any([part.shares for part in parts])


def wake(parts: Sequence[Part], pool: int) -> None:
    """Let the threads of a pool take part."""
    for part in parts:
        if part.shares and part.code[POOL] != pool:
            part.code[POOL] = pool
