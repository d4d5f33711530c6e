"""Sweeps on a device: one launch for many sets of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from chainwright.codegen.cuda_target import options
from chainwright.codegen.cuda_target.sweep import NAME, SweepText, numbers_of, sweep_text

__all__ = ["DeviceSweep", "SweepText", "overlap", "sweep_text"]

_THREADS, _MOST_BLOCKS = 256, 512  # of blocks for each set


class DeviceSweep:
    """A kernel over sets of arrays on one device; compiled when it is made.

    Raises:
        CompileException: CuPy's, of a text that does not compile.
    """

    def __init__(self, text: SweepText, cupy: Any) -> None:
        self.text, self._cupy = text, cupy
        module = cupy.RawModule(code=text.code, options=options(exact=True))
        self._kernel = module.get_function(NAME)
        self._known: bytes = b""
        self._table: Any = None

    def place(self, sets: Sequence[tuple[Any, ...]]) -> bool:
        """Have the sets be those of the next launch; whether any address is another one."""
        entries = np.array([(s[0].size, *[a.data.ptr for a in s]) for s in sets], np.int64)
        known = entries.tobytes()
        if known == self._known:
            return False
        self._table, self._known = self._cupy.asarray(entries), known
        self._largest = int(entries[:, 0].max())
        return True

    def launch(self, numbers: Sequence[float]) -> None:
        """Compute what the loop computes, for all sets, in the current stream."""
        blocks = min(-(-self._largest // (4 * _THREADS)), _MOST_BLOCKS)
        arguments = (self._table, *numbers_of(self.text.loop, numbers), *self.text.constants)
        self._kernel((blocks, len(self._table)), (_THREADS,), arguments)


def overlap(arrays: Iterable[Any]) -> bool:
    """Whether any two arrays on a device share memory."""
    spans = sorted((a.data.ptr, a.data.ptr + a.nbytes) for a in arrays)
    return any(end > start for (_, end), (start, _) in pairwise(spans))
