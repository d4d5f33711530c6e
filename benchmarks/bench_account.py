"""What programs take to be made, and save, as the account of a method expects it and as measured.

    .venv/bin/python benchmarks/bench_account.py           (writes benchmarks/results/account.md)
    .venv/bin/python benchmarks/bench_account.py lstm gan

Words are parts of names of the models of ``bench_models.py``. Each has a process of its own, in
which everything is compiled at once, at the second call of a kind: nothing has been learned there,
so that it shows what ``chainer_api/graph_optimizations/_account.py`` knows to begin with. Whoever
changes its figures sees here whether they have become better, on their machine.

Seconds are process time, with native code that is made in the background. Models whose programs are
for any sizes, for the turns of loops, or made in more than four goes have other figures and do not
count here. A program has paid after as many calls as its seconds hold what each call saves.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import statistics
import sys
import time

from bench_models import HERE, in_process, made, mean, timed

RESULTS = HERE / "results" / "account.md"
CALLS, SECONDS = 120, 10  # of both variants, in turns: whichever is over first
MOST = 4  # goes in which programs are made
LATE = 1.6  # times as many calls as expected, within which what is compiled early has to pay


def watched(goes):
    """Note what is expected whenever programs of a way are made; gives what did not count."""
    from chainer.graph_optimizations._account import NATIVE, PROVING
    from chainer.graph_optimizations._making import Maker
    from chainer.graph_optimizations._site import _results

    of_way, of_any_size = Maker.of_way, Maker.of_any_size
    others = []

    def note(self, syncs, app, names):
        account = self._account
        functions = sum(a.weight for s in syncs for a in s.app.path(s.first))
        results = _results(syncs)
        native = NATIVE.of(functions)
        goes.append({
            "functions": functions,
            "results": results,
            "made": account._seconds_to_compile(functions, results=results) - native,
            "native": native,
            "proved": PROVING.of(functions),
        })
        if account.of_turns:
            others.append("turns")
        return of_way(self, syncs, app, names)

    def note_other(self, *args):
        others.append("any sizes")
        return of_any_size(self, *args)

    Maker.of_way, Maker.of_any_size = note, note_other
    return others


def measure(name):
    """Both variants of a model in turns; runs in its own process."""
    from ways import all_chains

    import chainer
    from chainwright.runtime.background import BACKGROUND

    chainer.global_config.static_budget = None
    goes = []
    others = watched(goes)
    plain, static = made(name, False), made(name, True)
    times, begun = [], time.perf_counter()
    for k in range(CALLS):
        times.append((timed(plain, k), timed(static, k)))
        if time.perf_counter() - begun > SECONDS:
            break
    BACKGROUND.wait(60)
    chains = [c for c in all_chains(static.model) if "schedule_manager" in vars(c)]
    sites = [s for c in chains for s in c.schedule_manager._sites.values()]
    if others or len(sites) != 1 or not 0 < len(goes) <= MOST:
        return {}
    (site,) = sites
    spent, account, last = site.ledger.spent, site.account, goes[-1]
    late = times[len(times) // 2 :]
    expected = account._expected_gain(last["functions"], last["results"])
    return {
        "functions": last["functions"],
        "results": last["results"],
        "goes": len(goes),
        "expected": {
            **{what: sum(go[what] for go in goes) for what in ("made", "native", "proved")},
            "saved": account._weight * expected,
        },
        "measured": {
            "made": sum(spent.get(what, 0.0) for what in ("trace", "compile", "check")),
            "native": spent.get("native", 0.0),
            "proved": spent.get("prove", 0.0),
            "saved": statistics.median(p for p, _ in late) - statistics.median(s for _, s in late),
        },
    }


def seconds_of(figures):
    return sum(figures[what] for what in ("made", "native", "proved"))


def pays_after(figures, goes):
    """Calls until programs have paid that were made in so many goes; of a call, one go serves."""
    return seconds_of(figures) / goes / figures["saved"] if figures["saved"] > 0 else math.inf


def line_of(row):
    expected, measured = row["expected"], row["measured"]
    cells = [
        f"{1e3 * expected[what]:.{digits}f} / {1e3 * measured[what]:.{digits}f}"
        for what, digits in (("made", 0), ("native", 0), ("proved", 0), ("saved", 2))
    ]
    after = [pays_after(figures, row["goes"]) for figures in (expected, measured)]
    cells.append(" / ".join(f"{calls:.0f}" if calls < math.inf else "never" for calls in after))
    return (
        f"| {row['name']} | {row['functions']} | {row['results']} | {row['goes']} | "
        + " | ".join(cells) + " |"
    )


def spread(ratios):
    """The geometric mean, and the standard deviation of the logarithms."""
    logs = [math.log(x) for x in ratios]
    return f"{mean(ratios):.2f}, {statistics.pstdev(logs):.2f}"


def summary(rows):
    """How far what is expected is off."""
    from chainer.graph_optimizations._account import _SOON

    lines = ["Expected by measured, geometric mean and standard deviation of the logarithm:", ""]
    for what in ("made", "native", "proved", "saved"):
        ratios = [
            r["expected"][what] / r["measured"][what] for r in rows if r["measured"][what] > 0]
        lines.append(f"* {what}: {spread(ratios)} ({len(ratios)} models)")
    calls = [
        (pays_after(r["expected"], r["goes"]), pays_after(r["measured"], r["goes"]), r["name"])
        for r in rows]
    paid = [(e, m, name) for e, m, name in calls if e < math.inf and m < math.inf]
    lines.append(f"* calls until it has paid: {spread([e / m for e, m, _ in paid])}")
    early = [(e, m, name) for e, m, name in calls if e <= _SOON]
    missed = [name for _, m, name in early if m > LATE * _SOON]
    lines.append(
        f"* to pay within {_SOON} calls are expected {len(early)} of {len(rows)}; "
        f"{len(missed)} of these take more than {LATE * _SOON:.0f}"
        + (f": {', '.join(missed)}" if missed else ""))
    return lines


HEADER = (
    "| model | functions | results | goes | made, ms | native, ms | proved, ms | saved a call, ms "
    "| calls until it has paid |\n" + "|---" * 9 + "|"
)


def main(words, output, jobs):
    import models
    import numpy as np

    names = [n for n in models.CASES if not words or any(w in n for w in words)]
    if not words:
        names = [n for n in names if not n.startswith("large")]
    rows = []
    print(HEADER)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        arguments = [("--measure", name) for name in names]
        found = pool.map(lambda given: in_process(*given, script=__file__), arguments)
        for name, row in zip(names, found, strict=True):
            if "measured" in row:
                rows.append({"name": name, **row})
                print(line_of(rows[-1]), flush=True)
            elif "failed" in row:
                print(f"{name}: {row['failed']}", file=sys.stderr)
    print("\n" + "\n".join(summary(rows)))
    if output:
        lines = [
            "# What the account expects of programs",
            "",
            f"NumPy {np.__version__}, Python {sys.version.split()[0]}, one thread. Written by "
            "`benchmarks/bench_account.py`, which says how it is measured. In each cell: expected "
            f"/ measured. {len(rows)} of {len(names)} models count.",
            "",
            *summary(rows),
            "",
            HEADER,
            *map(line_of, rows),
            "",
        ]
        pathlib.Path(output).write_text("\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of names")
    parser.add_argument("--output", help="a file for the table")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
    else:
        main(given.words, given.output or (None if given.words else RESULTS), given.jobs)
