"""Array code of define-by-run on a device: kernels of its own in the place of CuPy's calls.

As on the host (`runtime/eager.py`) the first calls with arrays of some layout are CuPy's, and the
first run of a program is compared with them, bit for bit, which waits for the device once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from chainwright.codegen.cuda_target import CudaTarget
from chainwright.ir import Graph, build
from chainwright.ir.passes import PASSES_ANYWHERE

from ..native import same_bits

logger = logging.getLogger("chainwright")


class DeviceFunction:
    """A function on arrays of one layout, on one device.

    ``calls`` counts the calls that CuPy has done; ``run`` is there when there is a program.
    """

    def __init__(self, title: str, cupy: Any, device: int) -> None:
        self.title, self._cupy, self._device = title, cupy, device
        self.calls = 0
        self.run: Callable[..., Any] | None = None
        self._loaded: Any = None
        self._trusted = False

    def compile(self, graph_of: Callable[[], Graph | None]) -> None:
        """Make the program; where there is none, or no kernel in it, the calls stay CuPy's."""
        try:
            graph = graph_of()
            if graph is None:
                return
            target = CudaTarget(self._cupy, exact=True)
            built = build(graph, {}, target.passes, PASSES_ANYWHERE)
            program = target.program(built.forward, self.title)
            if program.cuda:
                with self._cupy.cuda.Device(self._device):
                    self._loaded = program.load()
                self.run = self._loaded.function
        except Exception:
            logger.warning("%s stays calls of CuPy", self.title, exc_info=True)

    def __call__(self, arrays: tuple[Any, ...], plain: Callable[[], Any]) -> Any:
        if not self._trusted:
            return self._first(arrays, plain())
        results = self._results(arrays)
        return results[0] if len(results) == 1 else results

    def _results(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        assert self.run is not None
        with self._cupy.cuda.Device(self._device):
            # From CuPy's pool for each call: the memory belongs to the current stream.
            return self.run(*arrays, self._loaded.new_scratch(), ())

    def _first(self, arrays: tuple[Any, ...], wanted: Any) -> Any:
        """What CuPy gives; kernels that fail or give anything else are not used again."""
        if self._cupy.cuda.get_current_stream().is_capturing():
            return wanted  # to compare would end the capture
        given = wanted if type(wanted) is tuple else (wanted,)
        try:
            self._trusted = all(
                a.strides == b.strides and same_bits(a.get(), b.get())
                for a, b in zip(self._results(arrays), given, strict=True)
            )
        except Exception:
            logger.warning("%s stays calls of CuPy", self.title, exc_info=True)
            self.run = None
        else:
            if not self._trusted:
                logger.warning("%s stays calls of CuPy: its kernels gave other bits", self.title)
                self.run = None
        return wanted
