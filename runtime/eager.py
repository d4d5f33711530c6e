"""Library ops and array code of define-by-run in native code, where they have a native form.

The first calls with arrays of some layout run the NumPy calls; when these have taken as long as
compiling does, a program of this one op or function is compiled, as the target asks: by the thread
in the background, or at once. Its bits are those of the NumPy calls: the first call compares them.
Large memory to work in is taken for each call, as NumPy does.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import Graph, build, make, placeholder
from chainwright.ir.passes import PASSES, Pass, prepare

from . import kernels
from .background import BACKGROUND
from .interrupts import pass_on
from .kernels import products, random
from .native import draws, native_target, own_products, same_bits
from .options import OPTIONS

logger = logging.getLogger("chainwright")
clock = time.perf_counter

OPS = frozenset(
    {
        "convolution",
        "convolution_transpose",
        "convolution_weight",
        "add_rows",
        "max_pooling",
        "max_pooling_scatter",
        "sum_pooling",
        "sum_pooling_spread",
    }
)
_CALLS = 3  # with one layout before a program is made, at least
# Seconds in these NumPy calls before: to compile takes half of that, and competes with them. And in
# the calls of all that wait, before the first of a process, with which what compiles is loaded.
_WORTH, _FIRST = 6e-3, 30e-3
_LIMIT = 512  # programs and layouts that are remembered: those that were used last
_KEPT_BYTES = 1 << 20  # memory that waits for the next call


class News:
    """Changes of how long functions take by themselves: native code is coming for them."""

    def __init__(self) -> None:
        self._changes = 0
        self._coming = set[int]()  # jobs that have not ended

    def state(self) -> Hashable:
        """Another one whenever something has changed; None as long as code is on its way."""
        return None if self._coming else self._changes

    def has_come(self) -> None:
        """A function was called that may become native code."""
        self._changes += 1

    def compile(self, job: Callable[[], None]) -> None:
        """Have a program compiled, as the target asks."""
        if OPTIONS.target() == "native":
            job()
            return

        def compile_in_background() -> None:
            try:
                job()
            finally:
                self._changes += 1
                self._coming.discard(id(job))

        self._coming.add(id(job))
        BACKGROUND.do(compile_in_background)


NEWS = News()


class _Program:
    """An op or a function on arrays of one layout."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.calls, self.seconds = 0, 0.0  # that one takes
        self.is_asked_for = False
        self.run: Callable[..., Any] | None = None
        self.memory: list[Any] = []
        self.new_memory: Callable[[], Any] | None = None
        self.keeps = False
        self.trusted = False

    def __call__(self, arrays: tuple[np.ndarray, ...], plain: Callable[[], Any]) -> Any:
        assert self.run is not None and self.new_memory is not None
        try:
            memory = self.memory.pop()
        except IndexError:
            memory = self.new_memory()
        if self.trusted:
            results = self.run(*arrays, memory, ())
        else:
            with np.errstate(all="ignore"):  # NumPy is going to warn
                results = self.run(*arrays, memory, ())
        if self.keeps and not self.memory:
            self.memory.append(memory)
        if not self.trusted:
            return self._compared(results, plain())
        return results[0] if len(results) == 1 else results

    def _compared(self, results: Any, wanted: Any) -> Any:
        """What NumPy gives; native code that gives anything else is not used again."""
        given = wanted if type(wanted) is tuple else (wanted,)
        if all(
            a.strides == b.strides and same_bits(a, b) for a, b in zip(results, given, strict=True)
        ):
            self.trusted = True
        else:
            self.run = None
            logger.warning("%s stays calls of NumPy: its native code gave other bits", self.title)
        return wanted

    def compile(self, record: Callable[[], Graph | None]) -> None:
        target = native_target()
        if target is None:
            return
        try:
            graph = record()
            if graph is None:
                return
            graph = prepare(graph, target.passes)
            if not all(part.native for part in parts_of(graph, Forms(target.machine))):
                return
            program = target.program(graph, self.title)
            loaded = program.load()
        except Exception as error:
            pass_on(error)
            logger.warning("%s stays calls of NumPy", self.title, exc_info=True)
            return
        self.new_memory, self.keeps = loaded.new_scratch, program.scratch_bytes <= _KEPT_BYTES
        self.run = loaded.function


class _Waiting:
    """Seconds that the NumPy calls of all programs have taken that wait to be compiled."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def pays(self, program: _Program) -> bool:
        """Whether it is time, with this call, to compile a program."""
        if OPTIONS.target() == "native" or OPTIONS.budget() is None:
            return True
        self._seconds += program.seconds
        if program.calls * program.seconds < _WORTH:
            return False
        return self._seconds >= _FIRST or native_target.cache_info().currsize > 0


_WAITING = _Waiting()

P = TypeVar("P")
_known: OrderedDict[Hashable, _Program] = OrderedDict()
_on_devices: OrderedDict[Hashable, Any] = OrderedDict()


def native(
    name: str, implementation: Callable[..., Any], arrays: tuple[Any, ...], settings: dict[str, Any]
) -> Any:
    """The results of an op by native code; None where the NumPy kernel is to run."""
    if name not in OPS:
        return None
    return _found(name, name, implementation, arrays, settings, _op)


def fused(function: Callable[..., Any], arrays: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The results of array code by native code; None where it is to run as calls of NumPy.

    On a device that is by kernels of its own, in the place of CuPy's.
    """
    if arrays and type(arrays[0]) is not np.ndarray:
        return _on_device(function, arrays, settings)
    return _found(function, function.__name__, function, arrays, settings, recorded)


def _found(
    what: Hashable,
    title: str,
    implementation: Callable[..., Any],
    arrays: tuple[Any, ...],
    settings: dict[str, Any],
    graph_of: Callable[..., Graph | None],
) -> Any:
    if OPTIONS.target() == "numpy":
        return None
    for a in arrays:
        if type(a) is not np.ndarray:
            return None
    key = (what, *_form(arrays, settings))
    program = _seen(_known, key, lambda: _Program(title))
    if program is None:
        return None
    if program.run is not None:
        return program(arrays, lambda: implementation(*arrays, **settings))
    if program.is_asked_for:
        return None
    program.calls += 1
    if program.calls <= _CALLS:
        NEWS.has_come()
    if program.calls < _CALLS or program.calls > _CALLS and not _WAITING.pays(program):
        return None
    started = clock()
    results = implementation(*arrays, **settings)
    program.seconds = clock() - started
    if program.calls == _CALLS and not _WAITING.pays(program):
        return results
    program.is_asked_for = True
    layouts = [(a.shape, a.dtype, a.strides) for a in arrays]
    made = [
        (a.shape, a.dtype, a.strides) for a in (results if type(results) is tuple else (results,))
    ]

    def compile_it() -> None:
        program.compile(lambda: graph_of(what, layouts, settings, made))

    NEWS.compile(compile_it)
    return results


def _form(arrays: tuple[Any, ...], settings: dict[str, Any]) -> list[Hashable]:
    """What programs are told apart by."""
    form: list[Hashable] = [(a.shape, a.dtype, a.strides) for a in arrays]
    form += [(name, type(value), value) for name, value in settings.items()]
    return form


def _seen(known: OrderedDict[Hashable, P], key: Hashable, make: Callable[[], P]) -> P | None:
    """The program of a form that has been seen before."""
    program = known.get(key)
    if program is None:
        NEWS.has_come()
        known[key] = make()
        while len(known) > _LIMIT:
            known.popitem(last=False)
        return None
    try:
        known.move_to_end(key)
    except KeyError:
        pass  # another thread has just let it go
    return program


def _on_device(
    function: Callable[..., Any], arrays: tuple[Any, ...], settings: dict[str, Any]
) -> Any:
    """The results of array code by kernels of its own; None where CuPy is to run it."""
    cupy = sys.modules.get("cupy")
    if cupy is None or OPTIONS.target() == "numpy":
        return None
    for a in arrays:
        if type(a) is not cupy.ndarray:
            return None
    device = arrays[0].data.device_id
    if any(a.data.device_id != device for a in arrays):
        return None  # CuPy has words for it
    from .cuda.eager import DeviceFunction

    program = _seen(
        _on_devices,
        (function, device, *_form(arrays, settings)),
        lambda: DeviceFunction(function.__name__, cupy, device),
    )
    if program is None:
        return None
    if program.run is not None:
        return program(arrays, lambda: function(*arrays, **settings))
    program.calls += 1
    if program.calls > _CALLS:
        return None
    NEWS.has_come()
    if program.calls < _CALLS:
        return None
    results = function(*arrays, **settings)
    layouts, made = ([(a.shape, a.dtype, a.strides) for a in group]
                     for group in (arrays, results if type(results) is tuple else (results,)))

    def compile_it() -> None:
        program.compile(lambda: recorded(function, layouts, settings, made, ()))

    NEWS.compile(compile_it)
    return results


def _op(name: str, layouts: list[Any], settings: dict[str, Any], made: list[Any]) -> Graph:
    """The graph of one library op."""
    inputs = tuple(placeholder(f"x{k}", *facts) for k, facts in enumerate(layouts))
    types = [{"shape": s, "dtype": d, "strides": t} for s, d, t in made]
    if len(made) == 1:
        node = make(name, *inputs, kwargs=settings, **types[0])
        return Graph(inputs, (node,), (node,), name)
    node = make(name, *inputs, kwargs=settings, n_outputs=len(made))
    picks = tuple(make("pick", node, k=k, **facts) for k, facts in enumerate(types))
    return Graph(inputs, (node, *picks), picks, name)


def recorded(
    function: Callable[..., Any],
    layouts: list[Any],
    settings: dict[str, Any],
    made: list[Any],
    common: tuple[Pass, ...] = PASSES,
) -> Graph | None:
    """The graph of array code, as whoever can record it gives it, after the passes ``common``."""
    if OPTIONS.record is None:
        return None
    graph = OPTIONS.record(function, layouts, settings)
    if graph is None:
        return None
    given = [(y.shape, y.dtype, y.strides) for y in graph.outputs]
    return build(graph, {}, (), common).forward if given == made else None


class _Masks:
    """Draws masks natively as soon as the code is compiled."""

    def __init__(self) -> None:
        self._calls = 0
        self._draw: Any = None

    def __call__(self, shape: tuple[int, ...], ratio: Any, scale: Any) -> Any:
        target = OPTIONS.target()
        if target == "numpy":
            return None
        if self._draw is None:
            self._calls += 1
            if target == "native" or self._calls == _CALLS:
                NEWS.compile(self._compile)
            if self._draw is None:
                return None
        generator = random.generator()
        if not draws.takes(generator, shape, ratio, scale):
            return None
        return self._draw(generator, shape, ratio, scale)

    def _compile(self) -> None:
        self._draw = draws.keep()


def _product(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, op: str
) -> Callable[[Any, Any, Any], None] | None:
    found = own_products()
    return None if found is None else found.call(a, b, c, op)


kernels.native, kernels.fused = native, fused
products.native = _product
random.native_mask = _Masks()
