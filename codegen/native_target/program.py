"""A program with native segments: a Python function, and the tables that its segments run by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from chainwright.ir import Node
from chainwright.ir.kernel import Kernel

from ..program import Loaded, Program
from .driver import (
    ARRAY_TYPE,
    CHECKS,
    CLEAR,
    COMMITS,
    HEAD,
    LOCAL,
    LONG,
    MASK,
    N_BASES,
    N_COMMITS,
    N_REGIONS,
    OCCURRED,
    POOL,
    REGIONS,
    TEST,
)
from .products import PREFIX
from .settle import Flags, Settlement
from .steps import Item, Loop, OwnLoop, Place, Region, Step

#: Programs with fewer bytes of values keep the GIL: taking it back costs more than it gives others.
BRIEF_BYTES = 1 << 17
#: For each as many bytes that a region touches one more thread is woken, which takes microseconds.
SHARED_BYTES = 1 << 18
#: Words of a table that are as large are addresses, and depend on no length.
ADDRESS = 1 << 40
#: What functions that keep the GIL need of Python.
ANSWERS = "PyLong_FromLongLong", "PyErr_Occurred"
#: What each thread has for local values.
LOCAL_BYTES = 1 << 20


class Linker(Protocol):
    """Knows addresses; compiles what has none yet. ``brief`` functions keep the GIL.

    ``pool`` is that of the threads that may take part in a call now, 0 for none; ``multiplies``
    tells whether products with few rows are to be our own in a call now.
    """

    flags: Flags

    def kernel(self, kernel: Kernel) -> int: ...

    def driver(self, name: str) -> int: ...

    def loop(self, loop: Loop) -> int: ...

    def descriptor(self, dtype: np.dtype[Any]) -> int: ...

    def libc(self, name: str) -> int: ...

    def python(self, name: str) -> int: ...

    def callable(self, name: str, brief: bool = False) -> Callable[[Any], int]: ...

    def pool(self) -> int: ...

    def multiplies(self) -> bool: ...


@dataclass(slots=True)
class Base:
    """An array of the tuple that a segment gets; ``layout`` is checked at each call."""

    name: str
    layout: tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]] | None


@dataclass(slots=True)
class Segment:
    """A run of native code: its regions, what it writes at its end, and where everything lies."""

    bases: list[Base]
    regions: list[Region]
    commits: list[Region]
    places: Mapping[Place, tuple[int, int]]
    settlement: Settlement
    code: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    def steps(self) -> Iterator[Step]:
        for region in (*self.regions, *self.commits):
            yield from region.steps

    def link(self, linker: Linker, shares: bool = True) -> np.ndarray:
        """The table with all addresses; the one object that the program's text refers to.

        It ``shares`` work with other threads, or not.
        """
        items: list[int] = [0] * HEAD
        items[N_BASES] = len(self.bases) + 1
        items[CHECKS] = len(items)
        items.append(-1)
        for base in self.bases:
            items += check_of(base, linker)
        pending: list[tuple[int, Step, frozenset[Node]]] = []
        for count, start, regions in (
            (N_REGIONS, REGIONS, self.regions),
            (N_COMMITS, COMMITS, self.commits),
        ):
            items[count], items[start] = len(regions), len(items)
            for region in regions:
                local = self._local(region) if shares else None
                slot, low = local or (0, 0)
                others = 0 if local is None else _others(region)
                free = len(region.steps) - region.ordered
                items += [region.rows, region.tile, len(region.steps), others, slot, low, free]
                for step in region.steps:
                    pending.append((len(items), step, region.local if local else frozenset()))
                    items += [_address(step, linker), 0, step.kind, len(step.operands)]
                    items += [0] * (3 * len(step.operands))
        for at, step, alone in pending:
            table = items[at + 1] = len(items)
            items += [_number(x, linker) for x in step.table]
            for k, place in enumerate(step.operands):
                slot, offset = self._at(place, table)
                if place.value in alone:
                    slot = LOCAL
                items[at + 4 + 3 * k : at + 7 + 3 * k] = [slot, offset, place.row_step]
        set_addresses(items, linker)
        items[MASK] = linker.flags.all
        return np.array(items, np.int64)

    @property
    def multiplies(self) -> bool:
        """Whether there are products with few rows, which are NumPy's under some settings."""
        names = [step.function for step in self.steps()]
        return any(isinstance(name, str) and name.startswith(PREFIX) for name in names)

    @property
    def shares(self) -> bool:
        """Whether there is anything that several threads may do."""
        return any(self._local(region) is not None for region in self.regions)

    def _local(self, region: Region) -> tuple[int, int] | None:
        """Where a region's local values begin: the base, and bytes; None if one thread does it."""
        if not region.apart or region.tile >= region.rows or region.touched < SHARED_BYTES:
            return None
        places = {p for s in region.steps for p in s.operands if p.value in region.local}
        if not places:
            return 0, 0
        slots = {self.places[p][0] for p in places}
        starts = [self.places[p][1] for p in places]
        sizes = [p.value.nbytes * region.tile // region.rows for p in places]  # type: ignore
        end = max([start + size for start, size in zip(starts, sizes, strict=True)])
        if len(slots) > 1 or end - min(starts) > LOCAL_BYTES:
            return None
        return slots.pop(), min(starts)

    def _at(self, place: Place, table: int) -> tuple[int, int]:
        if isinstance(place.value, int):
            return 0, 8 * (table + place.value)
        return self.places[place]


def _others(region: Region) -> int:
    """How many threads more are worth waking for a region."""
    tiles = -(-region.rows // region.tile)
    return min(tiles - 1, region.touched // SHARED_BYTES)


def with_threads(run: Callable[[Any], int], linker: Linker) -> Callable[[Any], int]:
    """``run``, with the threads that may take part at the time of a call."""

    def runwith_threads(arrays: Any) -> int:
        code, pool = arrays[0], linker.pool()
        if code[POOL] != pool:
            code[POOL] = pool
        return run(arrays)

    return runwith_threads


def with_products(run: Callable[[Any], int], linker: Linker) -> Callable[[Any], int]:
    """``run``, which is refused where products with few rows are to be NumPy's at that time."""

    def runwith_products(arrays: Any) -> int:
        return run(arrays) if linker.multiplies() else -1

    return runwith_products


def set_addresses(items: Any, linker: Linker) -> None:
    """Put into the head of a table what native code calls, whatever it runs."""
    items[ARRAY_TYPE] = id(np.ndarray)
    items[CLEAR], items[TEST] = linker.libc("feclearexcept"), linker.libc("fetestexcept")
    items[LONG], items[OCCURRED] = (linker.python(name) for name in ANSWERS)


def check_of(base: Base, linker: Linker) -> list[int]:
    """What the table says of an array's layout."""
    if base.layout is None:
        return [-1]
    shape, dtype, strides = base.layout
    return [len(shape), linker.descriptor(dtype), *shape, *strides]


def _number(item: Item, linker: Linker) -> int:
    if isinstance(item, Loop):
        return linker.loop(item)
    return linker.driver(item.name) if isinstance(item, OwnLoop) else item


def _address(step: Step, linker: Linker) -> int:
    if isinstance(step.function, Kernel):
        return linker.kernel(step.function)
    return linker.driver(step.function)


@dataclass(frozen=True)
class NativeProgram(Program):
    """``source`` is the Python function around the segments, by their names."""

    segments: Mapping[str, Segment]
    linker: Linker

    def load(self) -> Loaded:
        """Compile the kernels and the Python function."""
        constants = dict(self.constants)
        shares = any(segment.shares for segment in self.segments.values())
        brief = self.intermediate_bytes < BRIEF_BYTES and not shares
        run = self.linker.callable("run", brief)
        run = with_threads(run, self.linker) if shares else run
        constants["run"] = with_products(run, self.linker) if self.multiplies else run
        for name, segment in self.segments.items():
            constants[name] = segment.link(self.linker)
            segment.settlement.flags = self.linker.flags
            if segment.commits:
                segment.settlement.commit = self.linker.callable("commit")
        facts = {f: getattr(self, f) for f in Program.__dataclass_fields__}
        return Program(**{**facts, "constants": constants}).load()

    @property
    def multiplies(self) -> bool:
        """Whether there are products with few rows of our own."""
        return any(segment.multiplies for segment in self.segments.values())

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, each once, in the order of their first use."""
        found = {}
        for segment in self.segments.values():
            for step in segment.steps():
                if isinstance(step.function, Kernel):
                    found.setdefault(step.function.key, step.function)
        return tuple(found.values())

    @property
    def listing(self) -> str:
        """What the native code does, C-like, with the user's lines."""
        return "\n\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        names = {kernel.key: f"kernel{k}" for k, kernel in enumerate(self.kernels)}
        for name, segment in self.segments.items():
            lines = [f"segment {name}"]
            for region in (*segment.regions, *segment.commits):
                if len(region.steps) > 1 or region.tile < region.rows:
                    lines.append(f"  for {region.tile} of {region.rows} rows:")
                for step in region.steps:
                    f = step.function
                    what = names[f.key] if isinstance(f, Kernel) else f"{f} {step.label}"
                    lines.append(f"    {what}({', '.join(map(_operand, step.operands))})")
            yield "\n".join(lines)
        for kernel in self.kernels:
            yield str(kernel).replace("kernel", names[kernel.key], 1)


def _operand(place: Place) -> str:
    value = place.value
    if isinstance(value, int):
        return "number"
    text = dict(value.attrs).get("name", value.op)
    return f"{text}{list(value.dims)}"
