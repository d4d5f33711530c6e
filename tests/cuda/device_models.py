"""Small models for compiled methods on CuPy arrays, and steps of training."""
import copy

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda

GPU = '@cupy:0'


class Model(chainer.Chain):
    """A network of which ``body(self, x)`` is the forward method."""

    def __init__(self, body, links, compiled):
        super().__init__()
        with self.init_scope():
            for name, link in links.items():
                setattr(self, name, link)
        self._body = body
        self._compiled = compiled

    def forward(self, *xs):
        return self.compiled(*xs) if self._compiled else self._body(self, *xs)

    @chainer.static_graph
    def compiled(self, *xs):
        return self._body(self, *xs)


def attention(self, x):
    n, d = x.shape[0] // 4, 8
    q, k, v = (F.reshape(f(x), (n, 4, d)) for f in (self.q, self.k, self.v))
    weights = F.softmax(F.matmul(q, k, transb=True) * (1 / np.sqrt(d)), axis=2)
    return self.norm(x + F.reshape(F.matmul(weights, v), x.shape))


def convolutions(self, x):
    h = F.max_pooling_2d(F.relu(self.bn(self.conv(x))), 2)
    return self.out(F.average_pooling_2d(F.leaky_relu(self.conv2(h)), 2))


def recurrent(self, x):
    c, h = self.c0, self.h0
    for k in range(3):
        c, h = F.lstm(c, self.up(x[:, k]) + self.along(h))
    return F.swish(h, self.beta) * F.elu(c) + F.clip(h, -.3, .3)


MODELS = {
    'mlp': (lambda self, x: self.l2(F.tanh(F.relu(self.l1(x))) * F.sigmoid(self.l1(x))),
            lambda: {'l1': L.Linear(6, 32), 'l2': L.Linear(32, 3)}, (32, 6)),
    'attention': (attention, lambda: {
        'q': L.Linear(8, 8), 'k': L.Linear(8, 8), 'v': L.Linear(8, 8),
        'norm': L.LayerNormalization(8)}, (12, 8)),
    'convolutions': (convolutions, lambda: {
        'conv': L.Convolution2D(2, 4, 3, pad=1), 'bn': L.BatchNormalization(4),
        'conv2': L.Convolution2D(4, 4, 1), 'out': L.Linear(16, 3)}, (3, 2, 8, 8)),
    'recurrent': (recurrent, lambda: {
        'up': L.Linear(5, 16), 'along': L.Linear(4, 16),
        'c0': chainer.Parameter(np.ones((6, 4), 'f')),
        'h0': chainer.Parameter(np.zeros((6, 4), 'f')),
        'beta': chainer.Parameter(np.ones(4, 'f'))}, (6, 3, 5)),
    # What the last loop reads of a part, and what it computes once more for itself.
    'computed_again': (lambda self, x: F.tanh(self.l1(x)[:len(x)] + self.l2(x)),
                       lambda: {'l1': L.Linear(6, 8), 'l2': L.Linear(6, 8)}, (32, 6)),
    'deviation': (lambda self, x: F.sqrt(F.mean((x - F.mean(x)) ** 2, axis=1)) + self.b,
                  lambda: {'b': chainer.Parameter(np.zeros(7, 'f'))}, (7, 5)),
}


def train(model, shape, steps=6, device=GPU, dtype='f'):
    """Losses, gradients and parameters, on the host."""
    model.to_device(device)
    send = model.device.send
    optimizer = chainer.optimizers.MomentumSGD(0.05).setup(model)
    rng = np.random.RandomState(1)
    found = []
    for _ in range(steps):
        x = chainer.Variable(send(rng.standard_normal(shape).astype(dtype)))
        y = model(x)
        weights = send(rng.standard_normal(y.shape).astype(dtype))
        model.cleargrads()
        F.sum(y * weights).backward()
        optimizer.update()
        found += [y.array, x.grad, *(p.grad for p in model.params())]
    found += [p.array for p in model.params()]
    return [cuda.to_cpu(a) for a in found]


def pair(name):
    body, links, shape = MODELS[name]
    np.random.seed(0)
    plain = Model(body, links(), False)
    compiled = copy.deepcopy(plain)
    compiled._compiled = True
    return plain, compiled, shape


def programs(model):
    return model.schedule_manager.programs
