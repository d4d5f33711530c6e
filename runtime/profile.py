"""What the parts of a program cost: programs that look at the clock between their lines.

In: a program. Out: :class:`Profile`, whose ``function`` computes what the program computes, and
which adds the seconds of each part up. Lines of Python are timed one by one; native code is run
step by step, where a step is a kernel or a call of the library (steps that share a few rows at a
time stay together).
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chainwright.codegen import Program
from chainwright.codegen.native_target import NativeProgram
from chainwright.codegen.native_target.driver import N_COMMITS, N_REGIONS, REGION_HEAD, REGIONS
from chainwright.codegen.native_target.program import Segment, with_products, with_threads
from chainwright.codegen.native_target.steps import Region, Step
from chainwright.ir import Node

from .options import OPTIONS
from .trees import parsed

_clock = time.perf_counter
_FUNCTION = re.compile(r".*?:\d+ | < .*")  # what is no function in ``net.py:14 linear < net.py:40``


@dataclass(slots=True)
class Row:
    """One part of a program: its text, the user's lines, how often it ran and how long."""

    text: str
    lines: tuple[str, ...]
    nbytes: int = 0
    calls: int = 0
    seconds: float = 0.0

    @property
    def functions(self) -> str:
        """The functions of the lines, joined by ``+``."""
        names = [_FUNCTION.sub("", line) for line in self.lines]
        return "+".join(dict.fromkeys(names))


class LineTime(NamedTuple):
    """Seconds that went into one line of the user's; parts of several lines count in shares."""

    line: str
    seconds: float


class Profile:
    """Times of the parts of a program.

    ``rows`` stand in the order of the program. ``str()`` is a table.
    """

    def __init__(self, program: Program) -> None:
        self.title = program.title
        self.rows: list[Row] = []
        self.calls = 0  #: How often the program has run.
        self._last = 0.0
        self.function = self._function(program)

    def __str__(self) -> str:
        total = self.seconds or 1.0
        lines = [f"{self.title}: {self.seconds * 1e3:.2f} ms in {self.calls} calls"]
        for row in sorted(self.rows, key=lambda row: -row.seconds):
            if row.calls:
                share, each = 100 * row.seconds / total, 1e6 * row.seconds / row.calls
                where = f"  # {', '.join(row.lines)}" if row.lines else ""
                lines.append(f"  {share:5.1f} %  {each:9.1f} us  {row.text}{where}")
        return "\n".join(lines)

    @property
    def seconds(self) -> float:
        """Those of all parts."""
        return sum(row.seconds for row in self.rows)

    def by_line(self) -> list[LineTime]:
        """Seconds by the user's line, the longest first."""
        found: dict[str, float] = {}
        for row in self.rows:
            for line in row.lines or ("",):
                found[line] = found.get(line, 0.0) + row.seconds / max(len(row.lines), 1)
        order = sorted(found.items(), key=lambda item: -item[1])
        return [LineTime(line, seconds) for line, seconds in order if seconds]

    # -- making the function

    def _function(self, program: Program) -> Callable[..., Any]:
        steps = dict[int, list[tuple[np.ndarray, Row]]]()
        constants, source = dict(program.constants), program.source
        if isinstance(program, NativeProgram):
            for name, segment in program.segments.items():
                code = constants[name] = segment.link(program.linker)
                segment.settlement.flags = program.linker.flags
                steps[id(code)] = self._pieces(program, segment, code)
            linker = program.linker
            run, commit = with_threads(linker.callable("run"), linker), linker.callable("commit")
            run = with_products(run, linker) if program.multiplies else run
            constants["run"] = lambda arrays: self._run(run, commit, steps[id(arrays[0])], arrays)
        constants["_start"], constants["_mark"] = self._start, self._mark
        facts = {name: getattr(program, name) for name in Program.__dataclass_fields__}
        facts |= {"source": self._with_marks(source, program.name), "constants": constants}
        timed = Program(**facts)
        return replace(timed, title=f"{program.title}, timed").load().function

    def _with_marks(self, source: str, name: str) -> str:
        """The program, with a call after each line that does something."""
        lines = source.split("\n")
        tree = parsed(source)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        function = next(node for node in functions if node.name == name)
        marks = {}
        for node in _statements(function.body):
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            code, _, comment = text.partition("  # ")
            if isinstance(node, ast.Return) or " run(" in code:
                continue
            marks[node.end_lineno or node.lineno] = len(self.rows), node.col_offset
            self.rows.append(Row(code.strip(), (comment.strip(),) if comment else ()))
        written = list[str]()
        for number, line in enumerate(lines, 1):
            if number == function.body[0].lineno:
                written.append("    _start()")
            written.append(line)
            if number in marks:
                row, indent = marks[number]
                written.append(f"{' ' * indent}_mark({row})")
        return "\n".join(written)

    def _start(self) -> None:
        self.calls += 1
        self._last = _clock()

    def _mark(self, k: int) -> None:
        self._took(self.rows[k], _clock() - self._last)
        self._last = _clock()

    def _took(self, row: Row, seconds: float) -> None:
        row.calls += 1
        row.seconds += seconds
        OPTIONS.timed(row.functions or self.title, seconds)

    # -- native code

    def _pieces(
        self, program: NativeProgram, segment: Segment, code: np.ndarray
    ) -> list[tuple[np.ndarray, Row]]:
        """Tables that run one part of a segment each."""
        names = {kernel.key: f"kernel{k}" for k, kernel in enumerate(program.kernels)}
        found, at = [], int(code[REGIONS])
        for region in segment.regions:
            start, at = at, at + REGION_HEAD
            for step in region.steps:
                length = 4 + 3 * len(step.operands)
                if region.tile >= region.rows:
                    head = np.zeros(REGION_HEAD, np.int64)
                    head[:3] = region.rows, region.tile, 1
                    table = np.concatenate([code, head, code[at : at + length]])
                    found.append((_only(table, len(code)), self._row(region, (step,), names)))
                at += length
            if region.tile < region.rows:
                found.append((_only(code.copy(), start), self._row(region, region.steps, names)))
        return found

    def _row(self, region: Region, steps: tuple[Step, ...], names: dict[Any, str]) -> Row:
        texts = [
            step.label or step.function
            if isinstance(step.function, str)
            else names[step.function.key]
            for step in steps
        ]
        lines = dict.fromkeys(line for step in steps for line in _origins(step))
        values = {p.value for step in steps for p in step.operands if isinstance(p.value, Node)}
        row = Row(" + ".join(texts), tuple(lines), sum(value.nbytes for value in values))
        self.rows.append(row)
        return row

    def _run(self, run: Any, commit: Any, pieces: Any, arrays: tuple[Any, ...]) -> int:
        flags = 0
        for code, row in pieces:
            part = (code, *arrays[1:])
            started = _clock()
            raised = run(part)
            self._took(row, _clock() - started)
            if raised < 0:
                return raised
            flags |= raised
        if not flags:
            commit(arrays)
        self._last = _clock()
        return flags


def _only(code: np.ndarray, start: int) -> np.ndarray:
    """A table that runs the one region that stands at ``start``, and writes nothing at its end."""
    code[REGIONS], code[N_REGIONS], code[N_COMMITS] = start, 1, 0
    return code


def _origins(step: Step) -> Iterator[str]:
    yield from (line for line in step.origins if line)
    if not isinstance(step.function, str):
        yield from (instr.origin for instr in step.function.body if instr.origin)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.For | ast.If | ast.With):
            yield from _statements(node.body)
        else:
            yield node
