"""Peak memory and time of training with large arrays, decorated and not, each in its own process.

    .venv/bin/python benchmarks/bench_peak.py        (writes benchmarks/results/peak_memory.md)
"""

import json
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "chainer_api" / "graph_optimizations"))

import numpy as np  # noqa: E402
from bench_models import in_process  # noqa: E402
from models.case import Case  # noqa: E402

import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

CALLS, BATCHES, LAST = 60, 5, 10


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


def recurrent(words, units, rows):
    """A language model: the gradients of three matrices have a part from each word."""

    def make(compiled):
        class Model(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.embed = L.EmbedID(2000, units)
                    self.cell = L.StatelessLSTM(units, units)
                    self.out = L.Linear(units, 2000)

            @compiled
            def forward(self, xs):
                c = h = None
                loss = 0
                for x, t in zip(xs.T[:-1], xs.T[1:], strict=True):
                    c, h = self.cell(c, h, self.embed(x))
                    loss += F.softmax_cross_entropy(self.out(h), t)
                return loss

        def batch(k):
            return (np.random.RandomState(k % BATCHES).randint(0, 2000, (rows, words)).astype("i"),)

        return Case(Model(), batch)

    return make


def translator(words, units, rows):
    """An encoder and a decoder that looks at all states of it (dot products) for each word."""

    def make(compiled):
        class Model(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.source, self.target = (L.EmbedID(4000, units) for _ in range(2))
                    self.encoder, self.decoder = (L.StatelessGRU(units, units) for _ in range(2))
                    self.mix, self.out = L.Linear(2 * units, units), L.Linear(units, 4000)

            @compiled
            def forward(self, xs, ys):
                h, states = chainer.Variable(self.xp.zeros((len(xs), units), "f")), []
                for x in xs.T:
                    h = self.encoder(h, self.source(x))
                    states.append(h)
                memory, loss = F.stack(states, axis=1), 0
                for y, t in zip(ys.T[:-1], ys.T[1:], strict=True):
                    h = self.decoder(h, self.target(y))
                    weights = F.softmax(F.squeeze(F.matmul(memory, F.expand_dims(h, 2)), 2))
                    seen = F.squeeze(F.matmul(F.expand_dims(weights, 1), memory), 1)
                    mixed = F.tanh(self.mix(F.concat((h, seen))))
                    loss += F.softmax_cross_entropy(self.out(mixed), t)
                return loss

        def batch(k):
            rng = np.random.RandomState(k % BATCHES)
            return tuple(rng.randint(0, 4000, (rows, words)).astype("i") for _ in range(2))

        return Case(Model(), batch)

    return make


def equation(width, rows):
    """Burgers' equation for a perceptron: its second derivatives are differentiated."""

    def make(compiled):
        class Model(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.layers = chainer.ChainList(
                        *[L.Linear(n, width) for n in (2, width, width)]
                    )
                    self.out = L.Linear(width, 1)

            @compiled
            def forward(self, points):
                x = h = chainer.Variable(points)
                for layer in self.layers:
                    h = F.tanh(layer(h))
                u = self.out(h)
                (g,) = chainer.grad([u], [x], enable_double_backprop=True)
                (gg,) = chainer.grad([g[:, :1]], [x], enable_double_backprop=True)
                return F.mean((g[:, 1:] + u * g[:, :1] - 0.01 * gg[:, :1]) ** 2)

        return Case(
            Model(), lambda k: (np.random.RandomState(k % BATCHES).rand(rows, 2).astype("f"),)
        )

    return make


WORKLOADS = {
    "ResNet50, 1 image": classifier(L.ResNet50Layers, 1),
    "ResNet50, 6 images": classifier(L.ResNet50Layers, 6),
    "GoogLeNet, 6 images": classifier(L.GoogLeNet, 6),
    "VGG16, 1 image": classifier(L.VGG16Layers, 1),
    "perceptron of 2048 units, 256 rows": perceptron(2048, 256),
    "perceptron of 256 units, 16384 rows": perceptron(256, 16384),
    "U-Net, 4 images of 256 x 256": unet(256),
    "LSTM of 650 units, 20 x 35 words": recurrent(35, 650, 20),
    "translator of 512 units, 32 x 16 words": translator(16, 512, 32),
    "Burgers' equation, 256 units, 8192 points": equation(256, 8192),
}


def measure(name, decorated):
    """The peak of this process, in MiB, times, and which way its calls have gone."""
    from ways import all_chains, ways

    case = WORKLOADS[name](chainer.static_graph if decorated else lambda method: method)
    seconds, faults = [], []
    for k in range(CALLS):
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.thread_time()
        case.run(k % BATCHES)
        seconds.append(time.thread_time() - started)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    went = ways(*all_chains(case.model))
    return {
        "peak": peak,
        "all": sum(seconds),
        "last": statistics.median(seconds[-LAST:]),
        "faults": statistics.median(faults[-LAST:]),
        "programs": went.share("without Python", "with Python"),
    }


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
        "earlier one has compiled or found out about NumPy. Times are the thread's, of all steps "
        f"and the median of the last {LAST};",
        "pages of 4 KiB that were fetched from the system are those of the median of these.",
        "",
        "| workload | define-by-run | decorated | ratio | all steps, s | ratio | last steps, ms "
        "| ratio | pages | calls that ran programs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in WORKLOADS:
        plain, static = (alone(name, d) for d in ("", "decorated"))
        peak, all_, last = (static[k] / plain[k] for k in ("peak", "all", "last"))
        lines.append(
            f"| {name} | {plain['peak']:.0f} | {static['peak']:.0f} | {peak:.2f} "
            f"| {plain['all']:.1f} | {all_:.2f} | {plain['last'] * 1e3:.0f} | {last:.2f} "
            f"| {static['faults']:.0f} | {static['programs']:.0%} |"
        )
        print(lines[-1], flush=True)
    (HERE / "results" / "peak_memory.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], bool(sys.argv[2]))))
    else:
        main()
