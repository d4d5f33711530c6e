"""Training steps whose loss is not in the decorated method.

    .venv/bin/python benchmarks/bench_outside.py        (writes benchmarks/results/outside.md)

Milliseconds of a step (forward, loss, backward, Adam) and how many times as fast as define-by-run
that is: the median of the last 1,000 of 5,000 steps with the default budget, one thread, all kinds
of one model in turns of 100 steps. The loss is decorated; or the network alone, and the loss
function is handed to `optimizer.update`; or the network alone, in a loop that applies the functions
of the loss itself. All give the same parameters, bit for bit.
"""

import pathlib
import statistics
import sys
import time

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

HERE = pathlib.Path(__file__).resolve().parent
STEPS, LAST, TURN = 5000, 1000, 100


class Digits(chainer.Chain):
    """A classifier of three layers."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b, self.c = L.Linear(64, 100), L.Linear(100, 100), L.Linear(100, 10)

    def forward(self, x):
        return self.c(F.relu(self.b(F.relu(self.a(x)))))

    def loss(self, y, x, t):
        return F.softmax_cross_entropy(y, t)

    @staticmethod
    def batch(draw):
        return draw.rand(32, 64).astype("f"), draw.randint(0, 10, 32).astype("i")


class Autoencoder(chainer.Chain):
    """A variational one: three results, and a loss of them all."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.mean, self.log_var = L.Linear(64, 64), L.Linear(64, 8), L.Linear(64, 8)
            self.b, self.c = L.Linear(8, 64), L.Linear(64, 64)

    def forward(self, x):
        h = F.tanh(self.a(x))
        mean, log_var = self.mean(h), self.log_var(h)
        return self.c(F.tanh(self.b(F.gaussian(mean, log_var)))), mean, log_var

    def loss(self, y, x):
        y, mean, log_var = y
        return F.bernoulli_nll(x, y) / len(x) + F.gaussian_kl_divergence(mean, log_var) / len(x)

    @staticmethod
    def batch(draw):
        return draw.rand(32, 64).astype("f"),


class Mixture(chainer.Chain):
    """A network whose results are the parameters of a mixture of densities."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(8, 50), L.Linear(50, 15)

    def forward(self, x):
        return self.b(F.tanh(self.a(x)))

    def loss(self, y, x, t):
        weight, mean, log_scale = F.split_axis(y, 3, axis=1)
        z = (F.broadcast_to(t, mean.shape) - mean) * F.exp(-log_scale)
        return -F.mean(F.logsumexp(F.log_softmax(weight) - 0.5 * z * z - log_scale, axis=1))

    @staticmethod
    def batch(draw):
        return draw.rand(32, 8).astype("f"), draw.rand(32, 1).astype("f")


class Triplet(chainer.Chain):
    """Three calls before one backward."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(64, 64), L.Linear(64, 16)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))

    def loss(self, y, x, p, n):
        return F.triplet(F.normalize(y), F.normalize(self(p)), F.normalize(self(n)))

    @staticmethod
    def batch(draw):
        return tuple(draw.rand(3, 16, 64).astype("f"))


def stepper(cls, kind):
    """A function that makes one step."""

    def whole(self, *batch):
        return self.loss(self(batch[0]), *batch)

    methods = {"whole": whole}
    if kind == "decorated":
        methods["whole"] = chainer.static_graph(whole)
    elif kind != "plain":
        methods["forward"] = chainer.static_graph(cls.forward)
    model = type(cls.__name__, (cls,), methods)()
    for p in model.params():
        p.array[...] = 0.1 * np.random.RandomState(p.size).randn(*p.shape)
    optimizer = chainer.optimizers.Adam().setup(model)
    draw = np.random.RandomState(0)
    batches = [cls.batch(draw) for _ in range(20)]
    count = [0]

    def step():
        batch = batches[count[0] % len(batches)]
        count[0] += 1
        if kind == "update":
            optimizer.update(model.whole, *batch)
            return
        loss = model.whole(*batch)
        model.cleargrads()
        loss.backward()
        optimizer.update()

    return model, step


def measured(cls):
    """Milliseconds of a step, by kind."""
    steps = {kind: stepper(cls, kind) for kind in ("plain", "decorated", "update", "loop")}
    states = {kind: np.random.RandomState(1).get_state() for kind in steps}
    times = {kind: [] for kind in steps}
    for _ in range(STEPS // TURN):
        for kind, (_, step) in steps.items():
            np.random.set_state(states[kind])
            for _ in range(TURN):
                begun = time.perf_counter()
                step()
                times[kind].append(time.perf_counter() - begun)
            states[kind] = np.random.get_state()
    found = [[p.array.tobytes() for p in model.params()] for model, _ in steps.values()]
    if any(one != found[0] for one in found):
        raise AssertionError(f"{cls.__name__}: other parameters where compiled")
    return {kind: 1e3 * statistics.median(all_[-LAST:]) for kind, all_ in times.items()}


def main():
    """Measure, and write the table."""
    how = __doc__.split("\n\n")[2].strip().replace("\n", " ")
    lines = [
        "# Losses outside of the decorated method", "", how,
        f"NumPy {np.__version__}. Written by `benchmarks/bench_outside.py`.", "",
        "| model | define-by-run | loss decorated | network decorated, `optimizer.update(loss)` | "
        "network decorated, own loop |", "|---|---|---|---|---|",
    ]
    for cls in (Digits, Autoencoder, Mixture, Triplet):
        found = measured(cls)
        cells = [f"{found['plain']:.3f}"]
        cells += [f"{found[k]:.3f} ({found['plain'] / found[k]:.2f}x)"
                  for k in ("decorated", "update", "loop")]
        lines.append(f"| {cls.__doc__.rstrip('.')} | {' | '.join(cells)} |")
        print(lines[-1])
    (HERE / "results" / "outside.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
