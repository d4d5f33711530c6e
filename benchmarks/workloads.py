"""The two workloads of the replay benchmark, for ours and for the original (Python 3.8, too)."""

import statistics
import time

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


class MLP(chainer.Chain):
    """32-64-64-1 with ReLU, mean squared error, batch 32."""

    def __init__(self):
        super(MLP, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(32, 64)
            self.l2 = L.Linear(64, 64)
            self.l3 = L.Linear(64, 1)

    def __call__(self, x, t):
        h = F.relu(self.l1(x))
        h = F.relu(self.l2(h))
        return F.mean_squared_error(self.l3(h), t)


class Elementwise(chainer.Chain):
    """100 elementwise operations on a (16, 16) array, and a sum."""

    def __init__(self):
        super(Elementwise, self).__init__()
        with self.init_scope():
            self.scale = chainer.Parameter(np.float32(1.001), (16, 16))

    def __call__(self, x):
        for _ in range(25):
            x = F.relu(F.tanh(x * self.scale) + x)
        return F.sum(x)


def static(chain):
    """The chain with its method compiled."""
    return type('Static' + chain.__name__, (chain,), {
        '__call__': chainer.static_graph(chain.__call__)})()


def variables(name):
    random = np.random.RandomState(0)
    if name == 'MLP':
        arrays = random.randn(32, 32), random.randn(32, 1)
    else:
        arrays = random.randn(16, 16),
    # The first is differentiated, a target is not.
    return [chainer.Variable(a.astype('f'), requires_grad=not k) for k, a in enumerate(arrays)]


def clear(model, inputs):
    """Clear all gradients."""
    model.cleargrads()
    for x in inputs:
        x.cleargrad()


def step(model, inputs):
    """Forward, backward, and the clearing of gradients that belongs to it."""
    clear(model, inputs)
    model(*inputs).backward()


def seconds(run, rounds, number):
    """Seconds a run: the medians of several rounds' means."""
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(number):
            run()
        means.append((time.perf_counter() - start) / number)
    return statistics.median(means)


WORKLOADS = {'MLP': MLP, 'Elementwise': Elementwise}


def runs():
    """Name -> one step, define-by-run and with static_graph."""
    found = {}
    for name, chain in WORKLOADS.items():
        inputs = variables(name)
        for mode, make in (('define-by-run', chain), ('static_graph', lambda c=chain: static(c))):
            model = make()
            found[name, mode] = lambda m=model, i=inputs: step(m, i)
    return found
