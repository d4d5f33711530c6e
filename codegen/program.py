"""A generated program: its source, what it refers to, and the memory it runs in."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .plan.arena import ALIGNMENT, View

_count = itertools.count(1)
# Numbers of programs that are gone are given again: Python never lets go of a file name.
_free: list[int] = []
# Their entries in linecache go with the next program of the main thread: while somebody walks
# through the cache, as ``linecache.checkcache`` does for each traceback, neither garbage collection
# nor the thread that compiles may take any away.
_gone: set[str] = set()
# What Python has shown of the warnings of each title. Whoever is shown a warning once for each
# place sees it once, not again for each of the programs that a function of theirs is part of.
_shown: dict[str, dict[Any, Any]] = {}


@dataclass(frozen=True)
class Program:
    """What a target makes of a graph: a Python function and the memory it runs in.

    ``constants`` are the module-level names of ``source`` that it does not define itself, and
    those it does, by value. ``intermediate_bytes`` counts every value the program computes.
    """

    source: str
    constants: Mapping[str, Any]
    name: str
    title: str
    scratch_bytes: int
    kept_bytes: int
    intermediate_bytes: int
    scratch: tuple[View, ...]
    kept: tuple[View, ...]

    def load(self) -> Loaded:
        """Compile the source under a file name of its own, which tracebacks and pdb can show."""
        number = _free.pop() if _free else next(_count)
        filename = f"<chainwright {self.title} {number}>"
        _gone.discard(filename)
        if threading.current_thread() is threading.main_thread():
            with contextlib.suppress(KeyError):  # there are no more
                while True:
                    linecache.cache.pop(_gone.pop(), None)
        space = {**self.constants, "__warningregistry__": _shown.setdefault(self.title, {})}
        source = self.source.encode(errors="backslashreplace")  # names of files may be any bytes
        exec(compile(source, filename, "exec"), space)
        function = space.pop(self.name)
        space.update(self.constants)  # np.empty may have been something else just now
        linecache.cache[filename] = (
            len(self.source),
            None,
            self.source.splitlines(keepends=True),
            filename,
        )
        weakref.finalize(function, _forget, filename, number)
        return Loaded(self, function, filename)


def _forget(filename: str, number: int) -> None:
    _gone.add(filename)
    _free.append(number)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program ready to run: ``function(*inputs, scratch, kept)`` gives a tuple of outputs."""

    program: Program
    function: Callable[..., tuple[Any, ...]]
    filename: str

    def new_scratch(self) -> tuple[np.ndarray, ...]:
        """Memory for one run at a time."""
        return allocate(self.program.scratch_bytes, self.program.scratch)

    def new_kept(self) -> tuple[np.ndarray, ...]:
        """Memory for the values that one forward run saves for backward."""
        return allocate(self.program.kept_bytes, self.program.kept)


def allocate(size: int, views: Sequence[View]) -> tuple[np.ndarray, ...]:
    """One new arena and the arrays in it."""
    return arrays_in(memory_of(size), views)


def memory_of(size: int) -> np.ndarray:
    """New memory, aligned."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    return memory[-memory.ctypes.data % ALIGNMENT :][:size]


def arrays_in(memory: np.ndarray, views: Sequence[View]) -> tuple[np.ndarray, ...]:
    """The arrays in an arena; equal views are one object."""
    made: dict[View, np.ndarray] = {}
    for view in views:
        if view not in made:
            made[view] = _array(memory, view)
    return tuple(made[view] for view in views)


def _array(memory: np.ndarray, view: View) -> np.ndarray:
    return np.ndarray(view.shape, view.dtype, memory.data, view.offset, view.strides)
