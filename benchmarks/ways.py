"""Which way the calls of decorated methods went: the one place that reads the report's form."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

WAYS = "without Python", "with Python", "define-by-run"
_COUNTS = {"without_python": WAYS[0], "with_python": WAYS[1], "eager_calls": WAYS[2]}


@dataclasses.dataclass
class Ways:
    """Calls by way, traces, and the reasons that the report gives."""

    calls: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    traces: int = 0
    reasons: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def share(self, *ways: str) -> float:
        """The part of all calls that went one of these ways."""
        total = sum(self.calls.values())
        return sum(self.calls[w] for w in ways) / total if total else 0.0

    def __sub__(self, before: Ways) -> Ways:
        calls = collections.Counter({w: self.calls[w] - before.calls[w] for w in WAYS})
        return Ways(calls, self.traces - before.traces, self.reasons - before.reasons)


def ways(*chains: Any) -> Ways:
    """Everything that the reports of these chains (not of their children) tell so far."""
    found = Ways()
    for chain in chains:
        manager = chain.__dict__.get("schedule_manager")
        for report in manager.report() if manager is not None else ():
            _add(found, report)
    return found


def _add(found: Ways, report: Any) -> None:
    if not report.is_part:
        for name, way in _COUNTS.items():
            found.calls[way] += getattr(report, name)
    found.traces += sum(event.kind == "compile" for event in report.events)
    for event in report.events:
        if event.kind != "compile":
            reason = event.reason
            if event.kind in ("waits", "slower"):
                reason = reason.partition(":")[0]  # without the way's functions and arguments
            found.reasons[f"{event.kind}: {reason}"] += 1
    for stop in report.stops:
        found.reasons[f"stop: {stop.reason}"] += stop.count


def all_chains(chain: Any) -> list[Any]:
    """A chain and those below it that have a decorated method."""
    return [link for link in chain.links() if "schedule_manager" in link.__dict__]
