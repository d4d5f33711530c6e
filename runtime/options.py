"""What schedules ask of the settings of whoever uses them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from chainwright.ir import Graph

#: ``numpy``: programs of NumPy calls. ``native``: native code at once. ``auto``: native code as
#: soon as a thread in the background has made it.
TARGETS = ("numpy", "native", "auto")

#: So much memory takes a device longer to go through than the launches for it take the host.
SCRATCH = 1 << 27


def default_target() -> str:
    """``CHAINWRIGHT_TARGET`` of the environment, or ``auto``."""
    return checked(os.environ.get("CHAINWRIGHT_TARGET") or "auto")


def checked(name: str) -> str:
    """The name of a target.

    Raises:
        ValueError: There is none of this name.
    """
    if name not in TARGETS:
        raise ValueError(f"there is no target {name!r} here: {', '.join(TARGETS)}")
    return name


@functools.cache
def blas_threads() -> int:
    """How many threads NumPy's BLAS uses, as far as that can be found out."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0]
        if text.isdigit() and int(text) > 0:
            return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Record = Callable[[Callable[..., Any], list[Any], dict[str, Any]], Graph | None]


class Options:
    """Where a :class:`~chainwright.runtime.Schedule` finds its settings; a front end sets them.

    ``target`` gives the target of schedules that do not name one, ``exact`` whether their bits are
    to be those of NumPy's calls, ``threads`` how many threads run a program; ``budget`` whether
    it is looked at the clock before something is compiled (a number), or not (None); ``profile``
    whether the parts of programs are timed, and ``timed`` hears of each, its name and its seconds;
    ``scratch`` how many bytes of memory on a device a library function may take besides its
    results; ``record`` makes the graph of array code: of a function, the layouts of its arrays
    (shape, dtype, strides), and its settings.
    """

    def __init__(self) -> None:
        self.profile: Callable[[], bool] = lambda: False
        self.timed: Callable[[str, float], None] = lambda name, seconds: None
        self.target: Callable[[], str] = default_target
        self.budget: Callable[[], float | None] = lambda: None
        self.exact: Callable[[], bool] = lambda: True
        self.threads: Callable[[], int] = blas_threads
        self.graphs: Callable[[], bool] = lambda: True
        self.scratch: Callable[[], int] = lambda: SCRATCH
        self.record: Record | None = None


OPTIONS = Options()
