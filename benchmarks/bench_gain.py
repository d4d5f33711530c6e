"""What a user gains: training steps under the original, here, and compiled.

    .venv/bin/python benchmarks/bench_gain.py        (writes benchmarks/results/gain.md)

One thread, processor time, the least of five rounds of a third of a second. The original (7.8.1,
the last one, on the last Python and NumPy that it runs on) takes its turns in a process of its own,
before and after. What is compiled has been called 400 times before, with the default budget, and
gives the same losses bit for bit as what is not; the original's are close to them.
"""

import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import gain_workloads as gain  # noqa: E402

import chainer  # noqa: E402

ORIGINAL = str(HERE.parent / "tests/golden/original")


def original():
    """Seconds of each step under the original."""
    run = subprocess.run(
        [ORIGINAL, str(HERE / "gain_workloads.py")], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def ours(chain, batches, optimizer):
    """Seconds of a step, define-by-run and compiled."""
    plain = gain.step_of(chain, batches, optimizer)
    decorated = {"forward": chainer.static_graph(chain.forward)}
    compiled = gain.step_of(type(chain.__name__, (chain,), decorated), batches, optimizer)
    losses = []
    for step in (plain, compiled):
        gain.np.random.seed(1)
        losses.append([step().array.tobytes() for _ in range(400)])
    if losses[0] != losses[1]:
        raise AssertionError(f"{chain.__name__}: other losses where compiled")
    time.sleep(3)  # native code that is still being compiled
    return [gain.least(step) for step in (plain, compiled)]


def main():
    """Measure, and write the table."""
    before = original()
    rows = {name: ours(*rest) for name, *rest in gain.workloads()}
    after = original()
    how = __doc__.split("\n\n")[2].strip().replace("\n", " ")
    lines = [
        "# What a training step takes", "", f"Milliseconds: forward, backward and update. {how}",
        f"NumPy {gain.np.__version__}. Written by `benchmarks/bench_gain.py`.", "",
        "| a training step of | Chainer 7.8.1 | here | compiled | gain |", "|---|---|---|---|---|",
    ]
    for name, (plain, compiled) in rows.items():
        old = min(before[name], after[name])
        lines.append(f"| {name} | {old * 1e3:.2f} | {plain * 1e3:.2f} | {compiled * 1e3:.2f} | "
                     f"{old / compiled:.1f}x |")
    (HERE / "results/gain.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
