"""Elementwise code over many sets of arrays at once: for updates of all parameters.

In: a graph that was recorded for one set (see :mod:`chainwright.codegen.native_target.sweep`).
Out: a :class:`SweepCode`, which native code is compiled for as the target asks: at once, by the
thread in the background after a few calls, or not at all.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.sweep import (
    DONE,
    RAISED,
    Items,
    Loop,
    Sweep,
    loop_of,
    same_walk,
)
from chainwright.ir import Graph

from .background import BACKGROUND
from .interrupts import pass_on
from .native import native_target
from .options import OPTIONS

__all__ = ["DONE", "RAISED", "Items", "Sweep", "SweepCode", "same_walk"]

logger = logging.getLogger("chainwright")

_CALLS = 3  # before native code is asked for in the background


class SweepCode:
    """The native loop of a graph, as soon as there is one.

    ``record`` gives the graph and which inputs its results are written to (None for a result with
    an array of its own); it is called when it is time to compile.
    """

    def __init__(
        self, title: str, record: Callable[[], tuple[Graph, Sequence[int | None]]]
    ) -> None:
        self.title, self._record = title, record
        self.loop: Loop | None = None
        self._calls = 0
        self.hopeless = False  # there is no native form

    def ready(self) -> bool:
        """Whether sweeps can be made; counts the calls."""
        target = OPTIONS.target()
        if target == "numpy" or self.hopeless:
            return False
        if self.loop is not None:
            return True
        if target == "native":
            self.compile()
            return self.loop is not None
        self._calls += 1
        if self._calls == _CALLS + 1:
            myself = weakref.ref(self)

            def compile_in_background() -> None:
                code = myself()
                if code is not None:
                    code.compile()

            BACKGROUND.do(compile_in_background)
        return False

    def compile(self) -> None:
        """Make the loop; without one, whoever calls goes on as before."""
        target = native_target()
        if target is None:
            self.hopeless = True
            return
        try:
            graph, writes = self._record()
            loop = loop_of(graph, writes, Forms(target.machine))
            if loop is not None:
                target.linker.kernel(loop.kernel)
        except Exception as error:
            pass_on(error)
            logger.warning("%s stays calls of NumPy", self.title, exc_info=True)
            self.hopeless = True
            return
        self.loop = loop
        self.hopeless = loop is None

    def distrust(self) -> None:
        """It gives other values than NumPy's calls: do not use it any more."""
        logger.warning(
            "%s: native code gave other values than the loop over parameters, which is used from "
            "now on. Please report it", self.title,
        )
        self.hopeless = True

    def over(self, items: Items) -> Sweep:
        """The sweep over sets of arrays."""
        target = native_target()
        assert self.loop is not None and target is not None
        return Sweep(self.loop, items, target.linker)
