"""Six workloads, training and inference: define-by-run, NumPy programs, native programs.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/bench_native.py [workload ...]

CPU time of one thread, in rounds in which the ways take turns: minimum and median of the rounds,
and ratios to plain define-by-run in the same round. Each way starts from the same numbers. What
comes out after all rounds has to be equal, bit for bit, among the ways of the target `numpy`, and
among those with native code, which has products of its own; nearly, for all, and with native code
that need not be exact. Training and inference have a chain each; programs are compared with
define-by-run once, in the warm-up. ``warm-up`` is the wall time of the first five steps; run twice
to see it with the compiled objects that are on disk then. `bench_peers.py` has PyTorch, JAX and the
original.
"""

import argparse
import statistics
import time

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

#: ``static_target`` and ``static_exact`` of each way; plain define-by-run has no native code.
WAYS = {
    'plain define-by-run': ('numpy', True),
    'define-by-run': ('auto', True),
    'numpy': ('numpy', True),
    'native': ('native', True),
    'fast': ('native', False),
}


def gelu(x):
    return 0.5 * x * (1 + F.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


class Dense(chainer.Chain):
    """Linear layers with ReLU between them."""

    def __init__(self, *sizes):
        super().__init__()
        self.names = [f'l{k}' for k in range(len(sizes) - 1)]
        with self.init_scope():
            for name, n, m in zip(self.names, sizes, sizes[1:]):
                setattr(self, name, L.Linear(n, m))

    def forward(self, x):
        for name in self.names[:-1]:
            x = F.relu(self[name](x))
        return self[self.names[-1]](x)


class WithLoss(chainer.Chain):
    """The network of ``small``, with its loss in the method: one program a direction."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.net = Dense(32, 64, 64, 1)

    def forward(self, x, t):
        loss = F.mean_squared_error(self.net(x), t)
        chainer.report({'loss': loss}, self)
        return loss


class Conv(chainer.Chain):
    """Four convolutions with batch normalization, two poolings, a linear layer."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            for k, (n, m) in enumerate([(3, 64), (64, 64), (64, 128), (128, 128)]):
                setattr(self, f'c{k}', L.Convolution2D(n, m, 3, pad=1, nobias=True))
                setattr(self, f'n{k}', L.BatchNormalization(m))
            self.out = L.Linear(128 * 64, 10)

    def forward(self, x):
        for k in range(4):
            x = F.relu(self[f'n{k}'](self[f'c{k}'](x)))
            if k % 2:
                x = F.max_pooling_2d(x, 2)
        return self.out(x)


class Recurrent(chainer.Chain):
    """A language model: 35 steps of an LSTM of 650 units over a batch of 20."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(2000, 650)
            self.up = L.Linear(650, 2600)
            self.across = L.Linear(650, 2600, nobias=True)
            self.out = L.Linear(650, 2000)

    def forward(self, x):
        c, h, ys = self.xp.zeros((20, 650), 'f'), None, []
        for t in range(35):
            gates = self.up(self.embed(x[:, t]))
            if h is not None:
                gates += self.across(h)
            c, h = F.lstm(c, gates)
            ys.append(self.out(h))
        return F.concat(ys, axis=0)


class Encoder(chainer.Chain):
    """A block of a transformer's encoder: 16 sequences of 64, width 256, 4 heads."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.qkv, self.mix = L.Linear(256, 768), L.Linear(256, 256)
            self.wide, self.narrow = L.Linear(256, 1024), L.Linear(1024, 256)
            self.norm1, self.norm2 = L.LayerNormalization(256), L.LayerNormalization(256)

    def forward(self, x):
        h = F.transpose(F.reshape(self.qkv(x), (16, 64, 3, 4, 64)), (2, 0, 3, 1, 4))
        q, k, v = (F.reshape(t, (64, 64, 64)) for t in F.separate(h, 0))
        a = F.matmul(F.softmax(F.matmul(q, k, transb=True) * 0.125, axis=2), v)
        a = F.reshape(F.transpose(F.reshape(a, (16, 4, 64, 64)), (0, 2, 1, 3)), (1024, 256))
        x = self.norm1(x + F.dropout(self.mix(a), 0.1))
        return self.norm2(x + F.dropout(self.narrow(gelu(self.wide(x))), 0.1))


class Elementwise(chainer.Chain):
    """dropout(layer_normalization(gelu(x * w + b)))"""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(np.ones(1024, 'f'))
            self.b = chainer.Parameter(np.zeros(1024, 'f'))
            self.norm = L.LayerNormalization(1024)

    def forward(self, x):
        x = F.bias(F.scale(x, self.w, 1), self.b, 1)
        return F.dropout(self.norm(gelu(x)), 0.1)


def normal(*shape):
    return np.random.RandomState(0).standard_normal(shape).astype('f')


def labels(n, *shape):
    return np.random.RandomState(1).randint(n, size=shape).astype('i')


SGD, MOMENTUM = (lambda: chainer.optimizers.SGD(0.1)), (lambda: chainer.optimizers.MomentumSGD())
ADAM = chainer.optimizers.Adam
#: Chain, input, target, loss (None: that of the chain, in ``optimizer.update(chain, x, t)``),
#: optimizer, steps a round.
WORKLOADS = {
    'small': (lambda: Dense(32, 64, 64, 1), normal(32, 32), normal(32, 1),
              F.mean_squared_error, ADAM, 200),
    'step': (WithLoss, normal(32, 32), normal(32, 1), None, ADAM, 200),
    'mlp': (lambda: Dense(784, 1000, 1000, 10), normal(100, 784), labels(10, 100),
            F.softmax_cross_entropy, ADAM, 5),
    'conv': (Conv, normal(32, 3, 32, 32), labels(10, 32), F.softmax_cross_entropy, MOMENTUM, 1),
    'lstm': (Recurrent, labels(2000, 20, 35), labels(2000, 700), F.softmax_cross_entropy, SGD, 1),
    'tr': (Encoder, normal(1024, 256), normal(1024, 256), F.mean_squared_error, ADAM, 2),
    'ew': (Elementwise, normal(4096, 1024), normal(4096, 1024), None, None, 1),
}


def made(make, way):
    """A chain, compiled where the way asks for it."""
    np.random.seed(0)
    model = make()
    if 'define-by-run' not in way:
        chain = type(model)
        model.__class__ = type(
            chain.__name__, (chain,), {'forward': chainer.static_graph(chain.forward)})
    return model


def steps(name, way):
    """The training step and the inference step of a workload, and what tells of its state."""
    make, x, t, loss, optimizer, _ = WORKLOADS[name]
    x = chainer.as_variable(x)
    model, served = made(make, way), made(make, way)
    if optimizer is None:
        x = chainer.Variable(x.array)

        def train():
            x.cleargrad()
            model.cleargrads()
            y = model(x)
            y.grad = t
            y.backward()
    elif loss is None:
        rule = optimizer().setup(model)

        def train():
            rule.update(model, x, t)
    else:
        rule = optimizer().setup(model)

        def train():
            value = loss(model(x), t)
            model.cleargrads()
            value.backward()
            rule.update()

    def infer():
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            return served(x, t) if optimizer is not None and loss is None else served(x)

    def state():
        np.random.seed(1)
        return [infer().array.tobytes(), *(p.array.tobytes() for p in model.params())]

    return train, infer, state


def own_products(way):
    return WAYS[way][0] != 'numpy'


def choose(way):
    chainer.global_config.static_target, chainer.global_config.static_exact = WAYS[way]


def measured(name, rounds):
    """Rows: way, mode, minimum and median in ms, median ratio to define-by-run, warm-up in s."""
    number = WORKLOADS[name][-1]
    runs, warm = {}, {}
    for way in WAYS:
        choose(way)
        runs[way] = steps(name, way)
        np.random.seed(2)
        for mode, run in zip(('train', 'infer'), runs[way], strict=False):
            start = time.perf_counter()
            for _ in range(5):
                run()
            warm[way, mode] = time.perf_counter() - start
    found = {}
    for _ in range(rounds):
        for way in WAYS:
            choose(way)
            np.random.seed(3)
            for mode, run in zip(('train', 'infer'), runs[way], strict=False):
                start = time.process_time()
                for _ in range(number):
                    run()
                spent = (time.process_time() - start) / number * 1e3
                found.setdefault((way, mode), []).append(spent)
    states = {}
    for way in WAYS:
        choose(way)
        states[way] = runs[way][2]()
    first = next(iter(WAYS))
    for way, state in states.items():
        # Products with few rows are NumPy's or those of native code.
        alike = next(other for other in WAYS if own_products(other) == own_products(way))
        if way != 'fast':
            assert state == states[alike], f'{name}: {way} gives other bits than {alike}'
        for a, b in zip(state, states[first], strict=True):
            np.testing.assert_allclose(
                np.frombuffer(a, 'f'), np.frombuffer(b, 'f'), rtol=0.05, atol=0.01)
    for mode in ('train', 'infer'):
        base = found[first, mode]
        for way in WAYS:
            times = found[way, mode]
            ratio = statistics.median(a / b for a, b in zip(times, base, strict=True))
            yield way, mode, min(times), statistics.median(times), ratio, warm[way, mode]


def main():
    chainer.global_config.static_check, chainer.global_config.static_budget = 'first', None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('workloads', nargs='*', default=list(WORKLOADS))
    parser.add_argument('--rounds', type=int, default=7)
    arguments = parser.parse_args()
    print('| workload | mode | way | min ms | median ms | ratio | warm-up s |')
    print('|---|---|---|---|---|---|---|')
    for name in arguments.workloads:
        for way, mode, low, middle, ratio, warm in measured(name, arguments.rounds):
            times = f'{low:.3f} | {middle:.3f} | {ratio:.2f} | {warm:.2f}'
            print(f'| {name} | {mode} | {way} | {times} |', flush=True)


if __name__ == '__main__':
    main()
