"""The memory plan: where in one arena each buffer lies, by the time in which it is needed."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

ALIGNMENT = 64


class Span(NamedTuple):
    """The bytes a buffer needs, and the first and last line that touch it."""

    nbytes: int
    start: int
    stop: int


class View(NamedTuple):
    """An array in an arena."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]


def place(spans: Mapping[Any, Span]) -> tuple[dict[Any, int], int]:
    """Offsets for all buffers such that no two of one time overlap, and the size of the arena."""
    arena = _Arena()
    offsets: dict[Any, int] = {}
    ends: list[tuple[int, int]] = []
    for order, (key, span) in enumerate(sorted(spans.items(), key=lambda item: item[1].start)):
        del order
        while ends and -ends[-1][0] < span.start:
            _, offset = ends.pop()
            arena.release(offset)
        offsets[key] = arena.take(span.nbytes)
        insort(ends, (-span.stop, offsets[key]))
    return offsets, arena.size


class _Arena:
    """Gaps in order of their place; the best fitting gap is taken."""

    def __init__(self) -> None:
        self.size = 0
        self._gaps: list[tuple[int, int]] = []
        self._taken: dict[int, int] = {}

    def take(self, nbytes: int) -> int:
        need = max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT
        fitting = [(stop - start, start) for start, stop in self._gaps if stop - start >= need]
        if fitting:
            length, start = min(fitting)
            self._gaps.remove((start, start + length))
            if length > need:
                insort(self._gaps, (start + need, start + length))
        else:
            start = self._at_end()
            self.size = start + need
        self._taken[start] = need
        return start

    def _at_end(self) -> int:
        """Grow the last gap where it touches the end."""
        if self._gaps and self._gaps[-1][1] == self.size:
            return self._gaps.pop()[0]
        return self.size

    def release(self, start: int) -> None:
        stop = start + self._taken.pop(start)
        for gap in [gap for gap in self._gaps if gap[1] == start or gap[0] == stop]:
            self._gaps.remove(gap)
            start, stop = min(start, gap[0]), max(stop, gap[1])
        insort(self._gaps, (start, stop))
