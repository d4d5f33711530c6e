"""What the parts of a program on a device cost, and ranges of NVTX around them for profilers.

The device is waited for after each part. Ranges are named after the functions of a part; what
serves none of them has no range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chainwright.codegen.cuda_target import CudaProgram

from ..profile import Profile

_KERNEL = re.compile(r"\b(kernel\d+)\b")
_ORIGINS = re.compile(r"^// (kernel\d+): (.*)$", re.MULTILINE)


class DeviceProfile(Profile):
    """Times of the parts of a program; while one runs, a range of NVTX is open."""

    def __init__(self, program: CudaProgram) -> None:
        self._cuda = program.cupy.cuda
        self._open = False
        super().__init__(program)

    def _function(self, program: Any) -> Callable[..., Any]:
        constants = {**program.constants, "_start": self._start, "_mark": self._mark}
        timed = replace(program, constants=constants, title=f"{program.title}, timed",
                        source=self._with_marks(program.source, program.name))
        origins = {name: tuple(text.split(", ")) for name, text in _ORIGINS.findall(program.cuda)}
        for row in self.rows:
            for name in _KERNEL.findall(row.text)[:1]:
                row.lines = origins.get(name, ())
        function = timed.load().function

        def run(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            finally:
                self._close()

        return run

    def _start(self) -> None:
        self._enter(0)
        super()._start()

    def _mark(self, k: int) -> None:
        self._cuda.get_current_stream().synchronize()
        super()._mark(k)
        self._close()
        self._enter(k + 1)

    def _enter(self, k: int) -> None:
        if k < len(self.rows) and self.rows[k].lines:
            self._cuda.nvtx.RangePush(self.rows[k].functions)
            self._open = True

    def _close(self) -> None:
        if self._open:
            self._cuda.nvtx.RangePop()
            self._open = False
