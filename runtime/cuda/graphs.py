"""Programs as CUDA graphs: what a program launches is captured once, and launched as a whole.

In: a loaded program. Out: a function of the same arguments and results. A graph has addresses in
it. Parameters and arenas stay where they are, mostly; results lie in memory of the program's own,
one pool for each, so that it is the same again when the last call's are gone; arguments that come
from elsewhere in each call are copied to one place. For what other addresses are left graphs are
kept by addresses; where these go on changing, the program runs as it always does.

What a program takes for itself meanwhile is, while it is captured, memory of the graph alone. Each
graph is compared with the program when it is made: it has to give the same bits.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir import Graph
from chainwright.ir.alias import roots_of
from chainwright.ir.layout import extent
from chainwright.ir.op import OPS

from ..kernels.windows import device_module
from ..options import OPTIONS
from .blas import Refused
from .captured import Module, Products

logger = logging.getLogger("chainwright")

_WATCHED = 4  # calls in which it is seen which arguments move
_STAYS = 2  # addresses of an argument that does not
_TIMES = 2  # calls with the same addresses until they are captured
_GRAPHS = 8  # of one program that are kept
_COPIED = 1 << 20  # bytes of arguments that may be copied for each launch that is saved
_ALIGNMENT = 256
_MISSES = 48  # calls more than launches, until it is given up
_LEAST = 2  # launches of a program that are worth a graph
_KINDS = frozenset({
    "elementwise", "reduction", "scan", "shape", "creation", "leaf", "product", "library", "update",
})  # fmt: skip
_EFFECTS = frozenset({"write"})  # of which it is known what they write to


#: One capture at a time: handles of cuBLAS are bound to a stream meanwhile.
_CAPTURING = threading.RLock()


class NotCaptured(Exception):
    """A program is no CUDA graph; the text says why."""


def launches_of(graph: Graph) -> int:
    """How many launches a program is, if each step is one.

    Raises:
        NotCaptured: It cannot be a CUDA graph, as far as the graph says: it has to be known of all
            nodes that they do nothing but launch, and write to nothing but what `written` says.
    """
    roots = roots_of(graph.nodes)
    for node in graph.nodes:
        kind = OPS[node.op].kind
        if kind not in _KINDS and node.op not in _EFFECTS:
            raise NotCaptured(f"{node.op} is none of the steps that can be captured")
        if kind == "update" and OPS[roots.get(node.inputs[0], node.inputs[0]).op].kind == "leaf":
            raise NotCaptured(f"{node.op} writes to an argument")
    fused = {node for group in graph.groups for node in group}
    single = [n for n in graph.nodes if n not in fused and OPS[n.op].kind not in ("shape", "leaf")]
    found = len(graph.groups) + len(single)
    if found < _LEAST:
        raise NotCaptured("there is too little in it to launch")
    return found


def written(graph: Graph) -> list[int]:
    """The numbers of the arguments that a program writes to (running statistics)."""
    targets = {node.inputs[0] for node in graph.nodes if node.op == "write"}
    return [k for k, node in enumerate(graph.inputs) if node in targets]


class _Place(NamedTuple):
    """Where a result is: an argument itself, or so many bytes behind the start of what is given."""

    argument: int | None
    given: int | None = None
    offset: int = 0
    layout: tuple[Any, ...] = ()


class Layout:
    """Which of a program's allocations hold results, and where in them results are."""

    def __init__(self, arguments: Sequence[Any], results: Sequence[Any], taken: Any) -> None:
        known = {id(a): k for k, a in enumerate(arguments)}
        self.sizes = [size for _, size in taken]
        self.given: list[int] = []  # numbers of allocations
        self.places: list[_Place] = []
        for array in results:
            if id(array) in known:
                self.places.append(_Place(known[id(array)]))
                continue
            size, before = _span(array)
            first = array.data.ptr - before
            # The last one: the memory of earlier ones may have been given again.
            found = [k for k, (ptr, n) in enumerate(taken)
                     if size and ptr <= first and first + size <= ptr + n]
            if not found:
                raise NotCaptured("a result is in no memory of the call's own")
            if found[-1] not in self.given:
                self.given.append(found[-1])
            layout = array.shape, array.dtype, array.strides
            offset = array.data.ptr - taken[found[-1]][0]
            self.places.append(_Place(None, self.given.index(found[-1]), offset, layout))

    def results(self, cupy: Any, given: Sequence[Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The arrays in that memory."""
        made = []
        for argument, number, offset, layout in self.places:
            if argument is not None:
                made.append(arguments[argument])
            elif number is not None:
                shape, dtype, strides = layout
                memory = given[number] + offset if offset else given[number]
                made.append(cupy.ndarray(shape, dtype, memory, strides))
        return tuple(made)


class _Allocator:
    """Gives certain allocations of a program certain memory, and writes all of them down."""

    def __init__(self, inner: Callable[[int], Any], given: dict[int, Any]) -> None:
        self.inner, self._given = inner, given
        self.taken: list[tuple[int, int]] = []  # addresses and sizes

    def malloc(self, size: int) -> Any:
        memory = self._given.get(len(self.taken))
        if memory is None or memory.mem.size < size:
            memory = self.inner(size)
        self.taken.append((memory.ptr, size))
        return memory


class GraphedProgram:
    """A program's function, which launches CUDA graphs where it can: ``(*arguments) -> results``.

    ``why_not`` says why it does not, once that is known.
    """

    def __init__(self, function: Any, graph: Graph, title: str, cupy: Any) -> None:
        self.function, self.title, self.cupy = function, title, cupy
        self.why_not: str | None = None
        try:
            self._saved = launches_of(graph)
        except NotCaptured as reason:
            self.why_not = str(reason)
        self.written = frozenset(written(graph))
        self.launches = 0  # of graphs
        self.products = Products(cupy)
        self._module = Module(self.products)
        self._layout: Layout | None = None
        self._pools: list[Any] = []
        self._watched: list[set[int]] | None = [set() for _ in graph.inputs]
        self._calls = 0
        self._moving: list[int] = []  # arguments that are copied
        self._graphs: dict[Any, Capture] = {}
        self._seen: Counter[Any] = Counter()
        self._misses = 0
        self._lock = threading.Lock()
        names = {name: self.products.instead(value)
                 for name, value in function.__globals__.items()}
        names = {name: value for name, value in names.items() if value is not None}
        # The same code, with products that a capture can have.
        self._managed = FunctionType(function.__code__, {**function.__globals__, **names})

    @property
    def graphs(self) -> int:
        """How many there are now."""
        return len(self._graphs)

    def __call__(self, *arguments: Any) -> Any:
        if self.why_not is not None or not OPTIONS.graphs() or not self._lock.acquire(False):
            return self.function(*arguments)
        try:
            return self._call(arguments)
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Let go of the graphs and their memory."""
        self._graphs = {}
        for pool in self._pools:
            pool.free_all_blocks()

    def _call(self, arguments: tuple[Any, ...]) -> Any:
        cupy = self.cupy
        stream = cupy.cuda.get_current_stream()
        outer = self.products.outer = cupy.cuda.get_allocator()
        if stream.is_capturing() or outer != cupy.get_default_memory_pool().malloc:
            return self.function(*arguments)  # a graph, or memory, of the user's own
        *inputs, scratch, kept = arguments
        flat = [*inputs, *scratch, *kept]
        if self._layout is None:
            results, taken = self._run(arguments, outer, {})
            self._settle(lambda: self._learned(flat, results, taken))
            return results
        layout, moving = self._layout, self._moving
        try:
            given = [pool.malloc(layout.sizes[k])
                     for pool, k in zip(self._pools, layout.given, strict=True)]
        except cupy.cuda.memory.OutOfMemoryError:  # CuPy's own pool may have some
            self._settle(lambda: _fail("there is no memory for a pool of its own"))
            return self.function(*arguments)
        places = dict(zip(layout.given, given, strict=True))
        if self._watched is not None:
            self._settle(lambda: self._watch(inputs))
            return self._run(arguments, outer, places)[0]
        key = (stream.ptr, *[m.ptr for m in given], *[
            (a.data.ptr % _ALIGNMENT if k in moving else a.data.ptr, a.shape, a.strides)
            for k, a in enumerate(inputs)
        ], *[arena[0].data.ptr for arena in (scratch, kept) if arena])
        graph = self._graphs.get(key)
        if graph is not None:
            graph.launch(inputs)
            self.launches += 1
            self._misses -= self._misses > 0
            return layout.results(cupy, given, flat)
        self._misses += 1
        self._seen[key] += 1
        if self._seen[key] >= _TIMES:
            return self._capture(key, places, arguments, stream)
        results, taken = self._run(arguments, outer, places)
        if [size for _, size in taken] != layout.sizes:
            self._settle(lambda: _fail("it does not always take the same memory"))
        elif self._misses > _MISSES:
            self._settle(lambda: _fail("the addresses of its arrays change"))
        return results

    def _watch(self, inputs: Sequence[Any]) -> None:
        """See which arguments come from other places in each call."""
        assert self._watched is not None
        for places, array in zip(self._watched, inputs, strict=True):
            places.add(array.data.ptr)
        self._calls += 1
        if self._calls < _WATCHED:
            return
        self._moving = [k for k, places in enumerate(self._watched) if len(places) > _STAYS]
        self._watched = None
        moved = [inputs[k] for k in self._moving]
        if not self.written.isdisjoint(self._moving):
            raise NotCaptured("an array that it writes to is another one in each call")
        if any(_span(a)[0] != a.nbytes for a in moved):
            raise NotCaptured("an argument with gaps in it comes from another place in each call")
        if sum(a.nbytes for a in moved) > _COPIED * self._saved:
            raise NotCaptured("large arguments come from other places in each call")

    def _learned(self, flat: Any, results: Any, taken: Any) -> None:
        if any(type(a) is not self.cupy.ndarray for a in (*flat, *results)):
            raise NotCaptured("an argument or a result is no array on the GPU")
        self._layout = Layout(flat, results, taken)
        self._pools = [self.cupy.cuda.MemoryPool() for _ in self._layout.given]

    def _settle(self, step: Callable[[], None]) -> None:
        """Do a step on the way to a graph; where it fails, there will be none."""
        try:
            step()
            return
        except (NotCaptured, Refused) as reason:
            self.why_not = str(reason)
        except Exception as error:  # whatever CUDA or CuPy refuse
            self.why_not = f"{type(error).__name__}: {error}"
        self._graphs, self._pools = {}, []
        logger.info("%s is no CUDA graph: %s", self.title, self.why_not)

    def _run(self, arguments: Any, inner: Any, given: dict[int, Any]) -> tuple[Any, Any]:
        """Results of the program, and its allocations."""
        allocator = _Allocator(inner, given)
        with self.cupy.cuda.using_allocator(allocator.malloc), device_module(self._module):
            return self._managed(*arguments), allocator.taken

    def _capture(self, key: Any, places: Any, arguments: tuple[Any, ...], stream: Any) -> Any:
        """Run the program, and capture what it launches for calls with these addresses."""
        self._seen.clear()
        with _CAPTURING:
            made: list[Capture] = []
            moved = {k: arguments[k] for k in self._moving}
            changed = [arguments[k] for k in self.written]
            self._settle(lambda: made.append(Capture(self, stream, moved, changed)))
            if not made:
                return self.function(*arguments)
            (capture,) = made
            capture.copy_in(arguments)
            there = tuple([capture.static.get(k, a) for k, a in enumerate(arguments)])
            self.products.learn(stream, capture.malloc)
            try:
                results, taken = self._run(there, capture.malloc, places)
                self._settle(lambda: self._keep(capture, key, places, there, results, taken))
            except self.cupy.cuda.memory.OutOfMemoryError:
                capture.undo()
                self._settle(lambda: _fail("there is no memory for a pool of its own"))
                return self.function(*arguments)
            finally:
                self.products.end()
        own = {id(a): arguments[k] for k, a in capture.static.items()}
        return tuple([own.get(id(r), r) for r in results])

    def _keep(
        self, capture: Capture, key: Any, places: Any, there: Any, results: Any, taken: Any
    ) -> None:
        """Capture what the program has just launched, and keep the graph if it does the same."""
        if self.products.refused is not None:
            raise NotCaptured(self.products.refused)
        again, retaken = capture.record(lambda: self._run(there, capture.malloc, places))
        where = [[(a.data.ptr, a.shape, a.strides) for a in r] for r in (results, again)]
        if where[0] != where[1] or [n for _, n in taken] != [n for _, n in retaken]:
            raise NotCaptured("it takes other memory when it is captured")
        inputs = {id(a) for a in there[:-2]}
        capture.compare([a for a in results if id(a) not in inputs])
        while len(self._graphs) >= _GRAPHS:
            del self._graphs[next(iter(self._graphs))]
        self._graphs[key] = capture


def _span(array: Any) -> tuple[int, int]:
    """The bytes that an array spans, and how many of them come before its first item."""
    return extent(array.shape, array.strides, array.dtype.itemsize)


def _fail(reason: str) -> None:
    raise NotCaptured(reason)


class Capture:
    """A graph for one stream, with the memory and the handle that it uses.

    ``moved`` are the arguments that come from other places in each call, by their numbers;
    ``static`` is what the graph reads instead of them, as far from multiples of 256 bytes.
    ``changed`` are the arguments that the program writes to.
    """

    def __init__(
        self, owner: GraphedProgram, stream: Any, moved: dict[int, Any], changed: Sequence[Any]
    ) -> None:
        cupy = self._cupy = owner.cupy
        self._owner, self._stream = owner, stream
        # The default stream cannot be captured; a graph can be launched in any.
        self._side = cupy.cuda.Stream(non_blocking=True)
        self._pool = cupy.cuda.MemoryPool()
        self.static = {k: self._like(array) for k, array in moved.items()}
        self._before = [(array, array.copy()) for array in changed]
        self._graph: Any = None

    def _like(self, array: Any) -> Any:
        size, before = _span(array)
        memory = self.malloc(size + _ALIGNMENT)
        start = (array.data.ptr - before - memory.ptr) % _ALIGNMENT + before
        return self._cupy.ndarray(array.shape, array.dtype, memory + start, array.strides)

    def copy_in(self, arguments: Sequence[Any]) -> None:
        """Copy what comes from other places in each call."""
        for k, static in self.static.items():
            size, before = _span(static)
            source = arguments[k].data
            if before:
                source, target = source + -before, static.data + -before
            else:
                target = static.data
            target.copy_from_device_async(source, size, self._stream)

    def malloc(self, size: int) -> Any:
        """Memory of this graph alone."""
        with self._side:
            return self._pool.malloc(size)

    def record(self, run: Callable[[], Any]) -> Any:
        """Capture what ``run`` launches."""
        owner, side = self._owner, self._side
        mode = self._cupy.cuda.runtime.streamCaptureModeThreadLocal
        with side:
            owner.products.bind(side)
            owner.products.capturing = True
            side.begin_capture(mode)
            try:
                made = run()
            except BaseException:
                self._abandon()
                raise
            finally:
                owner.products.capturing = False
            self._graph = side.end_capture()
        return made

    def _abandon(self) -> None:
        try:
            self._side.end_capture()
        except Exception:
            logger.debug("the capture of %s was lost", self._owner.title, exc_info=True)

    def undo(self) -> None:
        """Have what the program writes to as it was before the program ran."""
        for array, before in self._before:
            array[...] = before

    def compare(self, results: Sequence[Any]) -> None:
        """Launch the graph where the program has run: the same has to come out again."""
        made = [*results, *(array for array, _ in self._before)]
        expected = [a.tobytes() for a in made]
        try:
            for array in results:
                array.fill(1)
            self.undo()
            self._graph.launch(self._stream)
            if [a.tobytes() for a in made] != expected:
                raise NotCaptured("its graph gave other values, so that CuPy's calls stay")
        except BaseException:
            for array, known in zip(made, expected, strict=True):
                host = np.frombuffer(known, array.dtype).reshape(array.shape)
                array[...] = self._cupy.asarray(host)
            raise
        self._before = []

    def launch(self, arguments: Sequence[Any]) -> None:
        """Put the graph into the stream that it was made for."""
        self.copy_in(arguments)
        self._graph.launch(self._stream)
