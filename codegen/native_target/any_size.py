"""Native programs for arrays of any sizes: one text and one table, with lengths as parameters.

In: native programs of one graph at several sizes (*probes*). Out: a Program whose segments have
the tables of each call. What may not happen: a word of a table that holds for some sizes only, or
memory that is too small. So programs have to be the same but for numbers that are polynomials of
the lengths (or floats that are one divided by such), and each block of the memory to work in has
room for what the largest of them need, which is looked at for the sizes of each call.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainwright.ir import Graph
from chainwright.ir.graph import is_effect
from chainwright.ir.size import Probe, Share, Size, source_of, symbol
from chainwright.ir.unify import Different, fit, fit_share, fit_value

from ..numpy_target.writer import with_copies
from ..plan.arena import View
from ..plan.storage import KEPT, SCRATCH
from ..program import Program
from .driver import COMMITS, N_COMMITS, N_REGIONS, REGION_HEAD, REGIONS
from .program import ADDRESS, BRIEF_BYTES, NativeProgram, with_products
from .steps import bits
from .target import NativeTarget
from .writer import NativeWriter

_TABLES = 64  # of the last sizes, that are kept
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.])")
_COMMENT = re.compile(r"\s{2,}# .*$", re.M)
_TILE = 1  # of the head of a region


class Elsewhere(Exception):
    """What is computed would warn, or cannot be computed here: NumPy does it as a whole."""


class Polynomials:
    """Numbers for the lengths of the symbols."""

    def __init__(self, sizes: Sequence[Size]) -> None:
        self._products = list(dict.fromkeys([s for size in sizes for s, _ in size.terms]))
        self._factors = np.zeros((len(sizes), len(self._products)), np.int64)
        for row, size in zip(self._factors, sizes, strict=True):
            for product, factor in size.terms:
                row[self._products.index(product)] = factor

    def __call__(self, sizes: Probe) -> np.ndarray:
        counts = [math.prod([sizes[k] for k in product]) for product in self._products]
        return self._factors @ np.array(counts, np.int64)


class Tables:
    """The tables of all segments of a program, by the lengths of the symbols.

    ``codes`` are those of each probe and segment, ``needed`` the bytes that blocks of the memory to
    work in need there, for ``apart`` see :func:`_apart`.
    """

    def __init__(
        self, codes: Sequence[Sequence[np.ndarray]], needed: Sequence[Sequence[int]],
        apart: Sequence[tuple[Size, Size]], shares: Sequence[Share], probes: Sequence[Probe],
    ) -> None:
        lengths = [len(code) for code in codes[0]]
        if any([len(code) for code in some] != lengths for some in codes):
            raise Different("a segment has other steps at other sizes")
        ends = list(itertools.accumulate(lengths))
        self._parts = [slice(end - n, end) for n, end in zip(lengths, ends, strict=True)]
        words = np.array([np.concatenate(some) for some in codes])
        self._code = words[0]
        tiles = {
            part.start + k for part, code in zip(self._parts, codes[0], strict=True)
            for k in _tiles(code)}
        places, sizes, self._most = list[int](), list[Size](), list[tuple[int, int]]()
        self._floats = list[tuple[int, Any, Share | Size]]()
        for k in np.flatnonzero((words != words[0]).any(axis=0)).tolist():
            column = words[:, k].tolist()
            made = fit(column, probes) if max(column) < ADDRESS else None
            if k in tiles and type(made) is not Size:
                made = fit(words[:, k - 1].tolist(), probes)  # as many as there are rows, at most
                self._most.append((k, min(column)))
            if type(made) is Size:
                places.append(k)
                sizes.append(made)
            else:
                self._floats.append((k, *_float_of(column, probes, shares)))
        self._places = np.array(places, np.intp)
        have = list[int]()
        for column in zip(*needed, strict=True):
            made = fit(column, probes)
            if made is None:
                raise Different(f"the bytes {[*column]} at the sizes {[*probes]}")
            if type(made) is Size:
                sizes.append(made)
                have.append(max(column))
        self._have = np.array(have, np.int64)
        self._apart = len(places) + len(have)  # from here on: pairs that are not equal
        self._numbers = Polynomials([*sizes, *[size for pair in apart for size in pair]])
        self._known: OrderedDict[Probe, list[np.ndarray]] = OrderedDict()
        for probe, code in zip(probes, words, strict=True):
            made = np.concatenate(self(probe))
            if any(k not in tiles or made[k] > code[k] for k in np.flatnonzero(made != code)):
                raise Different("a segment has other numbers at other sizes")

    def __call__(self, sizes: Probe) -> list[np.ndarray]:
        """Those for certain lengths.

        Raises:
            Elsewhere: If there is too little memory for them, or arrays have other layouts.
        """
        found = self._known.get(sizes)
        if found is None:
            numbers, n = self._numbers(sizes), len(self._places)
            pairs = numbers[self._apart :]
            if (numbers[n : self._apart] > self._have).any() or (pairs[::2] == pairs[1::2]).any():
                raise Elsewhere
            table = self._code.copy()
            table[self._places] = numbers[:n]
            for k, tile in self._most:
                table[k] = min(int(table[k]), tile)
            for k, kind, share in self._floats:
                table[k] = bits(share.at(sizes), np.dtype(kind))
            found = self._known[sizes] = [table[part] for part in self._parts]
            while len(self._known) > _TABLES:
                self._known.popitem(last=False)
        return found


def _tiles(code: np.ndarray) -> list[int]:
    """Where the regions of a table say how many rows are done at a time."""
    found, at = list[int](), 0
    for count, start in ((N_REGIONS, REGIONS), (N_COMMITS, COMMITS)):
        at = int(code[start])
        for _ in range(int(code[count])):
            found.append(at + _TILE)
            steps, at = int(code[at + 2]), at + REGION_HEAD
            for _ in range(steps):
                at += 4 + 3 * int(code[at + 3])
    return found


def _float_of(
    column: Sequence[int], probes: Sequence[Probe], shares: Sequence[Share]
) -> tuple[Any, Share | Size]:
    """The number whose bits words are: one of the graph, a length, or one divided by a length.

    Other factors than one cannot be told from what has been rounded to single precision.
    """
    for kind in (np.float32, np.float64):
        size = np.dtype(kind).itemsize
        if all(0 <= word < 1 << 8 * size or size == 8 for word in column):
            raw = np.array(column, np.int64).view(np.uint8).reshape(-1, 8)[:, :size]
            numbers = [float(x) for x in np.ascontiguousarray(raw).view(kind)[:, 0]]
            for share in shares:
                if [float(kind(share.at(probe))) for probe in probes] == numbers:
                    return kind, share
            made = fit_share(numbers, probes, lambda x, kind=kind: float(kind(x)))
            if type(made) is Share and (size == 8 or not made.unbiased):
                return kind, made
            if all(map(float.is_integer, numbers)):
                whole = fit(list(map(int, numbers)), probes)
                if type(whole) is Size:
                    return kind, whole
    raise Different(f"the numbers {[*column]} at the sizes {[*probes]}")


_TELLING = 3  # probes that differ in most


def _telling_first(probes: Sequence[Probe]) -> list[int]:
    """Places of probes: the first, the least and the largest differ in most, if any do."""
    by_size = sorted(range(len(probes)), key=lambda k: sum(probes[k]))
    return [*dict.fromkeys([0, by_size[0], by_size[-1], *range(len(probes))])]


class Written:
    """The graphs at the probes, ``graph_at(probe)``, and what writes programs of them.

    Raises:
        Different: If some need other buffers than others. The most different ones are looked at at
            once, since most of the time goes into these; the others in :meth:`all`.
    """

    def __init__(
        self, graph_at: Callable[[Probe], Graph], probes: Sequence[Probe], target: NativeTarget,
        title: str,
    ) -> None:
        self.probes, self.target, self.title = probes, target, title
        self._graph_at = graph_at
        self._found: dict[int, tuple[Graph, NativeWriter]] = {}
        self._buffers: int | None = None
        self._rest = _telling_first(probes)
        for _ in range(min(_TELLING, len(probes))):
            self._write(self._rest.pop(0))

    def _write(self, k: int) -> None:
        graph, target = self._graph_at(self.probes[k]), self.target
        writer = NativeWriter(with_copies(graph), self.title, 0, target.forms(), target.linker)
        count = len(writer.needed[SCRATCH])
        if writer.needed[KEPT] or self._buffers not in (None, count):
            raise Different("memory is used otherwise at other sizes")
        self._found[k], self._buffers = (graph, writer), count

    def all(self) -> tuple[list[Graph], list[NativeWriter]]:
        """Those of all probes, in their order."""
        while self._rest:
            self._write(self._rest.pop(0))
        found = [self._found[k] for k in range(len(self.probes))]
        return [graph for graph, _ in found], [writer for _, writer in found]


def any_size_program(written: Written, shares: Sequence[Share]) -> Program:
    """The program of a graph of any sizes, of which it is written what it is at the probes.

    Their first inputs are the symbols; ``shares`` are the numbers in it that depend on them. Where
    arrays cannot be computed with, or are too large, the function raises :class:`Elsewhere`;
    nothing is written then.

    Raises:
        Different: If programs differ in more than numbers that depend on lengths.
    """
    (graphs, writers), probes = written.all(), written.probes
    needed = [w.needed[SCRATCH] for w in writers]
    for w in writers:
        w.have({SCRATCH: [max(column) for column in zip(*needed, strict=True)], KEPT: []})
    programs = [w.program() for w in writers]
    views = [w.entries[SCRATCH] for w in writers]
    first, linker = programs[0], written.target.linker
    if not first.segments or any(p.segments.keys() != first.segments.keys() for p in programs):
        raise Different("there is no native code, or other code at other sizes")
    effects, segments = sum(map(is_effect, graphs[0].nodes)), [*first.segments.values()]
    if effects and (len(segments) > 1 or len(segments[0].commits) != effects):
        raise Different("what has been written may not be written again")
    source = _text([p.source for p in programs], probes)
    constants = _constants(programs)
    if views[0]:
        source = _with_views(source, views, probes, constants)
    codes = [[segment.link(linker, False) for segment in p.segments.values()] for p in programs]
    constants["tables_of"] = Tables(codes, needed, _apart(graphs, probes), shares, probes)
    most = max([p.intermediate_bytes for p in programs])
    run = linker.callable("run", most < BRIEF_BYTES)
    constants["run"] = with_products(run, linker) if first.multiplies else run
    symbols = ", ".join([symbol(k) for k in range(len(probes[0]))])
    changes = [(r"(\ndef [^:]*:\n)", rf"\1    tables_of_call = tables_of(({symbols},))\n")]
    for k, (name, segment) in enumerate(first.segments.items()):
        changes.append((rf"arrays = \({name},", f"arrays = (tables_of_call[{k}],"))
        settle = next(k for k, v in first.constants.items() if v is segment.settlement)
        commit = linker.callable("commit") if segment.commits else None
        segment.settlement.flags = linker.flags
        constants[settle] = _settle(segment.settlement.matters, commit)
    for what, instead in changes:
        source, count = re.subn(what, instead, source)
        if count != 1:
            raise Different("the program has another text than expected")
    facts = {name: getattr(first, name) for name in Program.__dataclass_fields__}
    facts |= {"source": source, "constants": constants, "scratch": (_memory(first.scratch_bytes),)}
    return Program(**facts)


def _memory(size: int) -> View:
    return View(0, (size,), np.dtype(np.uint8), (1,))


def _with_views(
    source: str, views: Sequence[dict[str, View]], probes: Sequence[Probe],
    constants: dict[str, Any],
) -> str:
    """The text, with arrays in the memory to work in made in each call."""
    lines = ["(memory_of_call,) = scratch"]
    constants["array_in"] = np.ndarray
    for name, view in views[0].items():
        found = [other.get(name) for other in views]
        if any(v is None or v.dtype != view.dtype for v in found):
            raise Different("Python needs other memory at other sizes")
        if all(v.shape and v == _memory(v.shape[0]) for v in found if v is not None):
            lines.append(f"{name} = memory_of_call")
            continue
        made = fit_value([(v.shape, v.offset, v.strides) for v in found if v], probes)
        shape, offset, strides = (source_of(part, str) for part in made)
        kind = f"dtype_of_{name}"
        constants[kind] = view.dtype
        lines.append(f"{name} = array_in({shape}, {kind}, memory_of_call, {offset}, {strides})")
    text = "\n    ".join(lines)
    source, count = re.subn(r"\([\w\s,]+\) = scratch\b", lambda match: text, source)
    if count != 1:
        raise Different("memory is named at another place")
    return source


def _apart(graphs: Sequence[Graph], probes: Sequence[Probe]) -> list[tuple[Size, Size]]:
    """What must not be equal: bytes to the next row of an array with gaps, and those of its items.

    Where they are, NumPy walks two axes as one, and adds up in another order.
    """
    found = dict[Any, tuple[Size, Size]]()
    columns = [[*g.inputs, *g.nodes] for g in graphs]
    if len({tuple([(x.op, len(x.steps)) for x in column]) for column in columns}) > 1:
        raise Different("the graph has other nodes at other sizes")
    for nodes in zip(*columns, strict=True):
        for axis in range(1, len(nodes[0].steps)):
            rows = [x.steps[axis - 1] for x in nodes]
            items = [x.dims[axis] * x.steps[axis] for x in nodes]
            same = {a == b for a, b in zip(rows, items, strict=True)}
            made = [fit(column, probes) for column in (rows, items)]
            if len(same) > 1 or None in made:
                raise Different(f"another layout of {nodes[0]!r} at other sizes")
            pair = [m if type(m) is Size else Size(m, (((), m),)) for m in made if m is not None]
            if same == {False} and any(type(m) is Size for m in made):
                found[pair[0].terms, pair[1].terms] = pair[0], pair[1]
    return [*found.values()]


def _settle(
    matters: Callable[[int], bool], commit: Callable[[Any], int] | None
) -> Callable[[int, Any], None]:
    def settle(raised: int, arrays: tuple[Any, ...]) -> None:
        if raised < 0 or matters(raised):
            raise Elsewhere
        if commit is not None:
            commit(arrays)

    return settle


def _text(sources: Sequence[str], probes: Sequence[Probe]) -> str:
    """A text with expressions in the places of numbers that differ."""
    sources = [_COMMENT.sub("", source) for source in sources]
    if len({_NUMBER.sub("0", source) for source in sources}) > 1:
        raise Different("the program has another text at other sizes")
    columns = zip(*[_NUMBER.findall(source) for source in sources], strict=True)
    texts = iter([_number(column, probes) for column in columns])
    return _NUMBER.sub(lambda match: next(texts), sources[0])


def _number(column: Sequence[str], probes: Sequence[Probe]) -> str:
    if len(set(column)) == 1:
        return column[0]
    if all(map(str.isdigit, column)):
        made = fit([int(text) for text in column], probes)
    else:
        made = fit_share([float(text) for text in column], probes)
    if made is None:
        raise Different(f"the number {[*column]} at the sizes {[*probes]}")
    return repr(made)


def _constants(programs: Sequence[NativeProgram]) -> dict[str, Any]:
    """What names of the text stand for, at all sizes."""
    found = dict[str, Any]()
    for name, value in programs[0].constants.items():
        others = [p.constants.get(name) for p in programs[1:]]
        if not all(_is_same(value, other) for other in others):
            raise Different(f"{name} is something else at other sizes")
        found[name] = value
    return found


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, (np.ndarray, np.generic)):
        if type(other) is not type(value) or other.dtype != value.dtype:
            return False
        return other.shape == value.shape and other.tobytes() == value.tobytes()
    return value is other or type(value) is type(other) and (
        type(value).__name__ == "Settlement" or bool(value == other))
