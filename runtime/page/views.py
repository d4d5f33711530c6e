"""What the page shows, as plain data: all sizes and places are computed here.

In: ledgers and schedules. Out: named tuples that the templates loop over.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from chainwright.codegen.numpy_target.writer import memory_blocks
from chainwright.ir import Graph
from chainwright.ir.picture import svg

from ..ledger import Report, Sample
from ..profile import Profile
from ..schedule import Schedule

_KEY = re.compile(r"(.*?:\d+)(?:\s|$)")
_COMMENT = re.compile(r"\s# (\S.*?:\d+(?: [^#]*)?)$")
WIDTH, HEIGHT = 640, 160  # of charts
MANY_NODES = 6000  # graphs that have more are shown as text only
SOME_NODES = 1500  # of joined graphs that have more, the first and the last are shown


class SourceLine(NamedTuple):
    """A line of text; ``key`` has the user's lines that it belongs to (see :func:`key_of`)."""

    text: str
    key: str
    number: int | None = None


class Pane(NamedTuple):
    """One of the forms of a program."""

    name: str
    lines: list[SourceLine]


class StageView(NamedTuple):
    """The graph after a pass; without a picture if nothing changed or it is too large."""

    name: str
    nodes: int
    picture: str
    note: str


class BlockView(NamedTuple):
    """A buffer in an arena: a rectangle of steps and bytes."""

    name: str
    text: str
    label: str
    x: float
    y: float
    width: float
    height: float
    shade: int


class Memory(NamedTuple):
    """The plan of one arena."""

    part: str
    where: str
    total: str
    steps: int
    blocks: list[BlockView]


class Bar(NamedTuple):
    """A row of a table of times."""

    text: str
    lines: str
    key: str
    milliseconds: float
    calls: int
    nbytes: int
    width: float


class Times(NamedTuple):
    """The measured times of a program."""

    part: str
    summary: str
    rows: list[Bar]
    by_line: list[Bar]


class ProgramView(NamedTuple):
    """One compiled program."""

    label: str
    facts: list[tuple[str, str]]
    stages: list[StageView]
    panes: list[Pane]
    memory: list[Memory]
    times: list[Times]


class Chart(NamedTuple):
    """Seconds spent and saved over time, as points of two lines."""

    spent: str
    saved: str
    seconds: float
    top: float


class Happening(NamedTuple):
    """An event or a sync point, with the user's line."""

    kind: str
    count: int
    milliseconds: float
    reason: str
    place: str
    code: str


class Method(NamedTuple):
    """Everything about one compiled method."""

    name: str
    where: str
    report: Report
    chart: Chart | None
    events: list[Happening]
    stops: list[Happening]
    programs: list[ProgramView]

    @classmethod
    def of(
        cls, report: Report, where: str, history: Sequence[Sample], programs: list[ProgramView]
    ) -> Method:
        """The view of a ledger's report and of the programs."""
        events = [
            Happening(e.kind, 1, e.seconds * 1e3, e.reason, *_placed(e.where))
            for e in report.events
        ]
        stops = [Happening("stop", s.count, 0.0, s.reason, *_placed(s.where)) for s in report.stops]
        return cls(report.name, where, report, _chart(history), events, stops, programs)

    @property
    def calls(self) -> list[tuple[str, int, float]]:
        """Kinds of calls: name, how many, and their share in percent."""
        r = self.report
        kinds = [
            ("programs without Python", r.without_python),
            ("programs with Python", r.with_python),
            ("define-by-run", r.eager_calls),
        ]
        total = sum(n for _, n in kinds) or 1
        return [(name, n, 100 * n / total) for name, n in kinds]


def program_view(schedule: Schedule, label: str) -> ProgramView:
    """The view of a schedule."""
    built = schedule.built
    parts = {"forward": (built.forward, len(built.saved))}
    backwards = enumerate(built.backwards.values(), 1)
    parts.update((f"backward {k}", (graph, 0)) for k, graph in backwards)
    memory = [m for part, (graph, saved) in parts.items() for m in _memory(part, graph, saved)]
    native = schedule.native_programs is not None
    program = schedule.program
    facts = [
        ("runs as", "native code" if native else "calls of NumPy"),
        ("nodes", ", ".join(f"{part} {len(g.nodes)}" for part, (g, _) in parts.items())),
        ("kernels", str(sum(len(graph.groups) for graph, _ in parts.values()))),
        ("compiled in", f"{(schedule.seconds + schedule.native_seconds) * 1e3:.0f} ms"),
        ("kept for backward", size_text(program.kept_bytes)),
        ("scratch memory", f"{size_text(program.scratch_bytes)} for "
         f"{size_text(program.intermediate_bytes)} of values"),
    ]  # fmt: skip
    texts = {
        "graph": "\n\n".join(str(graph) for graph, _ in parts.values()),
        "NumPy program": schedule.source,
        "native code": schedule.listing,
    }
    panes = [Pane(name, _lines(text)) for name, text in texts.items() if text]
    own = Pane("your code", _users_code([graph for graph, _ in parts.values()]))
    times = [_times(part, profile) for part, profile in schedule.profiles.items()]
    return ProgramView(label, facts, _stages(schedule), [own, *panes], memory, times)


def size_text(nbytes: float) -> str:
    """``1.5 KiB``."""
    units = ["bytes", "KiB", "MiB", "GiB"]
    while nbytes >= 1024 and len(units) > 1:
        nbytes, _ = nbytes / 1024, units.pop(0)
    return f"{nbytes:.0f} bytes" if units[0] == "bytes" else f"{nbytes:.1f} {units[0]}"


def key_of(origin: str) -> str:
    """``block.py:14 < net.py:40`` of ``block.py:14 linear < net.py:40``."""
    return " < ".join([found[1] for part in origin.split(" < ") if (found := _KEY.match(part))])


def _stages(schedule: Schedule) -> list[StageView]:
    found: list[StageView] = []
    last = None
    stages = schedule.passes
    joined = [k for k, stage in enumerate(stages) if ":" not in stage.name]
    for k, stage in enumerate(stages):
        graph, picture, note = stage.graph, "", ""
        if graph is last:
            note = "nothing to do"
        elif len(graph.nodes) > MANY_NODES:
            note = "too large for a picture"
        elif len(graph.nodes) > SOME_NODES and k in joined[1:-1]:
            note = "without a picture, as it is large"
        else:
            picture = svg(graph)
        found.append(StageView(stage.name, len(graph.nodes), picture, note))
        last = graph
    return found


def _lines(text: str) -> list[SourceLine]:
    lines = []
    for line in text.split("\n"):
        found = _COMMENT.search(line)
        lines.append(SourceLine(line, key_of(found[1]) if found else ""))
    return lines


def _users_code(graphs: Iterable[Graph]) -> list[SourceLine]:
    """The lines that nodes come from, and a few around them."""
    files = dict[str, set[int]]()
    for graph in graphs:
        for node in graph.nodes:
            for place in () if node.origin is None else (node.origin.place, *node.origin.via):
                file, _, number = place.rpartition(":")
                files.setdefault(file, set()).add(int(number))
    found: list[SourceLine] = []
    for file, numbers in files.items():
        name = _short(file)
        found.append(SourceLine(f"# {file}", ""))
        shown = sorted({k for n in numbers for k in range(n - 3, n + 4)})
        last = None
        for number in shown:
            line = linecache.getline(file, number)
            if not line:
                continue
            if last is not None and number != last + 1:
                found.append(SourceLine("...", ""))
            key = f"{name}:{number}" if number in numbers else ""
            found.append(SourceLine(line.rstrip("\n"), key, number))
            last = number
    return found


def _memory(part: str, graph: Graph, saved: int) -> Iterable[Memory]:
    for where, (total, steps, blocks) in memory_blocks(graph, saved).items():
        if not total:
            continue
        views = [
            BlockView(
                " ".join(block.names),
                f"{', '.join(block.names)}: {size_text(block.nbytes)} at byte {block.offset}, "
                f"steps {block.start + 1} to {block.stop + 1}",
                f"{block.names[0]} {block.type}",
                WIDTH * block.start / max(steps, 1),
                HEIGHT * block.offset / total,
                max(WIDTH * (block.stop - block.start + 1) / max(steps, 1), 2),
                max(HEIGHT * block.nbytes / total, 1),
                k % 5,
            )
            for k, block in enumerate(blocks)
        ]
        yield Memory(part, where, size_text(total), steps, views)


def _times(part: str, profile: Profile) -> Times:
    summary = f"{profile.calls} calls, {profile.seconds * 1e3:.2f} ms"
    rows = [
        (row.text, ", ".join(row.lines), row.seconds, row.calls, row.nbytes)
        for row in profile.rows
        if row.calls
    ]
    lines = [(_line_text(t.line), t.line, t.seconds, 0, 0) for t in profile.by_line()]
    return Times(part, summary, _bars(rows), _bars(lines))


def _line_text(line: str) -> str:
    return line or "not of a line"


def _bars(rows: list[tuple[str, str, float, int, int]]) -> list[Bar]:
    longest = max((seconds for _, _, seconds, _, _ in rows), default=0.0) or 1.0
    return [
        Bar(text, lines, key_of(lines.partition(", ")[0]), seconds * 1e3, calls, nbytes, share)
        for text, lines, seconds, calls, nbytes in sorted(rows, key=lambda row: -row[2])
        for share in [100 * seconds / longest]
    ]


def _chart(history: Sequence[Sample]) -> Chart | None:
    if len(history) < 2:
        return None
    end = history[-1].seconds or 1.0
    top = max(max(s.spent, s.saved) for s in history) or 1.0

    def points(values: Iterable[float]) -> str:
        pairs = zip(history, values, strict=True)
        return " ".join(
            f"{WIDTH * s.seconds / end:.1f},{HEIGHT * (1 - max(v, 0.0) / top):.1f}"
            for s, v in pairs
        )

    return Chart(points(s.spent for s in history), points(s.saved for s in history), end, top)


def _placed(where: str) -> tuple[str, str]:
    """The short place of a line, and its text."""
    file, _, number = where.rpartition(":")
    if not number.isdigit():
        return where, ""
    code: Any = linecache.getline(file, int(number)).strip()
    return f"{_short(file)}:{number}", code


def _short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]
