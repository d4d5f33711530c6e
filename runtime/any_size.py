"""Schedules for arrays of any sizes.

In: graphs whose shapes are polynomials of symbols. Out: what a :class:`~.schedule.Schedule` gives,
for arrays of all sizes between those of the probes. Calls of NumPy come first; native code, for the
sizes that have come until then, takes over between two calls (see :mod:`~chainwright.codegen
.native_target.any_size`). It counts as long as it gives the bits of NumPy's calls, to which its
first results are compared.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from chainwright.codegen import Program
from chainwright.codegen.native_target.any_size import Elsewhere, Written
from chainwright.codegen.native_target.any_size import any_size_program as native_program
from chainwright.codegen.numpy_target.any_size import NotAnySize as NotAnySize
from chainwright.codegen.numpy_target.any_size import any_size_program
from chainwright.ir import Graph, Stage, build, prepare, stages
from chainwright.ir.graph import is_effect
from chainwright.ir.instance import graph_at
from chainwright.ir.passes import Pass, drop_dead, merge_common, simplify
from chainwright.ir.size import Probe, Share
from chainwright.ir.unify import Different, with_sizes

from .arenas import pools
from .interrupts import pass_on
from .native import native_target, same_bits
from .native.engine import python_seconds
from .options import OPTIONS
from .schedule import Backward, Kept, Runner, Schedule

logger = logging.getLogger("chainwright")

#: Passes that do not look at sizes.
PASSES: tuple[Pass, ...] = (drop_dead, merge_common, drop_dead)
#: Those of its instances: what depends on sizes is not computed beforehand.
AT_PROBES: tuple[Pass, ...] = (drop_dead, simplify, merge_common, drop_dead)
_HITS, _AT_ONCE = 12, 3  # calls before native code is asked for; where nothing is to be waited for
_COMPARED = 3  # calls by native code that are compared with those of NumPy
_MADE = 3  # times that native code is made, each for more sizes
_OUTSIDE = 0.25  # of the calls: where more have other sizes, it is made anew
_SEEN = 16  # sizes of calls that are remembered
_ONE = 1  # a length that is left to NumPy, whose products and sums of one row are others
#: Sizes between a least and a largest one at which a graph is to be looked at; calls had the last.
Probes = Callable[[Sequence[int], Sequence[int], Sequence[Probe]], list[Probe]]


class AnySizeSchedule(Schedule):
    """The programs of calls with arrays of any sizes.

    Their first inputs are the lengths of the ``symbols``, in their order. ``probes`` gives sizes
    between bounds.
    """

    native_takes_long = True

    def __init__(
        self,
        forward: Graph,
        backwards: Mapping[Hashable, Graph],
        symbols: int,
        title: str,
        probes: Probes | None = None,
    ) -> None:
        started = time.perf_counter()
        self.recorded, self.recorded_backwards, self.title = forward, backwards, title
        self.target, self.exact = OPTIONS.target(), True
        self._cut = self.built = build(forward, backwards, (), PASSES)
        saved, self._symbols = len(self.built.saved), symbols
        self._n = len(self.built.forward.outputs) - saved
        self._sized = with_sizes(self.built.forward, symbols, "argument", 0)
        self.program = any_size_program(self._sized, title, saved)
        self._runner = Runner(self.program)
        self._earlier = {}
        self.backward_programs: dict[Hashable, Program] = {}
        self.backwards = {}
        self._sized_backwards: dict[Hashable, Graph] = {}
        for key, graph in self.built.backwards.items():
            sized = with_sizes(graph, symbols, "saved", saved)
            self._sized_backwards[key] = sized
            self.backward_programs[key] = any_size_program(sized, f"{title} backward")
            self.backwards[key] = _Backward(self.backward_programs[key], sized, self)
        self._probes = probes
        self._native: _Native | None = None  # forward
        self._least: tuple[int, ...] = ()  # lengths that have come
        self._largest: tuple[int, ...] = ()
        self._seen: dict[Probe, None] = {}
        self._made = self._calls = self._outside = 0
        if probes is not None and self.target != "numpy":
            self._left = _AT_ONCE if self.target == "native" else _HITS
        self.seconds = time.perf_counter() - started
        self._tell()

    def forward(self, arrays: tuple[Any, ...]) -> tuple[tuple[Any, ...], Kept | None]:
        """Run the forward program; the second result is to be held until backward is done."""
        sizes, native = arrays[: self._symbols], self._native
        results = None  # a size that is not known yet is None
        if self._probes is not None:
            self._see(sizes, native)
        if native is not None and not OPTIONS.profile():
            results = native.run(sizes, arrays, self._runner.function)
        if results is None:
            is_counted = self._left >= 0 and _ONE not in sizes
            started = time.perf_counter() if is_counted else 0.0
            runner = self._runner
            function = runner.profile.function if OPTIONS.profile() else runner.function
            results = function(*arrays, (), ())
            if started:
                self._ran += time.perf_counter() - started
                self._count_down()
        if not self.backwards:
            return results, None
        n = self._n
        return results[:n], Kept((*results[n:], *sizes))

    @property
    def has_native(self) -> bool:
        """Whether some calls run native code."""
        return self._native is not None

    def _see(self, sizes: tuple[int, ...], native: _Native | None) -> None:
        """Know between which lengths calls are."""
        if native is not None:
            self._calls += 1
            if not native.takes(sizes):
                self._outside += _ONE not in sizes
                if self._may_be_made_anew() and self._outside > max(_HITS, _OUTSIDE * self._calls):
                    # Until these have run long enough.
                    self._left, self._ran, self._runs = 0, 0.0, 0
            elif self._left < 0:
                return
        sizes = tuple([n or 0 for n in sizes])
        if len(self._seen) < _SEEN:
            self._seen[sizes] = None
        if not self._least:
            self._least = self._largest = sizes
        elif any([n < m for n, m in zip(sizes, self._least, strict=True)]) or any(
                [n > m for n, m in zip(sizes, self._largest, strict=True)]):
            self._least = tuple(map(min, self._least, sizes))
            self._largest = tuple(map(max, self._largest, sizes))

    def _may_be_made_anew(self) -> bool:
        return self._left < 0 and not self.native_is_coming and self._made < _MADE

    def go_native(self) -> None:
        """Compile native code for sizes like those that have come, to run from the next call on."""
        native = native_target()
        if native is None or self._probes is None or not self._least:
            return
        self._made += 1
        self._calls = self._outside = 0
        started, used = time.perf_counter(), python_seconds()
        try:
            # Calls go on, and may make them wider.
            bounds = tuple([max(n, _ONE + 1) if n else 0 for n in self._least]), self._largest
            probes = self._probes(*bounds, [seen for seen in list(self._seen) if _ONE not in seen])
            forward = _Native(self._sized, probes, bounds, self.title)
            backwards = {
                key: _Native(graph, probes, bounds, f"{self.title} backward")
                for key, graph in self._sized_backwards.items()}
            for made in (forward, *backwards.values()):
                made.finish()
        except Different as e:
            logger.info("%s stays a program of NumPy calls: %s", self.title, e)
            return
        except Exception as e:
            pass_on(e)
            logger.warning("%s stays a program of NumPy calls", self.title, exc_info=True)
            return
        for key, made in backwards.items():
            self.backwards[key].native = made  # type: ignore[attr-defined]
        self._native = forward
        self.native_seconds += time.perf_counter() - started
        if self.on_native is not None:
            self.on_native(python_seconds() - used)

    def _count_down(self) -> None:
        if self.target == "native":
            self._left -= 1
            if self._left < 0:
                self.go_native()
            return
        super()._count_down()

    def trim(self) -> None:
        """Let go of buffers that no call uses."""
        super().trim()
        for native in (self._native, *[b.native for b in self.backwards.values()]):  # type: ignore
            if native is not None:
                native.runner.trim()

    @property
    def passes(self) -> list[Stage]:
        """The graph after each pass, made again."""
        return stages(self.recorded, self.recorded_backwards, (), self._cut, PASSES)


class _Native:
    """Native code of a graph, for sizes between bounds."""

    def __init__(
        self, graph: Graph, probes: Sequence[Probe], bounds: tuple[Probe, Probe], title: str
    ) -> None:
        target = native_target()
        assert target is not None
        self.title, self._bounds = title, bounds
        passes = (*AT_PROBES, *target.passes)
        self._graph, self._written = graph, Written(
            lambda probe: prepare(graph_at(graph, probe), passes), probes, target, title)
        self._compared = 0 if not any(map(is_effect, graph.nodes)) else _COMPARED
        self._is_wrong = False

    def finish(self) -> None:
        """Have the program: that it is likely to come to one was looked at before.

        Raises:
            Different: If there is none, after all.
        """
        self.runner = Runner(native_program(self._written, _shares_in(self._graph)))
        del self._graph, self._written

    def takes(self, sizes: Probe) -> bool:
        """Whether it is for such sizes."""
        least, largest = self._bounds
        for n, low, high in zip(sizes, least, largest, strict=True):
            if n is not None and not low <= n <= high:
                return False
        return not self._is_wrong

    def run(
        self, sizes: Probe, inputs: Sequence[Any], plainly: Callable[..., Any]
    ) -> tuple[Any, ...] | None:
        """The results; None where NumPy is to compute them."""
        if not self.takes(sizes):
            return None
        try:
            if self._compared < _COMPARED:
                return self._checked(inputs, plainly)
            return self.runner.run(self.runner.function, inputs)
        except Elsewhere:
            return None

    def _checked(self, inputs: Sequence[Any], plainly: Callable[..., Any]) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            given = self.runner.run(self.runner.function, inputs)
        wanted = plainly(*inputs, (), ())
        self._compared += 1
        for a, b in zip(given, wanted, strict=True):
            if a.shape != b.shape or a.strides != b.strides or not same_bits(a, b):
                self._is_wrong = True
                logger.warning(
                    "%s stays a program of NumPy calls: its native code gave other bits. Please "
                    "report it", self.title)
                break
        return wanted


def _shares_in(graph: Graph) -> list[Share]:
    """The numbers in a graph that are one divided by a length, or of that kind."""
    found = dict[Share, None]()

    def look(value: Any) -> None:
        if type(value) is Share:
            found[value] = None
        elif type(value) is tuple:
            for item in value:
                look(item)

    for node in graph.nodes:
        for x in (node, *node.inputs):
            look(tuple([value for _, value in x.attrs]))
    return [*found]


class _Backward(Backward):
    """A backward for any sizes; always as a whole."""

    native: _Native | None = None

    def __init__(self, program: Program, graph: Graph, schedule: AnySizeSchedule) -> None:
        super().__init__(program, graph, schedule, pools)
        self._sections = ()
        self._symbols = schedule._symbols

    def __call__(self, values: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.native is not None and not OPTIONS.profile():
            inputs = [*[values[k] for k in self._picks], *gradients]
            sizes = tuple(inputs[: self._symbols])
            results = self.native.run(sizes, inputs, self.runner.function)
            if results is not None:
                return results
        return super().__call__(values, gradients)
