"""Convolution, pooling and normalization on NumPy: this project against the original.

    .venv/bin/python benchmarks/bench_convolution.py   (writes benchmarks/results/convolution.md)

One thread. Both sides run this file with the argument ``measure`` and take turns, so that a busy
machine slows both; the best process time of all rounds is compared. The original is that of
tests/golden/original.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
HERE = pathlib.Path(__file__).resolve().parent
ORIGINAL = str(HERE.parent / "tests/golden/original")
ROUNDS, REPEATS = 4, 3

# name: (function, shapes of its arrays or an int, settings)
CASES = {
    "3x3 64>64, 32x32, n 32": ("convolution_2d", ((32, 64, 32, 32), (64, 64, 3, 3)), {"pad": 1}),
    "3x3 3>64, 32x32, n 32": ("convolution_2d", ((32, 3, 32, 32), (64, 3, 3, 3)), {"pad": 1}),
    "3x3 256>256, 8x8, n 32": ("convolution_2d", ((32, 256, 8, 8), (256, 256, 3, 3)), {"pad": 1}),
    "3x3 512>512, 4x4, n 32": ("convolution_2d", ((32, 512, 4, 4), (512, 512, 3, 3)), {"pad": 1}),
    "3x3/2 128>128, 16x16, n 32": (
        "convolution_2d", ((32, 128, 16, 16), (128, 128, 3, 3)), {"stride": 2, "pad": 1}),
    "7x7/2 3>64, 224x224, n 4": (
        "convolution_2d", ((4, 3, 224, 224), (64, 3, 7, 7)), {"stride": 2, "pad": 3}),
    "1x1 256>1024, 14x14, n 8": ("convolution_2d", ((8, 256, 14, 14), (1024, 256, 1, 1)), {}),
    "5x5 1>20, 28x28, n 100": ("convolution_2d", ((100, 1, 28, 28), (20, 1, 5, 5)), {}),
    "5x5 20>50, 12x12, n 100": ("convolution_2d", ((100, 20, 12, 12), (50, 20, 5, 5)), {}),
    "3x3 2>3, 6x6, n 1": ("convolution_2d", ((1, 2, 6, 6), (3, 2, 3, 3)), {"pad": 1}),
    "dilated 3x3 64>64, 32x32, n 8": (
        "convolution_2d", ((8, 64, 32, 32), (64, 64, 3, 3)), {"pad": 2, "dilate": 2}),
    "groups 8, 3x3 64>64, 32x32, n 8": (
        "convolution_2d", ((8, 64, 32, 32), (64, 8, 3, 3)), {"pad": 1, "groups": 8}),
    "depthwise 3x3 64, 32x32, n 8": (
        "depthwise_convolution_2d", ((8, 64, 32, 32), (1, 64, 3, 3)), {"pad": 1}),
    "3-D 3x3x3 16>16, 16x16x16, n 4": (
        "convolution_nd", ((4, 16, 16, 16, 16), (16, 16, 3, 3, 3)), {"pad": 1}),
    "transposed 4x4/2 64>32, 16x16, n 32": (
        "deconvolution_2d", ((32, 64, 16, 16), (64, 32, 4, 4)), {"stride": 2, "pad": 1}),
    "local 3x3 3>16, 16x16, n 16": (
        "local_convolution_2d", ((16, 3, 18, 18), (16, 16, 16, 3, 3, 3)), {}),
    "max 2x2/2, 64, 32x32, n 32": ("max_pooling_2d", ((32, 64, 32, 32),), {"ksize": 2}),
    "max 3x3/2, 64, 32x32, n 32": (
        "max_pooling_2d", ((32, 64, 32, 32),), {"ksize": 3, "stride": 2}),
    "max 3x3/1, 64, 32x32, n 32": (
        "max_pooling_2d", ((32, 64, 32, 32),), {"ksize": 3, "stride": 1, "pad": 1}),
    "max 8x8, 256, 8x8, n 32": ("max_pooling_2d", ((32, 256, 8, 8),), {"ksize": 8}),
    "max 2x2/2, 2, 6x6, n 1": ("max_pooling_2d", ((1, 2, 6, 6),), {"ksize": 2}),
    "average 2x2/2, 64, 32x32, n 32": ("average_pooling_2d", ((32, 64, 32, 32),), {"ksize": 2}),
    "average 3x3/2, 64, 32x32, n 32": (
        "average_pooling_2d", ((32, 64, 32, 32),), {"ksize": 3, "stride": 2}),
    "average 8x8, 256, 8x8, n 32": ("average_pooling_2d", ((32, 256, 8, 8),), {"ksize": 8}),
    "unpooling 2x2, 64, 16x16, n 32": ("unpooling_2d", ((32, 64, 16, 16),), {"ksize": 2}),
    "batch normalization, 64, 32x32, n 32": (
        "batch_normalization", ((32, 64, 32, 32), (64,), (64,)), {}),
    "layer normalization, 1024x512": ("layer_normalization", ((1024, 512), (512,), (512,)), {}),
    "group normalization, 64/8, 32x32, n 32": (
        "group_normalization", ((32, 64, 32, 32), 8, (64,), (64,)), {}),
    "local response, 64, 32x32, n 32": ("local_response_normalization", ((32, 64, 32, 32),), {}),
}


def measure():
    """Best seconds of each case, forward and forward with backward, as JSON."""
    import numpy as np

    import chainer
    import chainer.functions as F

    results = {}
    rng = np.random.RandomState(0)
    for name, (function, shapes, settings) in CASES.items():
        xs = [shape if isinstance(shape, int)
              else chainer.Variable(rng.uniform(0.1, 1, shape).astype("f")) for shape in shapes]
        call = getattr(F, function)

        def forward(call=call, xs=xs, settings=settings):
            return call(*xs, **settings)

        gy = rng.uniform(-1, 1, forward().shape).astype("f")

        def both(forward=forward, gy=gy, xs=xs):
            y = forward()
            y.grad = gy
            y.backward()
            for x in xs:
                if isinstance(x, chainer.Variable):
                    x.cleargrad()

        results[name] = [best(forward), best(both)]
    json.dump(results, sys.stdout)


def best(run):
    number = 1
    while True:  # at least 5 ms a measurement
        start = time.process_time()
        for _ in range(number):
            run()
        first = time.process_time() - start
        if first > 5e-3:
            break
        number *= 4
    times = [first]
    for _ in range(REPEATS - 1):
        start = time.process_time()
        for _ in range(number):
            run()
        times.append(time.process_time() - start)
    return min(times) / number


def main():
    sides = {"ours": [sys.executable], "original": [ORIGINAL]}
    table = {}
    for _ in range(ROUNDS):
        for side, command in sides.items():
            out = subprocess.run(
                [*command, __file__, "measure"], check=True, stdout=subprocess.PIPE)
            for name, times in json.loads(out.stdout).items():
                row = table.setdefault(name, {})
                row[side] = list(map(min, times, row.get(side, times)))
    lines = [
        "# Convolution, pooling and normalization on NumPy", "",
        "Milliseconds of process time, one thread, the best of "
        f"{ROUNDS} rounds in turns; ratio = ours / original.",
        "Written by `benchmarks/bench_convolution.py`.", "",
        "| case | forward | original | ratio | with backward | original | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in table.items():
        cells = []
        for ours, original in zip(row["ours"], row["original"], strict=True):
            cells += [f"{ours * 1e3:.3g}", f"{original * 1e3:.3g}", f"{ours / original:.2f}"]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    (HERE / "results" / "convolution.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    measure() if "measure" in sys.argv else main()
