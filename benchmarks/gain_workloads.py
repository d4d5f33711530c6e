"""Training steps as people have them, in code that runs under the original Chainer, too."""

import itertools
import json
import os
import sys
import time
import warnings

for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[name] = '1'
warnings.simplefilter('ignore')

import numpy as np  # noqa: E402

import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402


class MLP(chainer.Chain):
    """Digits: 784-100-100-10, batches of 100."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.l2 = L.Linear(784, 100), L.Linear(100, 100)
            self.l3 = L.Linear(100, 10)

    def forward(self, x, t):
        y = self.l3(F.relu(self.l2(F.relu(self.l1(x)))))
        return F.softmax_cross_entropy(y, t)


class Policy(chainer.Chain):
    """A small network with layer normalization, as in reinforcement learning: batches of 32."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.n1 = L.Linear(16, 64), L.LayerNormalization(64)
            self.l2, self.n2 = L.Linear(64, 64), L.LayerNormalization(64)
            self.mean, self.value = L.Linear(64, 4), L.Linear(64, 1)

    def forward(self, x, action, reward):
        h = F.tanh(self.n2(self.l2(F.tanh(self.n1(self.l1(x))))))
        mean, value = self.mean(h), self.value(h)
        advantage = reward - value
        log_likelihood = -F.sum((action - mean) ** 2, axis=1, keepdims=True) / 2
        return F.mean(advantage ** 2) - F.mean(log_likelihood * advantage.array)


class Convolutional(chainer.Chain):
    """Small pictures: three convolutions with batch normalization, 16 of 3 x 16 x 16."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1, self.b1 = L.Convolution2D(3, 16, 3, pad=1), L.BatchNormalization(16)
            self.c2, self.b2 = L.Convolution2D(16, 16, 3, pad=1), L.BatchNormalization(16)
            self.c3, self.b3 = L.Convolution2D(16, 32, 3, pad=1), L.BatchNormalization(32)
            self.out = L.Linear(32 * 4 * 4, 10)

    def forward(self, x, t):
        h = F.relu(self.b1(self.c1(x)))
        h = F.max_pooling_2d(F.relu(self.b2(self.c2(h)) + h), 2)
        h = F.max_pooling_2d(F.relu(self.b3(self.c3(h))), 2)
        return F.softmax_cross_entropy(self.out(h), t)


class Language(chainer.Chain):
    """A language model: an LSTM of 128 units over 20 words, batches of 20."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm = L.EmbedID(500, 128), L.LSTM(128, 128)
            self.out = L.Linear(128, 500)

    def forward(self, words):
        self.lstm.reset_state()
        loss = 0
        for x, t in zip(words[:-1], words[1:]):
            h = self.lstm(F.dropout(self.embed(x), 0.2))
            loss += F.softmax_cross_entropy(self.out(h), t)
        return loss


class Tagger(chainer.Chain):
    """Labels of words: an LSTM in both directions, and a conditional random field."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.rnn = L.EmbedID(500, 32), L.NStepBiLSTM(1, 32, 32, 0.1)
            self.out, self.crf = L.Linear(64, 6), L.CRF1d(6)

    def forward(self, xs, ys):
        ends = np.cumsum([len(x) for x in xs])[:-1]
        words = F.split_axis(self.embed(np.concatenate(xs)), ends, axis=0)
        _, _, hs = self.rnn(None, None, words)
        scores = F.split_axis(self.out(F.concat(hs, axis=0)), ends, axis=0)
        return self.crf(F.transpose_sequence(scores), F.transpose_sequence(ys))


def sentences(r, n=16):
    """Words and their labels, the longest sentence first."""
    lengths = sorted(r.randint(3, 20, n), reverse=True)
    return tuple([r.randint(0, m, k).astype('i') for k in lengths] for m in (500, 6))


def attended(q, k, v):
    """Dot-product attention."""
    weights = F.softmax(F.matmul(q, k, transb=True) / 8.0, axis=2)
    return F.matmul(weights, v)


class Attention(chainer.Chain):
    """A transformer's block: 8 sequences of 24 items, 64 units."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.q, self.k, self.v = (L.Linear(64, 64) for _ in range(3))
            self.one, self.two = L.Linear(64, 128), L.Linear(128, 64)
            self.n1, self.n2 = L.LayerNormalization(64), L.LayerNormalization(64)

    def forward(self, x, t):
        b, n, d = x.shape
        flat = F.reshape(x, (b * n, d))
        q, k, v = (F.reshape(f(flat), (b, n, d)) for f in (self.q, self.k, self.v))
        h = self.n1(flat + F.reshape(attended(q, k, v), (b * n, d)))
        h = self.n2(h + F.dropout(self.two(F.relu(self.one(h))), 0.1))
        return F.mean_squared_error(h, t)


def workloads():
    """What it is called, the chain, batches that take turns, and how it is trained."""
    r = np.random.RandomState(0)
    real, whole = lambda *s: r.rand(*s).astype('f'), lambda n, *s: r.randint(0, n, s).astype('i')
    adam, momentum = chainer.optimizers.Adam, chainer.optimizers.MomentumSGD
    return [
        ('digits: 784-100-100-10, Adam', MLP, [(real(100, 784), whole(10, 100))], adam),
        ('a policy with layer normalization', Policy,
         [(real(32, 16), real(32, 4), real(32, 1))], adam),
        ('three convolutions with batch normalization', Convolutional,
         [(real(16, 3, 16, 16), whole(10, 16))], momentum),
        ('an LSTM over 20 words', Language, [(whole(500, 21, 20),)], adam),
        ('a block of a transformer', Attention, [(real(8, 24, 64), real(192, 64))], adam),
        ('sentences of any length: bi-LSTM and CRF', Tagger,
         [sentences(r) for _ in range(100)], adam),
    ]


def step_of(chain, batches, make_optimizer):
    """A function that trains for one step."""
    np.random.seed(0)
    model = chain()
    optimizer = make_optimizer()
    optimizer.setup(model)

    turns = itertools.cycle(batches)

    def step():
        loss = model(*next(turns))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        return loss

    return step


def seconds(step, number):
    """Of one step."""
    start = time.process_time()
    for _ in range(number):
        step()
    return (time.process_time() - start) / number


def least(step, rounds=5):
    """Seconds of a step, the least of several rounds' means."""
    number = max(int(0.3 / max(seconds(step, 3), 1e-6)), 3)
    return min([seconds(step, number) for _ in range(rounds)])


if __name__ == '__main__':  # under the original
    json.dump({name: least(step_of(*rest)) for name, *rest in workloads()}, sys.stdout)
