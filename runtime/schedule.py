"""Schedules: a compiled forward program, its backward programs, and their buffers.

In: graphs. Out: ``forward(arrays)`` and ``backward(key, ...)``. Buffers that one call fills and
its backward reads belong to that call until it is dropped, so calls never overwrite each other;
scratch buffers are lent for the length of one program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from chainwright.codegen.numpy_target import NUMPY
from chainwright.ir import Built, Graph, build

_IDLE = 4  # buffer sets kept for calls to come


class Pool:
    """Lends sets of buffers; ``list.append`` and ``list.pop`` make it safe between threads."""

    __slots__ = ("_new", "idle")

    def __init__(self, new: Callable[[], tuple[Any, ...]]) -> None:
        self._new = new
        self.idle: list[tuple[Any, ...]] = []

    def take(self) -> tuple[Any, ...]:
        try:
            return self.idle.pop()
        except IndexError:
            return self._new()

    def give(self, buffers: tuple[Any, ...]) -> None:
        if len(self.idle) < _IDLE:
            self.idle.append(buffers)


class Kept:
    """What one forward call keeps for its backward."""

    __slots__ = ("values", "_buffers", "_pool")

    def __init__(self, values: tuple[Any, ...], buffers: tuple[Any, ...], pool: Pool) -> None:
        self.values, self._buffers, self._pool = values, buffers, pool

    def __del__(self) -> None:
        self._pool.give(self._buffers)


class Schedule:
    """The programs of one recorded call.

    ``forward`` is the recorded graph, ``backwards`` the recorded gradients by which outputs have
    one. Compiling happens here, once.
    """

    def __init__(self, forward: Graph, backwards: Mapping[Hashable, Graph], title: str) -> None:
        started = time.perf_counter()
        self.recorded = forward
        self.built: Built = build(forward, backwards, NUMPY.passes)
        n_saved = len(self.built.saved)
        self._n = len(self.built.forward.outputs) - n_saved
        self.program = NUMPY.program(self.built.forward, title, n_saved)
        self.backward_programs = {
            key: NUMPY.program(graph, f"{title} backward")
            for key, graph in self.built.backwards.items()
        }
        self._forward = self.program.load()
        self._run = self._forward.function
        self._scratch = Pool(self._forward.new_scratch)
        self._kept = Pool(self._forward.new_kept)
        self.backwards = {
            key: Backward(program.load(), self.built.backwards[key])
            for key, program in self.backward_programs.items()
        }
        self._saves = bool(self.backwards)
        self.seconds = time.perf_counter() - started

    def forward(self, arrays: tuple[Any, ...]) -> tuple[tuple[Any, ...], Kept | None]:
        """Run the forward program; the second result is to be held until backward is done."""
        scratch, kept = self._scratch.take(), self._kept.take()
        results = self._run(*arrays, scratch, kept)
        self._scratch.idle.append(scratch)
        if self._saves:
            n = self._n
            return results[:n], Kept(results[n:], kept, self._kept)
        self._kept.give(kept)
        return results, None

    def trim(self) -> None:
        """Let go of buffers that no call uses."""
        for pool in (self._scratch, self._kept, *(b.scratch for b in self.backwards.values())):
            pool.idle.clear()

    @property
    def source(self) -> str:
        """The generated programs."""
        texts = [self.program.source, *(p.source for p in self.backward_programs.values())]
        return "\n\n".join(texts)


class Backward:
    """Runs a backward program: ``(kept values, gradients) -> gradients of the inputs``."""

    def __init__(self, loaded: Any, graph: Graph) -> None:
        self._run = loaded.function
        self.scratch = Pool(loaded.new_scratch)
        saved = [p for p in graph.inputs if p.attr("kind") == "saved"]
        self._picks: tuple[int, ...] = tuple(p.attr("index") for p in saved)

    def __call__(self, values: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        scratch = self.scratch.take()
        results = self._run(*[values[k] for k in self._picks], *gradients, scratch, ())
        self.scratch.idle.append(scratch)
        return results
