"""Array code that a loop calls in each of its turns, on some rows of arrays, as one native call.

In: the function, and a :class:`Loop`: how many rows each turn has, and where in its arrays these
begin. Out: results in their places. Turns of as many rows share a program, which is compiled as
other array code is (see :mod:`.eager`); a turn that has none yet is a call of the function. Native
code counts only as long as it gives the bits of that call: the first one of each program is
compared.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.series import Part, is_brief, series, wake
from chainwright.codegen.native_target.writer import parts_of
from chainwright.codegen.program import memory_of
from chainwright.ir.layout import dense_strides
from chainwright.ir.passes import prepare

from .eager import NEWS, recorded
from .interrupts import pass_on
from .native import native_target, same_bits
from .options import OPTIONS

logger = logging.getLogger("chainwright")

_CALLS = 3  # with turns of as many rows, before a program is made
_FORMS = 64  # of arrays, that are remembered for a function
_ROWS = 256  # numbers of rows, likewise
_KNOWN = 8  # forms of arrays for which a loop knows what to do


def loops_are_native() -> bool:
    """Whether loops become native code by themselves, so that nobody need unroll them."""
    return OPTIONS.target() != "numpy"


class Loop:
    """The turns of a loop: how many rows each has, and where in arrays these begin.

    Args:
        counts: The numbers of rows.
        firsts: For each argument, and then for each result, the first row in each turn; None: the
            whole array in each turn. Results are arrays without gaps, in C order.
    """

    def __init__(self, counts: Sequence[int], firsts: Sequence[np.ndarray | None]) -> None:
        self.counts = [*counts]
        numbers = {n: k for k, n in enumerate(dict.fromkeys(self.counts))}
        self.rows = [*numbers]  # each number once
        self.which = np.array([numbers[n] for n in self.counts])
        self.are_whole = [first is None for first in firsts]
        self.firsts = np.zeros((len(self.counts), len(firsts) + 1), np.int64)
        for k, first in enumerate(firsts):
            if first is not None:
                self.firsts[:, k] = first
        #: By function and form of arrays: how all turns are run, where all programs are trusted.
        self.known: dict[Any, _Known] = {}

    def parts(self, arrays: Sequence[np.ndarray], turn: int) -> list[np.ndarray]:
        """What a turn has to do with, of the arrays of arguments and results."""
        n, firsts = self.counts[turn], self.firsts[turn].tolist()
        return [
            a if is_whole else a[k : k + n]
            for a, k, is_whole in zip(arrays, firsts, self.are_whole, strict=False)]

    def form(self, arrays: Sequence[np.ndarray]) -> Any:
        """Equal for arrays that the same programs are for; None for some that have none."""
        dtype, found = arrays[-1].dtype, list[Any]()
        for a, is_whole in zip(arrays, self.are_whole, strict=True):
            if not (type(a) is np.ndarray and a.dtype is dtype and a.flags.aligned):
                return None
            found.append((a.strides, a.shape if is_whole else a.shape[1:]))
        return (dtype, *found)


class _Known(NamedTuple):
    """A series of turns that all have trusted programs."""

    table: np.ndarray
    memory: int
    run: Callable[[Any], int]
    linker: Any
    parts: Sequence[Part]  # whose code the table names

    def is_current(self) -> bool:
        """Whether native code is still made by whom it was made by."""
        target = native_target()
        return target is not None and target.linker is self.linker

    def __call__(self, arrays: Sequence[np.ndarray]) -> bool:
        """Run it; False where NumPy would warn, or raise."""
        flags = self.run((self.table, *arrays, memory_of(self.memory)))
        return not flags or flags > 0 and not self.linker.flags.matter(flags)


class _Program:
    """That of turns with so many rows."""

    def __init__(self) -> None:
        self.calls = 0
        self.part: Part | None = None
        self.trusted = False


class _Form:
    """The programs for arrays of one form, by the rows of a turn."""

    def __init__(self, turns: Turns, arguments: Sequence[Any], widths: Sequence[int]) -> None:
        self._turns, self._arguments, self._widths = turns, arguments, widths
        self._programs = OrderedDict[int, _Program]()

    def programs(self, counts: Sequence[int]) -> dict[int, _Program]:
        """Those of turns with these numbers of rows, of which new ones are compiled in time."""
        found = {n: self._programs.setdefault(n, _Program()) for n in counts}
        wanted = list[int]()
        for n, program in found.items():
            if program.calls < _CALLS:
                program.calls += 1
                NEWS.has_come()
                if program.calls == _CALLS:
                    wanted.append(n)
        while len(self._programs) > max(_ROWS, len(found)):
            self._programs.popitem(last=False)
        if wanted:
            # Fewest and most come first, then one in the middle: the others are made of these.
            middle = max(wanted) / 2 + 1
            wanted.sort(key=lambda n: abs(n - middle), reverse=True)
            wanted.insert(2, wanted.pop())
            NEWS.compile(lambda: self._compile({n: found[n] for n in wanted}))
        return found

    def _compile(self, programs: dict[int, _Program]) -> None:
        for n, program in programs.items():
            try:
                program.part = self._between(n) or self._compiled(n)
            except Exception as error:
                pass_on(error)
                title = self._turns.function.__name__
                logger.warning("%s stays calls of NumPy", title, exc_info=True)

    def _between(self, n: int) -> Part | None:
        """That for ``n`` rows, of those for fewer and for more; one row is another matter."""
        known = {
            m: program.part for m, program in [*self._programs.items()]
            if m > 1 and program.part is not None}
        rows = sorted(known)
        if len(rows) < 3 or not rows[0] < n < rows[-1]:
            return None
        rows = [rows[0], min(rows[1:-1], key=lambda m: abs(m - n)), rows[-1]]
        return Part.between(rows, [known[m] for m in rows], n)

    def _compiled(self, n: int) -> Part | None:
        target = native_target()
        if target is None:
            return None
        layouts = [
            (shape if whole else (n, *shape[1:]), dtype, strides)
            for shape, dtype, strides, whole in self._arguments]
        dtype = self._arguments[0][1]
        made = [((n, w), dtype, dense_strides((n, w), dtype.itemsize)) for w in self._widths]
        graph = recorded(self._turns.function, layouts, self._turns.settings, made)
        if graph is None:
            return None
        graph = prepare(graph, target.passes)
        if not all(part.native for part in parts_of(graph, Forms(target.machine))):
            return None
        program = target.program(graph, self._turns.function.__name__)
        return Part.of(graph, program, target.linker)


class Turns:
    """Array code ``function(*arrays, **settings)`` that is called in each turn of a loop.

    It gives new arrays, and writes to none. Results have a row for each row of a turn, and one
    dtype; where arguments have another one, turns are calls of the function.
    """

    def __init__(self, function: Callable[..., Any], settings: dict[str, Any]) -> None:
        self.function, self.settings = function, settings
        self._forms: OrderedDict[Any, _Form] = OrderedDict()

    def run(
        self, loop: Loop, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]
    ) -> None:
        """Compute the turns, one after the other, into the results."""
        prepared = self.prepared(loop, arguments, results)
        if prepared is not None and prepared.run():
            return
        n, arrays = len(arguments), [*arguments, *results]
        for turn in range(len(loop.counts)):
            parts = loop.parts(arrays, turn)
            given = self.function(*parts[:n], **self.settings)
            for y, part in zip(_several(given), parts[n:], strict=True):
                part[...] = y

    def prepared(
        self, loop: Loop, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]
    ) -> Prepared | None:
        """All turns as one native call; None if most of them have no native code (yet)."""
        if not loops_are_native():
            return None
        arrays = [*arguments, *results]
        key = loop.form(arrays)
        if key is None:
            return None
        known = loop.known.get((self, key))
        if known is not None and known.is_current():
            return Prepared(self, loop, arrays, len(arguments), key, {}, known)
        form = self._forms.get(key)
        if form is None:
            layouts = [
                (a.shape, a.dtype, a.strides, is_whole)
                for a, is_whole in zip(arguments, loop.are_whole, strict=False)]
            form = _Form(self, layouts, [y.shape[1] for y in results])
            form = self._forms.setdefault(key, form)
            while len(self._forms) > _FORMS:
                self._forms.popitem(last=False)
        programs = form.programs(loop.rows)
        ready = [n for n in loop.counts if programs[n].part is not None]
        if 2 * len(ready) < len(loop.counts):
            return None
        return Prepared(self, loop, arrays, len(arguments), key, programs)


class Prepared:
    """Turns for which there is native code."""

    def __init__(
        self, turns: Turns, loop: Loop, arrays: Sequence[np.ndarray], n: int, key: Any,
        programs: dict[int, _Program], known: _Known | None = None,
    ) -> None:
        self._turns, self._loop, self._arrays, self._n = turns, loop, arrays, n
        self._key, self._programs, self._known = (turns, key), programs, known
        self._parts = {n: program.part for n, program in programs.items()}

    def run(self) -> bool:
        """Compute all turns, one after the other.

        False: NumPy would warn of what has been computed, or raise. What is in the results then is
        to be computed otherwise.
        """
        if self._known is not None:
            wake(self._known.parts, self._known.linker.pool())
            return self._known(self._arrays)
        trusted = {
            n: part is not None and self._programs[n].trusted for n, part in self._parts.items()}
        turns, first = len(self._loop.counts), 0
        if all(trusted.values()):
            made = self._made(self._arrays, self._loop.firsts, 0, turns)
            if len(self._loop.known) < _KNOWN or self._key in self._loop.known:
                self._loop.known[self._key] = made
            return made(self._arrays)
        for k, n in enumerate(self._loop.counts):
            if not trusted[n]:
                done = self._natively(first, k) and self._plainly(k)
                if not done:
                    return False
                first = k + 1
        return self._natively(first, turns)

    def _plainly(self, k: int) -> bool:
        """One turn by calling the function, to which native code is compared, if there is any."""
        parts = self._loop.parts(self._arrays, k)
        kinds = {kind: "raise" for kind, how in np.geterr().items() if how != "ignore"}
        try:
            with np.errstate(**kinds):  # type: ignore[arg-type]
                given = self._turns.function(*parts[: self._n], **self._turns.settings)
        except FloatingPointError:
            return False
        given = _several(given)
        if self._parts[self._loop.counts[k]] is not None:
            self._compare(k, parts[: self._n], given)
        for y, part in zip(given, parts[self._n :], strict=True):
            part[...] = y
        return True

    def _compare(
        self, k: int, arguments: Sequence[np.ndarray], given: Sequence[np.ndarray]
    ) -> None:
        n, made = self._loop.counts[k], [np.empty_like(y) for y in given]
        arrays, program = [*arguments, *made], self._programs[n]
        with np.errstate(all="ignore"):
            firsts = np.zeros_like(self._loop.firsts)
            self._made(arrays, firsts, k, k + 1)(arrays)
        if all(map(same_bits, made, given)):
            program.trusted = True
        else:
            program.part = self._parts[n] = None
            logger.warning(
                "%s stays calls of NumPy: its native code gave other bits",
                self._turns.function.__name__)

    def _natively(self, first: int, end: int) -> bool:
        """Some turns, all of which have programs, by native code."""
        if first == end:
            return True
        return self._made(self._arrays, self._loop.firsts, first, end)(self._arrays)

    def _made(
        self, arrays: Sequence[np.ndarray], firsts: np.ndarray, first: int, end: int
    ) -> _Known:
        """How some turns are run."""
        target = native_target()
        assert target is not None
        linker, loop = target.linker, self._loop
        which, rows = loop.which, loop.rows
        if end - first < len(loop.counts):
            numbers = {n: k for k, n in enumerate(dict.fromkeys(loop.counts[first:end]))}
            which, rows = np.array([numbers[n] for n in loop.counts[first:end]]), [*numbers]
        parts = [part for n in rows if (part := self._parts[n]) is not None]
        strides = np.array([*[a.strides[0] for a in arrays], 0])
        table = series(parts, which, firsts[first:end] * strides, linker)
        run = linker.callable("series", is_brief(parts, end - first))
        wake(parts, linker.pool())
        return _Known(table, max([part.memory for part in parts]), run, linker, parts)

def _several(given: Any) -> tuple[Any, ...]:
    return given if type(given) is tuple else (given,)
