"""Schedules for arrays of any sizes.

In: graphs whose shapes are polynomials of symbols. Out: what a :class:`~.schedule.Schedule` gives,
for arrays of all sizes between those of the probes.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from typing import Any

from chainwright.codegen import Program
from chainwright.codegen.numpy_target.any_size import NotAnySize as NotAnySize
from chainwright.codegen.numpy_target.any_size import any_size_program
from chainwright.ir import Graph, Stage, build, stages
from chainwright.ir.passes import Pass, drop_dead, merge_common
from chainwright.ir.unify import with_sizes

from .arenas import pools
from .options import OPTIONS
from .schedule import Backward, Kept, Runner, Schedule

#: Passes that do not look at sizes.
PASSES: tuple[Pass, ...] = (drop_dead, merge_common, drop_dead)


class AnySizeSchedule(Schedule):
    """The programs of calls with arrays of any sizes, of NumPy calls.

    Their first inputs are the lengths of the ``symbols``, in their order.
    """

    def __init__(
        self,
        forward: Graph,
        backwards: Mapping[Hashable, Graph],
        symbols: int,
        title: str,
    ) -> None:
        started = time.perf_counter()
        self.recorded, self.recorded_backwards, self.title = forward, backwards, title
        self.target, self.exact = "numpy", True
        self._cut = self.built = build(forward, backwards, (), PASSES)
        saved, self._symbols = len(self.built.saved), symbols
        self._n = len(self.built.forward.outputs) - saved
        self.program = any_size_program(
            with_sizes(self.built.forward, symbols, "argument", 0), title, saved)
        self._runner = Runner(self.program)
        self._earlier = {}
        self.backward_programs: dict[Hashable, Program] = {}
        self.backwards = {}
        for key, graph in self.built.backwards.items():
            sized = with_sizes(graph, symbols, "saved", saved)
            self.backward_programs[key] = any_size_program(sized, f"{title} backward")
            self.backwards[key] = _Backward(self.backward_programs[key], sized, self)
        self.seconds = time.perf_counter() - started
        self._tell()

    def forward(self, arrays: tuple[Any, ...]) -> tuple[tuple[Any, ...], Kept | None]:
        """Run the forward program; the second result is to be held until backward is done."""
        runner = self._runner
        function = runner.profile.function if OPTIONS.profile() else runner.function
        results = function(*arrays, (), ())
        if not self.backwards:
            return results, None
        n = self._n
        return results[:n], Kept((*results[n:], *arrays[: self._symbols]), (), runner.kept)

    @property
    def passes(self) -> list[Stage]:
        """The graph after each pass, made again."""
        return stages(self.recorded, self.recorded_backwards, (), self._cut, PASSES)


class _Backward(Backward):
    """A backward for any sizes; always as a whole."""

    def __init__(self, program: Program, graph: Graph, schedule: AnySizeSchedule) -> None:
        super().__init__(program, graph, schedule, pools)
        self._sections = ()
