"""Models of many kinds with only their outermost method decorated: equal? which way? how fast?

    .venv/bin/python benchmarks/bench_models.py               (writes benchmarks/results/models.md)
    .venv/bin/python benchmarks/bench_models.py --quick lstm gan
    .venv/bin/python benchmarks/bench_models.py --one-batch seq2seq deep_sets
    .venv/bin/python benchmarks/bench_models.py --list

Words are parts of names; ``--quick`` takes few calls and measures no memory. Each model has a
process of its own, with a time limit and one BLAS thread. Times are of forward and backward, the
two variants in turns: process times in the steady state; for the first calls, which have a process
of their own, those of the thread that calls, and in brackets with what is made in the background.
Peak memory is ``ru_maxrss`` of two more processes, one a variant. How equality is tested: all
results, gradients, parameters, statistics, attributes and the random state after each of the first
calls, bit for bit, with an update of the parameters between, and everything compiled whatever it
costs. "With Python" is the speed-up in a process in which nothing is proved, so that the method's
Python runs in each call.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/chainer_api/graph_optimizations")]
RESULTS = HERE / "results" / "models.md"
LIMIT = 300


class Amounts:
    """How many calls of which kind."""

    def __init__(self, quick):
        self.equal = 8 if quick else 24
        self.all = 40 if quick else 200
        self.steady = 15 if quick else 60
        self.settle = 200 if quick else 10000
        self.tries = 1 if quick else 3
        self.seconds = 12 if quick else 25  # for all calls of a model, and for the steady ones
        self.memory_calls = 0 if quick else 400  # programs and their native code run by then


def plainly(method):
    """The decorator of the undecorated variant."""
    return method


def made(name, compiled):
    """A model of the benchmark, with the seed that both variants have."""
    import models
    import numpy as np

    import chainer

    np.random.seed(1)
    return models.CASES[name](chainer.static_graph if compiled else plainly)


def facts(case, calls):
    """Everything that the first calls gave, with an update after each."""
    import numpy as np
    from trust import Description

    import chainer

    np.random.seed(2)
    optimizer = chainer.optimizers.SGD(1e-3).setup(case.model)
    found = []
    for k in range(calls):
        seen = Description()
        try:
            result = case.run(k)
            seen.add("result", result)
        except Exception as e:
            seen.facts.append(("exception", type(e).__name__, str(e)[:200]))
        seen.add("model", case.model)
        seen.facts.append(("random", np.random.get_state()[1].tobytes(), np.random.get_state()[2]))
        found.append([*map(_brief, seen.facts)])
        optimizer.update()
    return found


def _brief(fact):
    """A fact with digests for large arrays: all of them of all calls take too much memory."""
    return tuple([
        hashlib.sha256(x).digest() if isinstance(x, bytes) and len(x) > 4096 else x for x in fact])


def compare(name, calls):
    """What differs, or None."""
    from trust import difference

    import chainer

    before = chainer.global_config.static_budget
    expected = facts(made(name, False), calls)
    raised = [f for step in expected for f in step if f[0] == "exception"]
    if raised:
        return f"the model itself fails: {raised[0][1:]}"
    if difference(expected, facts(made(name, False), calls)):
        return "the model itself is not the same twice"
    chainer.global_config.static_budget = None  # programs, whatever they cost
    try:
        return difference(expected, facts(made(name, True), calls))
    finally:
        chainer.global_config.static_budget = before


def timed(case, k):
    case.batch(k)
    start = time.process_time()
    case.run(k)
    return time.process_time() - start


def in_turn(k, variants):
    """The variants in the order of the k-th turn.

    Each goes first in every second one: what functions remember of lengths is there for the other.
    """
    return variants if k % 2 else variants[::-1]


def both(plain, static, numbers, seconds):
    """Times of calls in turns, until the numbers or the seconds are used up."""
    times, begun = [], time.perf_counter()
    for k in numbers:
        took = {case: timed(case, k) for case in in_turn(k, (plain, static))}
        times.append((took[plain], took[static]))
        if time.perf_counter() - begun > seconds and len(times) >= 10:
            break
    return times


def settle(plain, static, amounts):
    """Calls until everything that pays is compiled, and functions have become native code."""
    from chainwright.runtime.background import BACKGROUND

    begun = time.perf_counter()
    for k in range(amounts.settle):
        static.run(k)
        if k < 50:
            plain.run(k)
        if time.perf_counter() - begun > amounts.seconds / 2 and k >= 10:
            break
    BACKGROUND.wait(60)
    return k + 1


def speedup_of(steady):
    """How many times as long the calls of the plain variant take."""
    if len(steady) >= 10:
        return statistics.median(p / s for p, s in steady)
    return sum(p for p, _ in steady) / sum(s for _, s in steady)


def with_python(name, amounts):
    """The speed-up where every call has its Python; runs in its own process."""
    from chainer.graph_optimizations._account import Account

    Account.wait_for_proof = lambda *_: 1000
    plain, static = made(name, False), made(name, True)
    start = settle(plain, static, amounts)
    steady = both(plain, static, range(start, start + amounts.steady), amounts.seconds / 2)
    return speedup_of(steady)


def measure(name, amounts):
    """The steady state of a model; runs in its own process."""
    from ways import WAYS, all_chains, ways

    row = {"name": name, "differs": compare(name, amounts.equal)}
    plain, static = made(name, False), made(name, True)
    start = settle(plain, static, amounts)
    chains = all_chains(static.model)
    before = ways(*chains)
    steady = both(plain, static, range(start, start + amounts.steady), amounts.seconds / 2)
    since = ways(*chains) - before
    row["plain_ms"] = statistics.median(p for p, _ in steady) * 1e3
    row["speedup"] = speedup_of(steady)
    row["ways"] = {w: since.share(w) for w in WAYS}
    total = ways(*chains)
    row["traces"], row["reasons"] = total.traces, [r for r, _ in total.reasons.most_common(2)]
    return row


def first_calls(name, calls, seconds):
    """CPU seconds that the first calls of both variants take, in turns; runs in its own process.

    Other work of the machine comes and goes: only what is measured side by side can be compared.
    """
    cases = {"plain": made(name, False), "static": made(name, True)}
    times = {variant: [] for variant in cases}
    begun, in_all, in_thread = time.perf_counter(), time.process_time(), time.thread_time()
    for k in range(calls):
        for variant, case in in_turn(k, tuple(cases.items())):
            case.batch(k)
            start = time.thread_time()
            case.run(k)
            times[variant].append(time.thread_time() - start)
        if time.perf_counter() - begun > seconds and k >= 10:
            break
    background = time.process_time() - in_all - (time.thread_time() - in_thread)
    plain, static = sum(times["plain"]), sum(times["static"])
    usual = statistics.median(times["plain"])
    return {
        "calls": len(times["plain"]),
        "first": times["static"][0] / usual,
        "second": times["static"][1] / usual,
        "overall": static / plain,
        "cpu": (static + background) / plain,
    }


def overall(name, amounts):
    """The first calls, in processes of their own: the one in the middle of some tries."""
    found = [
        in_process("--first", name, "--calls", amounts.all) for _ in range(amounts.tries)]
    failed = [one for one in found if "failed" in one]
    return failed[0] if failed else sorted(found, key=lambda one: one["overall"])[len(found) // 2]


def peak(name, compiled, calls):
    """Peak memory of training, in MiB; runs in its own process."""
    case = made(name, compiled)
    begun = time.perf_counter()
    for k in range(calls):
        case.run(k)
        if time.perf_counter() - begun > 60 and k >= 4:
            break
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _environment():
    """This process's, but with bytecode on disk, as users have it who do not forbid it."""
    found = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return found | {"PYTHONPYCACHEPREFIX": str(HERE.parent / "build" / "bytecode")}


def in_process(*arguments, script=__file__):
    """Run this file, or another one, with arguments, and read the JSON of its last line."""
    command = [sys.executable, "-W", "ignore", script, *map(str, arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env=_environment()
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {LIMIT} s"}
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = (done.stderr.strip() or f"status {done.returncode}").splitlines()
        return {"failed": said[-1][:200]}
    return json.loads(lines[-1])


def row_of(name, quick):
    row = {"name": name, **in_process("--measure", name, *["--quick"] * quick)}
    if "failed" not in row:
        row |= in_process("--with-python", name, *["--quick"] * quick)
    if "failed" not in row:
        row |= overall(name, Amounts(quick))
    if not quick and "failed" not in row:
        for variant in ("plain", "static"):
            found = in_process("--memory", name, "--variant", variant)
            row[f"{variant}_mib"] = found.get("mib", math.nan)
    return row


# -- The table ------


def way_of(row):
    """The way of a model in steady state: the one of most of its calls."""
    return max(row["ways"], key=row["ways"].get) if any(row["ways"].values()) else "define-by-run"


def line_of(row):
    if "failed" in row:
        return f"| {row['name']} | fails: {row['failed'].replace('|', '/')} |" + " |" * 10
    shares = ", ".join(f"{w} {s:.0%}" for w, s in row["ways"].items() if s)
    memory = "" if "plain_mib" not in row else f"{row['plain_mib']:.0f} → {row['static_mib']:.0f}"
    why = "; ".join(r.replace("|", "/")[:90] for r in row["reasons"])
    return (
        f"| {row['name']} | {'no' if row['differs'] else 'yes'} | {shares} | {row['traces']} "
        f"| {row['plain_ms']:.2f} | {row['first']:.1f} | {row['second']:.1f} "
        f"| {row['speedup']:.2f} | {row['with_python']:.2f} "
        f"| {row['overall']:.2f} ({row['cpu']:.2f}) | {memory} | {why} |"
    )


def mean(values):
    values = [*values]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def _memory(row):
    return row["static_mib"] / row["plain_mib"]


def summary(rows):
    """The figures that are to be reached."""
    good = [r for r in rows if "failed" not in r]
    if not good:
        return ["No model ran."]
    ways = [way_of(r) for r in good]
    runs = sum(w != "define-by-run" for w in ways)
    without = sum(w == "without Python" for w in ways)
    running = [r for r, w in zip(good, ways, strict=True) if w != "define-by-run"]
    small = [r["with_python"] for r in running if r["plain_ms"] < 5]
    slowest = min(good, key=lambda r: r["speedup"])
    worst = max(good, key=lambda r: r["overall"])
    within = sum(r["overall"] <= 1.155 for r in good)
    lines = [
        f"* equal: {sum(not r['differs'] for r in good)} of {len(rows)}",
        f"* run programs in steady state: {runs / len(good):.0%} (to reach: 97 %); without their "
        f"Python: {without / len(good):.0%} (70 %)",
        f"* with their Python, models that run programs and take less than 5 ms: {mean(small):.2f} "
        f"times faster in the geometric mean of {len(small)} (1.5)",
        f"* slowest in steady state: {slowest['name']}, {1 / slowest['speedup']:.2f} of "
        "define-by-run's time (1.05)",
        f"* most time over {worst['calls']} calls, everything included: {worst['name']}, "
        f"{worst['overall']:.2f} of define-by-run's (1.15); {within} of {len(good)} models stay "
        "within that",
        f"* speed-up of forward and backward in steady state, geometric mean: "
        f"{mean(r['speedup'] for r in good):.2f}",
    ]
    measured = [r for r in good if r.get("plain_mib", 0) > 0 and r["static_mib"] > 0]
    if measured:
        most = max(measured, key=_memory)
        below = sum(_memory(r) <= 1.105 for r in measured)
        more = max(r["static_mib"] - r["plain_mib"] for r in measured)
        lines.append(
            f"* peak memory over 400 calls: at most {_memory(most):.2f} of define-by-run's "
            f"({most['name']}; to reach: 1.1); {below} of {len(measured)} models stay within that; "
            f"at most {more:.0f} MiB more"
        )
    return lines


HEADER = (
    "| model | equal | calls in steady state | traces | define-by-run, ms | first call "
    "| second call | speed-up | with Python | first 200 calls | peak MiB | what the report says |\n"
    + "|---" * 12
    + "|"
)


def table(rows, quick):
    import numpy as np

    differing = [f"* `{r['name']}`: {r['differs']}" for r in rows if r.get("differs")]
    return "\n".join(
        [
            "# Models with their outermost method decorated",
            "",
            f"NumPy {np.__version__}, Python {sys.version.split()[0]}, one thread"
            f"{', few calls' if quick else ''}. Written by `benchmarks/bench_models.py`, which "
            "says how it is measured. First and second call: in plain calls. Speed-up: of forward "
            "and backward in steady state, after 10,000 calls or 12 seconds; with Python: where "
            "nothing is proved, so that the method's Python runs in each call. First 200 calls "
            "(fewer where they take long): their CPU time with everything included, as a part of "
            "define-by-run's, and in brackets with what is compiled in the background. All with "
            "compiled code and bytecode on disk, as from the second run on.",
            "",
            *summary(rows),
            "",
            HEADER,
            *map(line_of, rows),
            *(["", "What differs:", "", *differing] if differing else []),
            "",
        ]
    )


def main(words, quick, output, jobs):
    import models

    exact = set(words) & set(models.CASES)
    parts = [w for w in words if w not in exact]
    names = [
        n for n in models.CASES if not words or n in exact or any(w in n for w in parts)
    ]
    if quick and not words:
        names = [n for n in names if not n.startswith("large")]
    rows = []
    print(HEADER)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(lambda name: row_of(name, quick), names):
            rows.append(row)
            print(line_of(row), flush=True)
            if row.get("differs"):
                print(f"    {row['name']}: {row['differs']}", flush=True)
    print("\n" + "\n".join(summary(rows)))
    if output:
        pathlib.Path(output).write_text(table(rows, quick))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of names")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--output", help="a file for the table")
    parser.add_argument(
        "--one-batch", action="store_true",
        help="all calls get the first batch: what models gain whose shapes come back",
    )
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--with-python", help=argparse.SUPPRESS)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--variant", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one_batch:
        from models.case import ONE_BATCH

        os.environ[ONE_BATCH] = "1"  # of the processes of the models, too
    if given.measure or given.memory or given.first or given.with_python:
        import logging

        logging.disable(logging.CRITICAL)
    if given.measure:
        print(json.dumps(measure(given.measure, Amounts(given.quick))))
    elif given.with_python:
        found = with_python(given.with_python, Amounts(given.quick))
        print(json.dumps({"with_python": found}))
    elif given.first:
        print(json.dumps(first_calls(given.first, given.calls, Amounts(False).seconds)))
    elif given.memory:
        calls = Amounts(False).memory_calls
        print(json.dumps({"mib": peak(given.memory, given.variant == "static", calls)}))
    elif given.list:
        import models

        print("\n".join(models.CASES))
    else:
        whole = not (given.quick or given.words or given.one_batch)
        main(given.words, given.quick, given.output or (RESULTS if whole else None), given.jobs)
