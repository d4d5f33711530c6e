"""What stays in memory after 10,000 batch sizes, dropped chains, values of a number.

    .venv/bin/python benchmarks/bench_memory.py           (writes benchmarks/results/memory.md)
    .venv/bin/python benchmarks/bench_memory.py --count 200 chains

Each row is a process of its own: resident memory after a quarter, half, three quarters and all of
the rounds (three steps of training each), decorated and not, and the entries in ``linecache``.
"""

import argparse
import gc
import json
import linecache
import os
import pathlib
import subprocess
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"
HERE = pathlib.Path(__file__).resolve().parent
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident():
    """Resident memory of this process now, in MiB."""
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE / 2**20


def net(compiled):
    import chainer
    import chainer.functions as F
    import chainer.links as L

    class Net(chainer.Chain):
        scale = 1.0

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.bn = L.Linear(8, 16), L.BatchNormalization(16)
                self.l2 = L.Linear(16, 4)

        def forward(self, x):
            h = F.dropout(F.relu(self.bn(self.l1(x))), 0.2) * self.scale
            return F.sum(F.tanh(self.l2(h)) ** 2)

    if compiled:
        Net.forward = chainer.static_graph(Net.forward)
    return Net


def steps(model, n):
    import numpy as np

    x = np.ones((n, 8), "f")
    for _ in range(3):
        model.cleargrads()
        model(x).backward()


def batch_sizes(cls):
    model = cls()
    return lambda k: steps(model, k + 1)


def chains(cls):
    return lambda k: steps(cls(), 8)


def numbers(cls):
    model = cls()

    def work(k):
        model.scale = 1.0 + k / 7
        steps(model, 8)

    return work


KINDS = {"batch_sizes": batch_sizes, "chains": chains, "numbers": numbers}


def measure(kind, compiled, count):
    import logging

    logging.disable(logging.CRITICAL)
    work = KINDS[kind](net(compiled))
    for k in range(20):
        work(k)
    found = [resident()]
    for quarter in range(4):
        for k in range(quarter * count // 4, (quarter + 1) * count // 4):
            work(k)
        found.append(resident())
    return {"mib": found, "lines": len(linecache.cache)}


def main(kinds, count, write):
    lines = [
        f"# Memory over {count:,} rounds",
        "",
        "Resident MiB after 20 rounds, and after each quarter of the rest; entries in `linecache`. "
        "Written by `benchmarks/bench_memory.py`.",
        "",
        "| what changes | variant | start | 1/4 | 1/2 | 3/4 | end | linecache |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in kinds:
        for variant in ("plain", "static_graph"):
            command = [sys.executable, "-W", "ignore", __file__, "--measure", kind, variant]
            done = subprocess.run(
                [*command, "--count", str(count)], capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout.splitlines()[-1])
            numbers = " | ".join(f"{m:.0f}" for m in found["mib"])
            lines.append(f"| {kind} | {variant} | {numbers} | {found['lines']} |")
            print(lines[-1], flush=True)
    if write:
        (HERE / "results" / "memory.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", default=[], help=f"some of {', '.join(KINDS)}")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        kind, variant = given.measure
        print(json.dumps(measure(kind, variant != "plain", given.count)))
    else:
        main(given.kinds or KINDS, given.count, not given.kinds and given.count == 10_000)
