"""Peak memory of training with large arrays: decorated against not, each in a process of its own.

    .venv/bin/python benchmarks/bench_peak.py        (writes benchmarks/results/peak_memory.md)
"""

import json
import os
import pathlib
import resource
import sys
import tempfile

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "chainer_api" / "graph_optimizations"))

import numpy as np  # noqa: E402
from bench_models import in_process  # noqa: E402
from models.case import Case  # noqa: E402

import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

CALLS, BATCHES = 60, 5


def classifier(net, images):
    """A network of the library, of its own size, on some images at a time."""

    def make(compiled):
        class Model(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.net = net(None)

            @compiled
            def forward(self, x, t):
                y = self.net(x, layers=["prob"])["prob"]
                return F.mean(-F.log(F.select_item(y, t) + 1e-6))

        def batch(k):
            rng = np.random.RandomState(k % BATCHES)
            return rng.randn(images, 3, 224, 224).astype("f"), rng.randint(0, 1000, images)

        return Case(Model(), batch)

    return make


def perceptron(width, rows):
    def make(compiled):
        class Model(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.layers = chainer.ChainList(*[L.Linear(width, width) for _ in range(4)])

            @compiled
            def forward(self, x):
                for layer in self.layers:
                    x = F.relu(layer(x))
                return F.mean(x * x)

        return Case(
            Model(), lambda k: (np.random.RandomState(k % BATCHES).randn(rows, width).astype("f"),)
        )

    return make


def unet(size):
    """Convolutions down and up again, with values of all depths kept until the end."""

    def make(compiled):
        class Model(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.down = chainer.ChainList(
                        *[L.Convolution2D(None, 16 * 2**k, 3, pad=1) for k in range(4)]
                    )
                    self.norm = chainer.ChainList(
                        *[L.BatchNormalization(16 * 2**k) for k in range(4)]
                    )
                    self.up = chainer.ChainList(
                        *[L.Deconvolution2D(None, 16 * 2**k, 2, 2) for k in (2, 1, 0)]
                    )
                    self.out = L.Convolution2D(None, 4, 1)

            @compiled
            def forward(self, x, t):
                kept = []
                for k, (conv, norm) in enumerate(zip(self.down, self.norm, strict=True)):
                    x = F.relu(norm(conv(F.max_pooling_2d(x, 2) if k else x)))
                    kept.append(x)
                for up, skip in zip(self.up, kept[-2::-1], strict=True):
                    x = F.concat((F.relu(up(x)), skip))
                return F.softmax_cross_entropy(self.out(x), t)

        def batch(k):
            rng = np.random.RandomState(k % BATCHES)
            x = rng.randn(4, 3, size, size).astype("f")
            return x, rng.randint(0, 4, (4, size, size)).astype("i")

        return Case(Model(), batch)

    return make


WORKLOADS = {
    "ResNet50, 1 image": classifier(L.ResNet50Layers, 1),
    "ResNet50, 6 images": classifier(L.ResNet50Layers, 6),
    "GoogLeNet, 6 images": classifier(L.GoogLeNet, 6),
    "VGG16, 1 image": classifier(L.VGG16Layers, 1),
    "perceptron of 2048 units, 256 rows": perceptron(2048, 256),
    "perceptron of 256 units, 16384 rows": perceptron(256, 16384),
    "U-Net, 4 images of 256 x 256": unet(256),
}


def measure(name, decorated):
    """The peak of this process, in MiB, and which way its calls have gone."""
    from ways import all_chains, ways

    case = WORKLOADS[name](chainer.static_graph if decorated else lambda method: method)
    for k in range(CALLS):
        case.run(k % BATCHES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    went = ways(*all_chains(case.model))
    return {"peak": peak, "programs": went.share("without Python", "with Python")}


def alone(*arguments):
    """In a process that has all of its compiling and testing of rules still to do."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        return in_process(*arguments, script=__file__)


def main():
    lines = [
        "# Peak memory of training",
        "",
        f"NumPy {np.__version__}, Python {sys.version.split()[0]}, one thread. Written by "
        "`benchmarks/bench_peak.py`: the most memory",
        f"that a process has had within {CALLS} training steps, in MiB, everything included: "
        "tracing, checks, calls that are timed",
        "without programs, native code being compiled. Each process is one of its own, and finds "
        "nothing on disk that an",
        "earlier one has compiled or found out about NumPy.",
        "",
        "| workload | define-by-run | decorated | ratio | calls that ran programs |",
        "|---|---|---|---|---|",
    ]
    for name in WORKLOADS:
        plain, static = (alone(name, d) for d in ("", "decorated"))
        ratio = static["peak"] / plain["peak"]
        lines.append(
            f"| {name} | {plain['peak']:.0f} | {static['peak']:.0f} | {ratio:.2f} "
            f"| {static['programs']:.0%} |"
        )
        print(lines[-1], flush=True)
    (HERE / "results" / "peak_memory.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], bool(sys.argv[2]))))
    else:
        main()
