"""What schedules ask of the settings of whoever uses them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from chainwright.ir import Graph

#: ``numpy``: programs of NumPy calls. ``native``: native code at once. ``auto``: native code as
#: soon as a thread in the background has made it.
TARGETS = ("numpy", "native", "auto")


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


class Options:
    """Where a :class:`~chainwright.runtime.Schedule` finds its settings; a front end sets them.

    ``target`` gives the target of schedules that do not name one, ``exact`` whether their bits are
    to be those of NumPy's calls; ``budget`` whether it is looked at the clock before something is
    compiled (a number), or not (None); ``profile`` whether the parts of programs are timed, and
    ``timed`` hears of each, its name and its seconds; ``record`` makes the graph of
    array code: of a function, the layouts of its arrays (shape, dtype, strides), and its settings.
    """

    def __init__(self) -> None:
        self.profile: Callable[[], bool] = lambda: False
        self.timed: Callable[[str, float], None] = lambda name, seconds: None
        self.target: Callable[[], str] = default_target
        self.budget: Callable[[], float | None] = lambda: None
        self.exact: Callable[[], bool] = lambda: True
        self.record: Callable[[Callable[..., Any], list[Any], dict[str, Any]], Graph] | None = None


OPTIONS = Options()
