"""Which way the calls of decorated methods went: the one place that reads the report's form."""

from __future__ import annotations

import collections
import dataclasses
import importlib.util
from typing import Any

WAYS = "without Python", "with Python", "define-by-run"
# Since methods have an account, what a report counts as hits are calls that ran programs with
# their Python; before, those without.
_ACCOUNTS = importlib.util.find_spec("chainer.graph_optimizations._account") is not None
# Names of counts in reports: those of the first form, and those that name the way itself.
_COUNTS = {
    "hits": WAYS[1] if _ACCOUNTS else WAYS[0],
    "without_python": WAYS[0],
    "replays": WAYS[0],
    "with_python": WAYS[1],
    "eager_calls": WAYS[2],
    "define_by_run": WAYS[2],
}


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
    for name, way in _COUNTS.items():
        value = getattr(report, name, None)
        if isinstance(value, int):
            found.calls[way] += value
    events = getattr(report, "events", ())
    traces = getattr(report, "traces", None)
    found.traces += traces if isinstance(traces, int) else sum(e.kind == "trace" for e in events)
    for event in events:
        if event.kind not in ("trace", "backward trace", "compile", "evicted"):
            found.reasons[f"{event.kind}: {event.reason}"] += 1


def all_chains(chain: Any) -> list[Any]:
    """A chain and those below it that have a decorated method."""
    return [link for link in chain.links() if "schedule_manager" in link.__dict__]
