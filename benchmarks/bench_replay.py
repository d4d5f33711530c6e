"""What a replay costs: define-by-run, compiled, the bare program, NumPy by hand, the original.

    .venv/bin/python benchmarks/bench_replay.py        (writes benchmarks/results/replay.md)

One thread; all variants take turns in each round, the minima over the rounds are compared: other
work of the machine only adds to them. The original runs where there is a Python for it
(tests/golden/original).
"""

import json
import os
import pathlib
import subprocess
import sys

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import workloads  # noqa: E402

import chainer  # noqa: E402

ORIGINAL = str(HERE.parent / "tests/golden/original")
ROUNDS, NUMBER = 15, 200


def mlp_by_hand(model, inputs):
    """Forward and backward as one writes them with preallocated arrays."""
    x, t = (v.array for v in inputs)
    w1, b1, w2, b2, w3, b3 = (
        p.array for link in (model.l1, model.l2, model.l3) for p in (link.W, link.b)
    )
    h1, h2, y = (np.empty((32, n), "f") for n in (64, 64, 1))
    gh1, gh2, gx = (np.empty((32, n), "f") for n in (64, 64, 32))
    m1, m2 = np.empty((32, 64), bool), np.empty((32, 64), bool)
    g1, g2, g3 = np.empty((64, 32), "f"), np.empty((64, 64), "f"), np.empty((1, 64), "f")
    gb1, gb2, gb3 = np.empty(64, "f"), np.empty(64, "f"), np.empty(1, "f")
    zero, scale = np.zeros((), "f"), np.array(2 / 32, "f")
    dot, add, maximum, multiply, greater = np.dot, np.add, np.maximum, np.multiply, np.greater
    total = np.add.reduce

    def run():
        dot(x, w1.T, h1)
        add(h1, b1, h1)
        maximum(h1, zero, out=h1)
        dot(h1, w2.T, h2)
        add(h2, b2, h2)
        maximum(h2, zero, out=h2)
        dot(h2, w3.T, y)
        add(y, b3, y)
        np.subtract(y, t, y)
        flat = y.ravel()
        loss = flat.dot(flat) / 32
        multiply(y, scale, y)
        dot(y.T, h2, g3)
        total(y, 0, None, gb3)
        dot(y, w3, gh2)
        greater(h2, zero, m2)
        multiply(gh2, m2, gh2)
        dot(gh2.T, h1, g2)
        total(gh2, 0, None, gb2)
        dot(gh2, w2, gh1)
        greater(h1, zero, m1)
        multiply(gh1, m1, gh1)
        dot(gh1.T, x, g1)
        total(gh1, 0, None, gb1)
        dot(gh1, w1, gx)
        return loss

    return run, lambda: [gx, g1, gb1, g2, gb2, g3, gb3]


def elementwise_by_hand(model, inputs):
    x, s = inputs[0].array, model.scale.array
    tanhs, sums = [np.empty_like(x) for _ in range(25)], [np.empty_like(x) for _ in range(25)]
    mask, g, a, gs = np.empty(x.shape, bool), np.empty_like(x), np.empty_like(x), np.empty_like(x)
    zero, one = np.zeros((), "f"), np.ones((), "f")
    add, multiply, maximum, tanh = np.add, np.multiply, np.maximum, np.tanh
    subtract, greater = np.subtract, np.greater

    def run():
        h = x
        for t, y in zip(tanhs, sums):
            multiply(h, s, t)
            tanh(t, t)
            add(t, h, y)
            maximum(y, zero, out=y)
            h = y
        loss = h.sum()
        g.fill(1)
        gs.fill(0)
        for k in range(24, -1, -1):
            t, y, h = tanhs[k], sums[k], sums[k - 1] if k else x
            greater(y, zero, mask)
            multiply(g, mask, g)
            multiply(t, t, a)
            subtract(one, a, a)
            multiply(a, g, a)
            add(gs, multiply(a, h), gs)
            multiply(a, s, a)
            add(g, a, g)
        return loss

    return run, lambda: [g, gs]


BY_HAND = {"MLP": mlp_by_hand, "Elementwise": elementwise_by_hand}


def program_of(model, inputs):
    """The generated programs alone, on arrays at hand."""
    (site,) = model.schedule_manager._sites.values()
    (piece,) = [piece for plan in site.plans() for piece in plan.pieces]
    model.cleargrads()
    node = model(*inputs)._node._creator_node
    schedule, backwards = piece._compiled
    ((run_backward, backward, _),) = backwards.values()
    leaves = node._leaves
    arrays = tuple(leaves[slot] for slot in piece.slots)
    late = tuple(node._late(late) for late in backward.late)
    gradients = (np.ones((), "f"), *late)

    def run():
        _, kept = schedule.forward(arrays)
        run_backward(kept.values, gradients)

    return run


def check(by_hand, gradients, model, inputs):
    """What was written by hand computes the same."""
    workloads.step(model, inputs)
    by_hand()
    expected = [inputs[0].grad, *[p.grad for _, p in sorted(model.namedparams())]]
    for a, b in zip(expected, gradients(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def main():
    runs = {}
    chainer.global_config.static_check, chainer.global_config.static_budget = "first", None
    for name in workloads.WORKLOADS:
        inputs = workloads.variables(name)
        eager = workloads.WORKLOADS[name]()
        chainer.global_config.static_target = "numpy"
        compiled = {}
        for target in ("numpy", "native"):
            chainer.global_config.static_target = target
            compiled[target] = workloads.static(workloads.WORKLOADS[name])
            compiled[target].copyparams(eager)
            for _ in range(20):
                workloads.step(eager, inputs)
                workloads.step(compiled[target], inputs)
        by_hand, gradients = BY_HAND[name](eager, inputs)
        check(by_hand, gradients, eager, inputs)
        runs[name] = {
            "NumPy by hand": by_hand,
            "programs of NumPy calls": program_of(compiled["numpy"], inputs),
            "static_graph, NumPy": lambda m=compiled["numpy"], i=inputs: workloads.step(m, i),
            "programs of native code": program_of(compiled["native"], inputs),
            "static_graph, native": lambda m=compiled["native"], i=inputs: workloads.step(m, i),
            "of it, clearing gradients": lambda m=compiled["native"], i=inputs: (
                workloads.clear(m, i)),
            "define-by-run": lambda m=eager, i=inputs: workloads.step(m, i),
        }
    times = {name: {variant: [] for variant in variants} for name, variants in runs.items()}
    for _ in range(ROUNDS):
        for name, variants in runs.items():
            for variant, run in variants.items():
                target = "native" if "native" in variant else "numpy"
                chainer.global_config.static_target = target
                times[name][variant].append(workloads.seconds(run, 1, NUMBER))
    for version in ("7.8.1", "5.4.0"):
        for key, value in original(version).items():
            name, mode = key.split(" ", 1)
            times[name][f"original {version} {mode}"] = [value]
    report(times)


def original(version):
    environment = {**os.environ, "ORIGINAL_VERSION": version}
    done = subprocess.run(
        [ORIGINAL, str(HERE / "original.py")], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def report(times):
    lines = [
        "# Replay overhead: forward, backward and cleargrads",
        "",
        f"One thread, {ROUNDS} rounds in turns, minima; NumPy {np.__version__}, "
        f"Python {sys.version.split()[0]}. Written by `benchmarks/bench_replay.py`.",
        "",
        "| workload | variant | µs | ratio to NumPy by hand |",
        "|---|---|---|---|",
    ]
    for name, variants in times.items():
        base = min(variants["NumPy by hand"])
        for variant, values in variants.items():
            if isinstance(values[0], str):
                lines.append(f"| {name} | {variant} | fails | {values[0][:60]} |")
                continue
            value = min(values)
            lines.append(f"| {name} | {variant} | {value * 1e6:.1f} | {value / base:.2f} |")
    text = "\n".join(lines) + "\n"
    (HERE / "results" / "replay.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
