"""Array code that a loop calls in each of its turns, on some rows of arrays, as one native call.

In: the function, how many rows each turn has, and where in its arrays these begin. Out: results in
their places. Turns of as many rows share a program, which is compiled as other array code is (see
:mod:`.eager`); a turn that has none yet is a call of the function. Native code counts only as long
as it gives the bits of that call: the first one of each program is compared.
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
from .native import native_target, same_bits
from .options import OPTIONS

logger = logging.getLogger("chainwright")

_CALLS = 3  # with turns of as many rows, before a program is made
_FORMS = 64  # of arrays, that are remembered for a function
_ROWS = 256  # numbers of rows, likewise


class Rows(NamedTuple):
    """An array, and the first of the rows that each turn has to do with.

    None stands for the whole array in each turn. Results are arrays without gaps, in C order.
    """

    array: np.ndarray
    first: np.ndarray | None

    def of(self, turn: int, n: int) -> np.ndarray:
        """What a turn of ``n`` rows has to do with."""
        if self.first is None:
            return self.array
        k = self.first[turn]
        return self.array[k : k + n]

    @property
    def form(self) -> Any:
        """Equal for arrays that the same programs are for."""
        a = self.array
        return a.dtype, a.strides, a.shape if self.first is None else a.shape[1:]


class _Program:
    """That of turns with so many rows."""

    def __init__(self) -> None:
        self.calls = 0
        self.part: Part | None = None
        self.trusted = False


class _Form:
    """The programs for arrays of one form, by the rows of a turn."""

    def __init__(self, turns: Turns, arguments: Sequence[Rows], widths: Sequence[int]) -> None:
        self._turns, self._widths = turns, widths
        self._arguments = [
            (rows.array.shape, rows.array.dtype, rows.array.strides, rows.first is None)
            for rows in arguments]
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
            except Exception:
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
        self, counts: Sequence[int], arguments: Sequence[Rows], results: Sequence[Rows]
    ) -> None:
        """Compute turns of so many rows, one after the other, into the results."""
        prepared = self.prepared(counts, arguments, results)
        if prepared is not None and prepared.run():
            return
        for k, n in enumerate(counts):
            given = self.function(*[rows.of(k, n) for rows in arguments], **self.settings)
            for y, rows in zip(_several(given), results, strict=True):
                rows.of(k, n)[...] = y

    def prepared(
        self, counts: Sequence[int], arguments: Sequence[Rows], results: Sequence[Rows]
    ) -> Prepared | None:
        """All turns as one native call; None if most of them have no native code (yet)."""
        if OPTIONS.target() == "numpy":
            return None
        dtype = results[0].array.dtype
        for rows in (*arguments, *results):
            if not (type(a := rows.array) is np.ndarray and a.dtype == dtype and a.flags.aligned):
                return None
        widths = [rows.array.shape[1] for rows in results]
        key = (*[rows.form for rows in arguments], *widths)
        form = self._forms.get(key)
        if form is None:
            form = self._forms.setdefault(key, _Form(self, arguments, widths))
            while len(self._forms) > _FORMS:
                self._forms.popitem(last=False)
        programs = form.programs(counts)
        ready = [n for n in counts if programs[n].part is not None]
        if 2 * len(ready) < len(counts):
            return None
        return Prepared(self, counts, arguments, results, programs)


class Prepared:
    """Turns for which there is native code."""

    def __init__(
        self, turns: Turns, counts: Sequence[int], arguments: Sequence[Rows],
        results: Sequence[Rows], programs: dict[int, _Program],
    ) -> None:
        self._turns, self._counts = turns, counts
        self._arguments, self._results = arguments, results
        self._programs = programs
        self._parts = {n: program.part for n, program in programs.items()}

    def run(self) -> bool:
        """Compute all turns, one after the other.

        False: NumPy would warn of what has been computed, or raise. What is in the results then is
        to be computed otherwise.
        """
        operands = [*self._arguments, *self._results]
        trusted = {
            n: part is not None and self._programs[n].trusted for n, part in self._parts.items()}
        first = 0
        if not all(trusted.values()):
            for k, n in enumerate(self._counts):
                if not trusted[n]:
                    done = self._natively(operands, first, k) and self._plainly(k)
                    if not done:
                        return False
                    first = k + 1
        return self._natively(operands, first, len(self._counts))

    def _plainly(self, k: int) -> bool:
        """One turn by calling the function, to which native code is compared, if there is any."""
        n = self._counts[k]
        arrays = [rows.of(k, n) for rows in self._arguments]
        kinds = {kind: "raise" for kind, how in np.geterr().items() if how != "ignore"}
        try:
            with np.errstate(**kinds):  # type: ignore[arg-type]
                given = self._turns.function(*arrays, **self._turns.settings)
        except FloatingPointError:
            return False
        given = _several(given)
        if self._parts[n] is not None:
            self._compare(k, given)
        for y, rows in zip(given, self._results, strict=True):
            rows.of(k, n)[...] = y
        return True

    def _compare(self, k: int, given: Sequence[np.ndarray]) -> None:
        n, made = self._counts[k], [np.empty_like(y) for y in given]
        arguments = [
            rows if rows.first is None else Rows(rows.of(k, n), None) for rows in self._arguments
        ]
        results = [Rows(y, None) for y in made]
        program = self._programs[n]
        with np.errstate(all="ignore"):
            self._natively([*arguments, *results], k, k + 1)
        if all(map(same_bits, made, given)):
            program.trusted = True
        else:
            program.part = self._parts[n] = None
            logger.warning(
                "%s stays calls of NumPy: its native code gave other bits",
                self._turns.function.__name__)

    def _natively(self, operands: Sequence[Rows], first: int, end: int) -> bool:
        """Some turns, all of which have programs, by native code."""
        if first == end:
            return True
        target = native_target()
        assert target is not None
        counts = self._counts[first:end]
        numbers = {n: k for k, n in enumerate(dict.fromkeys(counts))}
        parts = [part for n in numbers if (part := self._parts[n]) is not None]
        offsets = np.zeros((end - first, len(operands) + 1), np.int64)
        for k, rows in enumerate(operands):
            if rows.first is not None:
                np.multiply(rows.first[first:end], rows.array.strides[0], out=offsets[:, k])
        which = np.array([numbers[n] for n in counts])
        linker = target.linker
        table = series(parts, which, offsets, linker)
        memory = memory_of(max([part.memory for part in parts]))
        wake(parts, linker.pool())
        run = linker.callable("series", is_brief(parts, len(counts)))
        flags = run((table, *[rows.array for rows in operands], memory))
        return not flags or flags > 0 and not linker.flags.matter(flags)


def _several(given: Any) -> tuple[Any, ...]:
    return given if type(given) is tuple else (given,)
