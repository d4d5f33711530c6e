"""Schedules on a CUDA device: the same graphs, as programs of kernels and CuPy calls.

Work is put into the caller's current stream. Memory that programs share between calls belongs to
the stream in which it was first used, as that of CuPy's own pool does.
"""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from chainwright.codegen import Program, Target
from chainwright.codegen.cuda_target import CudaTarget, KernelError, NotOnDevice
from chainwright.codegen.program import Loaded
from chainwright.ir import Graph, Stage, build, stages
from chainwright.ir.alias import roots_of
from chainwright.ir.passes import PASSES_ANYWHERE

from ..arenas import IDLE, MakePools, Pool
from ..options import OPTIONS
from ..schedule import Backward, Runner, Schedule, programs_of
from .graphs import GraphedProgram
from .profile import DeviceProfile

#: What CuPy adds with atomic operations, in another order each time.
_UNORDERED = frozenset({
    "add_at", "add_rows", "add_at_places", "max_pooling_scatter", "roi_scatter",
})  # fmt: skip


class DeviceError(Exception):
    """A graph cannot run on the device as programs; the text says why."""


class StreamPool(Pool):
    """Lends sets of buffers, to each stream its own."""

    __slots__ = ("_stream", "_idle", "_home")

    def __init__(self, new: Callable[[], tuple[Any, ...]], stream: Callable[[], Any]) -> None:
        self._new, self._stream = new, stream
        self.lent, self.back, self.room = {}, deque(), IDLE
        self._idle: dict[int, list[tuple[Any, ...]]] = {}
        self._home: dict[int, int] = {}

    @property
    def idle(self) -> list[tuple[Any, ...]]:  # type: ignore[override]
        return self._idle.setdefault(self._stream().ptr, [])

    def take(self) -> tuple[Any, ...]:
        self.put_away()  # to their streams: whatever has come back first may be another's
        buffers = Pool.take(self)
        if buffers:
            self._home[id(buffers)] = self._stream().ptr
        return buffers

    def give(self, buffers: tuple[Any, ...]) -> None:
        """Back to the stream in which the buffers were taken."""
        home = self._home.pop(id(buffers), None)
        if home is not None and len(idle := self._idle.setdefault(home, [])) < self.room:
            idle.append(buffers)

    def trim(self) -> None:
        self.put_away()
        self._idle.clear()


class DeviceSchedule(Schedule):
    """The programs of one recorded call on the device ``device`` of the module ``cupy``.

    Raises:
        DeviceError: CuPy lacks a function, or the generated text does not compile.
    """

    def __init__(
        self,
        forward: Graph,
        backwards: Mapping[Hashable, Graph],
        title: str,
        cupy: Any,
        device: int,
        exact: bool | None = None,
    ) -> None:
        started = time.perf_counter()
        self.recorded, self.recorded_backwards = forward, backwards
        self.title, self.target = title, "cuda"
        self.exact = OPTIONS.exact() if exact is None else exact
        self.native_programs, self._left = None, -1
        self._earlier, self.native_seconds, self.native_is_coming = {}, 0.0, False
        self._device = functools.partial(_Device, cupy, device)
        self._target = target = CudaTarget(cupy, self.exact)
        self.built = build(forward, backwards, target.passes, PASSES_ANYWHERE)
        self._n = len(self.built.forward.outputs) - len(self.built.saved)
        self.kept_arguments = _kept_arguments(self.built.forward, self._n)
        graphs = self.built.forward, *self.built.backwards.values()
        self.repeatable = not any(n.op in _UNORDERED for graph in graphs for n in graph.nodes)

        def pools(loaded: Loaded) -> tuple[Pool, Pool]:
            stream = cupy.cuda.get_current_stream
            return StreamPool(loaded.new_scratch, stream), StreamPool(loaded.new_kept, stream)

        try:
            with self._device(f"{title}, compiled"):
                programs = programs_of(target, self.built, title)
                self._runner = Runner(programs[0], pools)
                self._graphed = [graphed(self._runner, self.built.forward, title, cupy)]
                self.backwards = {
                    key: _Backward(program, self.built.backwards[key], self, pools)
                    for key, program in programs[1].items()
                }
                self._graphed += [
                    graphed(backward.runner, self.built.backwards[key], backward._title, cupy)
                    for key, backward in self.backwards.items()
                ]
        except (KernelError, NotOnDevice) as error:
            raise DeviceError(str(error)) from error
        self.program, self.backward_programs = programs
        self._saves = bool(self.backwards)
        self.seconds = time.perf_counter() - started

    def forward(self, arrays: tuple[Any, ...]) -> Any:
        with self._device(self.title):
            return super().forward(arrays)

    @property
    def cuda_graphs(self) -> list[GraphedProgram]:
        """What is captured of the programs: forward, and each backward."""
        return self._graphed

    def trim(self) -> None:
        super().trim()
        for program in self._graphed:
            program.forget()

    @property
    def passes(self) -> list[Stage]:
        """The graph after each pass, made again."""
        passes = self._target.passes
        return stages(self.recorded, self.recorded_backwards, passes, None, PASSES_ANYWHERE)

    def go_native(self) -> None:
        """Nothing: programs for a device come in one form."""


def _kept_arguments(graph: Graph, n: int) -> list[tuple[int, int]]:
    """Which of the values that are kept for backward are arguments, or views of them: of which."""
    roots, known = roots_of(graph.nodes), {node: k for k, node in enumerate(graph.inputs)}
    kept = [roots.get(node, node) for node in graph.outputs[n:]]
    return [(k, known[root]) for k, root in enumerate(kept) if root in known]


def graphed(runner: Runner, graph: Graph, title: str, cupy: Any) -> GraphedProgram:
    """Have a program launched as CUDA graphs, where it can be, and timed as those of devices."""
    program = GraphedProgram(runner.function, graph, title, cupy)
    runner.function, runner.make_profile = program, DeviceProfile
    return program


class _Device:
    """A context in which one device is the current one; for profilers a range of NVTX.

    There is one for each call: a Device is no context of two threads.
    """

    __slots__ = ("_device", "_name", "_nvtx")

    def __init__(self, cupy: Any, number: int, name: str) -> None:
        self._device, self._name = cupy.cuda.Device(number), name
        self._nvtx = cupy.cuda.nvtx

    def __enter__(self) -> None:
        self._nvtx.RangePush(self._name)
        self._device.__enter__()

    def __exit__(self, *args: Any) -> None:
        self._device.__exit__(*args)
        self._nvtx.RangePop()


class _Backward(Backward):
    def __init__(
        self, program: Program, graph: Graph, schedule: DeviceSchedule, make_pools: MakePools
    ) -> None:
        super().__init__(program, graph, schedule, make_pools)
        self._device = schedule._device
        self._title = f"{schedule.title} backward"

    def __call__(self, values: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        with self._device(self._title):
            return super().__call__(values, gradients)

    def load_parts(self, target: Target) -> None:
        """Nothing: on a device backward runs as a whole."""
