"""Trace time and memory: does the first call grow linearly, and what does the arena save?

    .venv/bin/python benchmarks/bench_trace.py         (writes benchmarks/results/trace.md)
"""

import os
import pathlib
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


class Long(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        self.n = n
        with self.init_scope():
            self.w = chainer.Parameter(np.float32(1.001), (8, 8))

    @chainer.static_graph
    def forward(self, x):
        for _ in range(self.n // 2):
            x = F.tanh(x) * self.w
        return F.sum(x)


class Deep(chainer.ChainList):
    def __init__(self, layers, n):
        super().__init__(*[L.Linear(n, n) for _ in range(layers)])

    @chainer.static_graph
    def forward(self, x):
        for link in self:
            x = F.relu(link(x))
        return F.sum(x)


def first_calls(n, repeats=3):
    """Seconds for trace, backward trace and compilation, and for one call define-by-run."""
    x = chainer.Variable(np.ones((8, 8), "f"))
    found = []
    for _ in range(repeats):
        model = Long(n)
        start = time.perf_counter()
        model(x).backward()
        middle = time.perf_counter()
        model(x).backward()
        end = time.perf_counter()
        Long.forward.__wrapped__(model, x).backward()
        found.append((middle - start, end - middle, time.perf_counter() - end))
    return [statistics.median(column) for column in zip(*found)]


def memory():
    """The arena of a 10-layer MLP against the sum of its intermediates."""
    lines = []
    for mode in ("training", "inference"):
        model = Deep(10, 256)
        x = np.ones((64, 256), "f")
        with chainer.using_config("enable_backprop", mode == "training"):
            for _ in range(2):
                loss = model(x)
                if mode == "training":
                    loss.backward()
        (program,) = model.schedule_manager.programs
        arena = program.scratch_bytes + program.kept_bytes
        lines.append(
            f"| {mode} | {program.intermediate_bytes / 1024:.0f} | {arena / 1024:.0f} | "
            f"{program.kept_bytes / 1024:.0f} | {arena / program.intermediate_bytes:.2f} |"
        )
    return lines


def main():
    rows = [(n, *first_calls(n)) for n in (100, 400, 1600)]
    lines = [
        "# Trace time and memory",
        "",
        f"NumPy {np.__version__}, Python {sys.version.split()[0]}. Written by "
        "`benchmarks/bench_trace.py`.",
        "",
        "First call with its backward (traced), second call (compiles), and define-by-run:",
        "",
        "| operations | first call, ms | second call, ms | define-by-run, ms | "
        "µs an operation (first + second) |",
        "|---|---|---|---|---|",
    ]
    for n, first, second, eager in rows:
        lines.append(
            f"| {n} | {first * 1e3:.1f} | {second * 1e3:.1f} | {eager * 1e3:.1f} | "
            f"{(first + second) / n * 1e6:.0f} |"
        )
    lines += [
        "",
        "Forward of a 10-layer MLP (256 units, batch 64), KiB:",
        "",
        "| mode | sum of all intermediates | arena | of it kept for backward | arena / sum |",
        "|---|---|---|---|---|",
        *memory(),
    ]
    text = "\n".join(lines) + "\n"
    (HERE / "results" / "trace.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
