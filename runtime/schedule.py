"""Schedules: a compiled forward program, its backward programs, and their buffers.

In: graphs. Out: ``forward(arrays)`` and ``backward(key, ...)``. Buffers that one call fills and
its backward reads belong to that call until it is dropped, so calls never overwrite each other;
scratch buffers are lent for the length of one program.

Programs come in tiers: NumPy calls at once, native code when it is ready. The programs of both make
the same values from the same inputs, so that one can take the place of the other between two calls,
and between a forward run and its backward.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from chainwright.codegen import Program, Target
from chainwright.codegen.native_target import NativeProgram
from chainwright.codegen.native_target.llvm import kernel_text
from chainwright.codegen.numpy_target import NUMPY
from chainwright.ir import (
    Built,
    Graph,
    Section,
    Stage,
    build,
    output_places,
    prepare,
    sections,
    stages,
)

from .arenas import Buffers, MakePools, pools
from .background import BACKGROUND
from .interrupts import pass_on
from .logs import LOGS, tell
from .native import fast_target, native_target
from .native.engine import python_seconds
from .options import OPTIONS, checked
from .profile import Profile

logger = logging.getLogger("chainwright")

Tell = Callable[[int, Any], None]

_HITS = 3  # calls before native code is asked for
_RAN = 5e-3  # seconds that forward has run by then: what is over sooner needs none


class Kept:
    """What one forward call keeps for its backward."""

    __slots__ = ("values", "__weakref__")

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


class Runner:
    """A loaded program with the buffers that it lends to calls."""

    __slots__ = ("function", "make_profile", "scratch", "kept", "_program", "_profile")

    def __init__(self, program: Program, make_pools: MakePools = pools) -> None:
        loaded = program.load()
        self.function = loaded.function
        self.make_profile: Callable[[Any], Profile] = Profile
        self._program = program
        self._profile: Profile | None = None
        self.scratch, self.kept = make_pools(loaded)

    def run(
        self, function: Callable[..., Buffers], inputs: Sequence[Any], kept: Buffers = ()
    ) -> Buffers:
        """Call the program, or what does the same, with scratch memory."""
        scratch = self.scratch.take()
        try:
            return function(*inputs, scratch, kept)
        finally:
            self.scratch.give(scratch)

    @property
    def profile(self) -> Profile:
        """The times of the parts of the program; its ``function`` does the same as the program."""
        if self._profile is None:
            self._profile = self.make_profile(self._program)
        return self._profile

    @property
    def profiled(self) -> bool:
        """Whether there are any times."""
        return self._profile is not None

    def trim(self) -> None:
        self.scratch.trim()
        self.kept.trim()


class Schedule:
    """The programs of one recorded call.

    ``forward`` is the recorded graph, ``backwards`` the recorded gradients by which outputs have
    one. ``target`` is 'numpy', 'native' (compiled here, once) or 'auto' (compiled by a thread in
    the background after a few calls); without one, ``options.OPTIONS`` says. Where there is no
    native code, NumPy programs run in any case. What is not ``exact`` has other last bits, once
    native code runs.
    """

    repeatable = True  # whether the functions give the same bits each time
    #: The native forms of all programs; None as long as there are none.
    native_programs: tuple[NativeProgram, dict[Hashable, NativeProgram]] | None = None
    native_seconds = 0.0  # that it took to make them
    native_is_coming = False  # whether it is being compiled in the background
    native_takes_long = False  # so that nobody asks for it before it is known to pay
    #: Told of the seconds of Python, which other threads have waited for.
    on_native: Callable[[float], None] | None = None
    #: Asked, with the seconds that forward has run for, and how often it has, whether native code
    #: is worth its time; without it, that is so once it has run for ``_RAN``.
    native_pays: Callable[[float, int], bool] | None = None
    _left = -1  # calls until native code is asked for
    _ran, _runs = 0.0, 0  # seconds of forward, while it is waited for, and how often it has run

    def __init__(
        self,
        forward: Graph,
        backwards: Mapping[Hashable, Graph],
        title: str,
        target: str | None = None,
        exact: bool | None = None,
    ) -> None:
        started = time.perf_counter()
        self.recorded, self.recorded_backwards = forward, backwards
        self.title = title
        self.target = checked(OPTIONS.target() if target is None else target)
        self.exact = OPTIONS.exact() if exact is None else exact
        self._cut = build(forward, backwards, ())
        self.built: Built = self._cut.prepared(NUMPY.passes)
        n_saved = len(self.built.saved)
        self._n = len(self.built.forward.outputs) - n_saved
        programs = programs_of(NUMPY, self.built, title)
        self.program, self.backward_programs = programs
        self._earlier: dict[str, Profile] = {}  # times of NumPy programs, until native ones ran
        self._runner = Runner(self.program)
        self.backwards = {
            key: Backward(program, self._cut.backwards[key], self)
            for key, program in self.backward_programs.items()
        }
        self._saves = bool(self.backwards)
        if self.target == "auto":
            self._left = _HITS
        if self.target == "native":
            self.go_native()
        self.seconds = time.perf_counter() - started
        self._tell()

    def _tell(self) -> None:
        """Write graphs and programs where they are asked for."""
        if LOGS:
            graphs = (self.built.forward, *self.built.backwards.values())
            tell("graph", self.title, "\n\n".join(map(str, graphs)))
            tell("code", self.title, self.source)

    def forward(self, arrays: tuple[Any, ...]) -> tuple[tuple[Any, ...], Kept | None]:
        """Run the forward program; the second result is to be held until backward is done."""
        started = time.perf_counter() if self._left >= 0 else 0.0
        runner = self._runner
        function = runner.profile.function if OPTIONS.profile() else runner.function
        kept = runner.kept.take()
        try:
            results = runner.run(function, arrays, kept)
        except BaseException:
            runner.kept.give(kept)
            raise
        if started:
            self._ran += time.perf_counter() - started
            self._count_down()
        if self._saves:
            n = self._n
            held = Kept(results[n:])
            runner.kept.lend(kept, held)
            return results[:n], held
        runner.kept.give(kept)
        return results, None

    def _count_down(self) -> None:
        self._runs += 1
        if self._left > 0:
            self._left -= 1
            return
        asked = self.native_pays
        pays = self._ran >= _RAN if asked is None else asked(self._ran, self._runs)
        if pays or OPTIONS.budget() is None:
            self.ask_for_native()

    def ask_for_native(self) -> None:
        """Have native code compiled in the background, if nobody has asked for it before."""
        if self._left < 0:
            return
        self._left, self.native_is_coming = -1, True
        myself = weakref.ref(self)

        def compile_in_background() -> None:
            schedule = myself()
            if schedule is not None:
                try:
                    schedule.go_native()
                finally:
                    schedule.native_is_coming = False

        BACKGROUND.do(compile_in_background)

    def go_native(self) -> None:
        """Compile native code, to run from the next call on; if it fails, NumPy programs stay."""
        native = native_target() if self.exact else fast_target()
        if native is None or self.native_programs is not None:
            return
        started, used = time.perf_counter(), python_seconds()
        try:
            programs = programs_of(native, self._cut.prepared(native.passes), self.title)
            forward = Runner(programs[0])
            backwards = {key: Runner(program) for key, program in programs[1].items()}
        except Exception as error:
            pass_on(error)
            logger.warning("%s stays a program of NumPy calls", self.title, exc_info=True)
            return
        self._earlier = self.profiles
        self._runner = forward
        for key, runner in backwards.items():
            self.backwards[key].runner = runner
        self.native_seconds = time.perf_counter() - started
        self.native_programs = programs  # type: ignore[assignment]
        if self.on_native is not None:
            self.on_native(python_seconds() - used)
        tell("code", f"{self.title}, native", self.listing)
        for backward in self.backwards.values():
            backward.load_parts(native)

    def trim(self) -> None:
        """Let go of buffers that no call uses."""
        for runner in (self._runner, *(b.runner for b in self.backwards.values())):
            runner.trim()

    @property
    def passes(self) -> list[Stage]:
        """The graph after each pass, made again."""
        return stages(self.recorded, self.recorded_backwards, NUMPY.passes, self._cut)

    @property
    def profiles(self) -> dict[str, Profile]:
        """Times of the programs that ran while ``OPTIONS.profile`` was on, by their part."""
        runners = {"forward": self._runner}
        backwards = enumerate(self.backwards.values(), 1)
        runners.update((f"backward {k}", backward.runner) for k, backward in backwards)
        timed = {part: runner.profile for part, runner in runners.items() if runner.profiled}
        return self._earlier | timed

    @property
    def source(self) -> str:
        """The generated programs, as calls of NumPy whatever runs."""
        texts = [self.program.source, *(p.source for p in self.backward_programs.values())]
        return "\n\n".join(texts)

    @property
    def listing(self) -> str:
        """What the native code does, C-like, with the user's lines; empty where there is none."""
        if self.native_programs is None:
            return ""
        forward, backwards = self.native_programs
        return "\n\n".join(p.listing for p in (forward, *backwards.values()))

    @property
    def llvm(self) -> str:
        """The LLVM text of the kernels, each once; empty where there are none."""
        if self.native_programs is None:
            return ""
        forward, backwards = self.native_programs
        kernels = [k for p in (forward, *backwards.values()) for k in p.kernels]
        return "\n".join({kernel.key: kernel_text(kernel) for kernel in kernels}.values())


def programs_of(
    target: Target, built: Built, title: str
) -> tuple[Program, dict[Hashable, Program]]:
    """What a target makes of a forward graph and of its backward graphs."""
    forward = target.program(built.forward, title, len(built.saved))
    backwards = {
        key: target.program(graph, f"{title} backward") for key, graph in built.backwards.items()
    }
    return forward, backwards


class Backward:
    """Runs a backward program: ``(kept values, gradients) -> gradients of the inputs``.

    It can run in parts, too, of which each gives some of the gradients: for those who have a use
    for a gradient before the others are there.
    """

    def __init__(
        self, program: Program, graph: Graph, schedule: Schedule, make_pools: MakePools = pools
    ) -> None:
        self.runner = Runner(program, make_pools)
        saved = [p for p in graph.inputs if p.attr("kind") == "saved"]
        self._picks: tuple[int, ...] = tuple(p.attr("index") for p in saved)
        self._graph, self._schedule = graph, weakref.ref(schedule)
        self._sections: tuple[Section, ...] | None = None
        self._parts: Parts | None = None

    def __call__(self, values: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        runner = self.runner
        function = runner.profile.function if OPTIONS.profile() else runner.function
        return runner.run(function, [*[values[k] for k in self._picks], *gradients])

    def in_parts(
        self, values: tuple[Any, ...], gradients: tuple[Any, ...], least: int, tell: Tell
    ) -> tuple[Any, ...]:
        """Run part by part, and tell of each result by its number as soon as it is there.

        Each part but the last makes results of at least ``least`` bytes, the first time counts.
        While there is no code for the parts yet, or there is a single one, the whole program runs.
        """
        if self._sections is None:
            self._ask_for_parts(least)
        if self._parts is not None:
            return self._parts.run([*[values[k] for k in self._picks], *gradients], tell)
        results = self(values, gradients)
        for k, array in enumerate(results):
            tell(k, array)
        return results

    def _ask_for_parts(self, least: int) -> None:
        self._sections = sections(self._graph, least)
        schedule = self._schedule()
        if schedule is None:
            return
        native = native_target() if schedule.native_programs is not None else None
        if native is None:
            self.load_parts(NUMPY)
        elif schedule.target == "native":
            self.load_parts(native)
        else:
            BACKGROUND.do(lambda: self.load_parts(native))

    def load_parts(self, target: Target) -> None:
        """Have the parts, if somebody has asked for them, run as programs of a target."""
        schedule = self._schedule()
        if self._sections is None or len(self._sections) == 1 or schedule is None:
            return
        try:
            self._parts = Parts(target, self._graph, self._sections, schedule.title)
        except Exception as error:  # what ran before goes on running
            pass_on(error)
            logger.warning(
                "%s: the parts of backward cannot be compiled", schedule.title, exc_info=True
            )


class Parts:
    """The programs of a backward's sections."""

    def __init__(
        self, target: Target, graph: Graph, parts: tuple[Section, ...], title: str
    ) -> None:
        self._steps = [
            (Runner(_section_program(target, part, f"{title} backward, part {k}")), part)
            for k, part in enumerate(parts, 1)
        ]
        self._places = output_places(graph, parts)

    def run(self, there: list[Any], tell: Tell) -> tuple[Any, ...]:
        """Compute the results from the inputs, to which ``there`` adds what is computed."""
        for runner, part in self._steps:
            there += runner.run(runner.function, [there[k] for k in part.takes])
            for k, place in part.finishes:
                tell(k, there[place])
        return tuple([there[place] for place in self._places])


def _section_program(target: Target, part: Section, title: str) -> Program:
    return target.program(prepare(part.graph, target.passes), title)
