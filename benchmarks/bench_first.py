"""What the first calls of compiled methods cost: the models of bench_models.py, in a few minutes.

    .venv/bin/python benchmarks/bench_first.py                (writes results/first_calls.md)
    .venv/bin/python benchmarks/bench_first.py --calls 1500 real_nvp lenet

Each model has a process of its own, in which the undecorated and the compiled variant take their
calls in turns, so that whatever else the machine does meets both. Times are those of the thread
that calls; to those of the compiled variant all is added that native code took of Python in the
background, as if no other core were there. So ratios differ by a few hundredths from run to run,
where those of clocks in two processes differ by tenths.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import sys
import time

import bench_models

RESULTS = pathlib.Path(__file__).resolve().parent / "results" / "first_calls.md"
SECONDS = 8  # of define-by-run, after which no more calls are made


def measure(name, calls):
    """The times of a model's calls, and what they went into; in this process."""
    import ways

    variants = [bench_models.made(name, compiled) for compiled in (False, True)]
    times = [[], []]
    for k in range(calls):
        for case in variants:
            case.batch(k)
        for which in ((0, 1), (1, 0))[k % 2]:
            started = time.thread_time()
            variants[which].run(k)
            times[which].append(time.thread_time() - started)
        if sum(times[0]) > SECONDS and k >= 10:
            break
    reports = [
        r for c in ways.all_chains(variants[1].model) for r in c.schedule_manager.report()
    ]
    spent = {}
    for report in reports:
        for what, seconds in report.spent.items():
            spent[what] = spent.get(what, 0.0) + seconds
    plain, compiled = sum(times[0]), sum(times[1]) + spent.get("native", 0.0)
    late = len(times[0]) // 4
    return {
        "name": name,
        "calls": len(times[0]),
        "plain": plain,
        "ratio": compiled / plain,
        "late": sum(times[1][-late:]) / sum(times[0][-late:]),
        "without": sum(r.without_python for r in reports),
        "with": sum(r.with_python for r in reports),
        "eager": sum(r.eager_calls for r in reports),
        "spent": spent,
    }


def line_of(row):
    if "failed" in row:
        return f"| {row['name']} | fails: {row['failed']} | | | | |"
    spent = ", ".join(f"{k} {v * 1e3:.0f}" for k, v in row["spent"].items() if v > 5e-4)
    return (
        f"| {row['name']} | {row['plain'] * 1e3:.0f} | {row['ratio']:.2f} | {row['late']:.2f} | "
        f"{row['without']}, {row['with']}, {row['eager']} | {spent} |"
    )


def table(rows, calls):
    good = sorted((r for r in rows if "failed" not in r), key=lambda r: -r["ratio"])
    mean = math.exp(sum(math.log(r["ratio"]) for r in good) / len(good))
    within = sum(r["ratio"] <= 1.155 for r in good)
    return "\n".join([
        f"# The first {calls} calls of models with their outermost method decorated",
        "",
        "Written by `benchmarks/bench_first.py`, which says how it is measured. Milliseconds; the "
        "last quarter: of the calls, as a part of define-by-run's. Compiled code, the answers of "
        "rules and bytecode come from disk, as from the second run on.",
        "",
        f"* {within} of {len(good)} models stay within 1.15 of define-by-run's time; the geometric "
        f"mean of all is {mean:.2f}, the worst {good[0]['name']}: {good[0]['ratio']:.2f}",
        "",
        "| model | define-by-run, ms | compiled: of that | the last quarter "
        "| calls without Python, with Python, define-by-run | spent, ms |",
        "|---" * 6 + "|",
        *map(line_of, good),
        *[line_of(r) for r in rows if "failed" in r],
        "",
    ])


def main(words, calls, output, jobs):
    import models

    names = words or [n for n in models.CASES if not n.startswith("large")]

    def run(name):
        found = bench_models.in_process("--one", name, "--calls", calls, script=__file__)
        return {"name": name, **found}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(run, names))
    text = table(rows, calls)
    print(text)
    if output:
        pathlib.Path(output).write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="names of models")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--output", help="file to write")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.calls)))
    else:
        usual = not options.words and options.calls == 200
        file = options.output or (RESULTS if usual else None)
        sys.exit(main(options.words, options.calls, file, options.jobs))
