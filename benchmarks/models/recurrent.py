"""Recurrent cells, sequences, and loops over depth or time."""

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

from .case import Case, case, rng, vectors


@case
def highway(compiled):
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.first = L.Linear(10, 16)
                self.body = chainer.Sequential(L.Highway(16)).repeat(6)
                self.out = L.Linear(16, 5)

        @compiled
        def forward(self, x, t):
            return F.softmax_cross_entropy(self.out(self.body(F.relu(self.first(x)))), t)

    return Case(Net(), vectors())


@case
def maxout(compiled):
    net = chainer.Sequential(L.Maxout(10, 12, 3), F.dropout, L.Maxout(12, 12, 3), L.Linear(12, 5))

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.net = net

        @compiled
        def forward(self, x, t):
            return F.softmax_cross_entropy(self.net(x), t)

    return Case(Model(), vectors())


@case
def wavenet(compiled):
    """Dilated causal convolutions with gates, residuals and skips."""

    class WaveNet(chainer.Chain):
        def __init__(self, units=8):
            super().__init__()
            self.dilations = [1, 2, 4, 1, 2, 4]
            with self.init_scope():
                self.embed = L.Convolution2D(16, units, (2, 1), pad=(1, 0))
                for k, d in enumerate(self.dilations):
                    conv = L.DilatedConvolution2D(
                        units, 2 * units, (2, 1), pad=(d, 0), dilate=(d, 1)
                    )
                    setattr(self, f"conv{k}", conv)
                    setattr(self, f"res{k}", L.Convolution2D(units, units, 1))
                    setattr(self, f"skip{k}", L.Convolution2D(units, units, 1))
                self.p1, self.p2 = L.Convolution2D(units, units, 1), L.Convolution2D(units, 16, 1)

        @compiled
        def forward(self, q):
            x = np.eye(16, dtype="f")[q].transpose(0, 2, 1)[..., None]
            length = q.shape[1]
            h, skips = self.embed(x)[:, :, :length], 0
            for k in range(len(self.dilations)):
                z = self[f"conv{k}"](h)[:, :, : h.shape[2]]
                a, b = F.split_axis(z, 2, axis=1)
                z = F.tanh(a) * F.sigmoid(b)
                skips = skips + self[f"skip{k}"](z)
                h = self[f"res{k}"](z) + h
            y = self.p2(F.relu(self.p1(F.relu(skips))))
            return F.softmax_cross_entropy(y[:, :, :-1], q[:, 1:, None])

    return Case(WaveNet(), lambda k: (rng(k).randint(0, 16, (2, 20)).astype("i"),))


@case
def qrnn(compiled):
    """Convolutions over time and a pooling loop."""

    class Qrnn(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv, self.out = L.ConvolutionND(1, 6, 24, 2, pad=1), L.Linear(8, 4)

        @compiled
        def forward(self, x, t):
            length = x.shape[2]
            z, f, o = F.split_axis(self.conv(x)[:, :, :length], 3, axis=1)
            z, f, o = F.tanh(z), F.zoneout(F.sigmoid(f), F.sigmoid(f), 0.1), F.sigmoid(o)
            c = np.zeros(z.shape[:2], "f")
            for k in range(length):
                c = f[:, :, k] * c + (1 - f[:, :, k]) * z[:, :, k]
            return F.softmax_cross_entropy(self.out(c * o[:, :, -1]), t)

    def batch(k):
        r = rng(k)
        return r.randn(4, 6, 10).astype("f"), r.randint(0, 4, 4).astype("i")

    return Case(Qrnn(), batch)


@case
def peephole_regression(compiled):
    """A stateful cell fed step by step inside the method."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.cell, self.out = L.StatefulPeepholeLSTM(3, 10), L.Linear(10, 1)

        @compiled
        def forward(self, xs, t):
            self.cell.reset_state()
            for x in xs:
                y = self.out(self.cell(x))
            return F.mean_squared_error(y, t)

    def batch(k):
        r = rng(k)
        return [*r.randn(8, 6, 3).astype("f")], r.randn(6, 1).astype("f")

    return Case(Model(), batch)


@case
def zoneout_lstm(compiled):
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.cell, self.out = L.StatefulZoneoutLSTM(4, 8, 0.3, 0.2), L.Linear(8, 4)

        @compiled
        def forward(self, xs, t):
            self.cell.reset_state()
            for x in xs:
                h = self.cell(x)
            return F.softmax_cross_entropy(self.out(h), t)

    def batch(k):
        r = rng(k)
        return [*r.randn(6, 5, 4).astype("f")], r.randint(0, 4, 5).astype("i")

    return Case(Model(), batch)


@case
def neural_ode(compiled):
    """Runge and Kutta's steps in a loop; the number of steps depends on an estimate."""

    class Ode(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(5, 16), L.Linear(16, 4)

        def slope(self, t, z):
            time = np.full((z.shape[0], 1), t, "f")
            return self.l2(F.tanh(self.l1(F.concat([z, time]))))

        @compiled
        def forward(self, x, y):
            z = x
            error = float(np.abs(self.slope(0.0, x).array).mean())
            n = 4 if error < 0.5 else 6
            h = 1.0 / n
            for k in range(n):
                t = k * h
                k1 = self.slope(t, z)
                k2 = self.slope(t + h / 2, z + h / 2 * k1)
                k3 = self.slope(t + h / 2, z + h / 2 * k2)
                k4 = self.slope(t + h, z + h * k3)
                z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return F.mean_squared_error(z, y)

    def batch(k):
        r = rng(k)
        return r.randn(8, 4).astype("f"), r.randn(8, 4).astype("f")

    return Case(Ode(), batch)


@case
def adaptive_computation(compiled):
    """Halts when the sum of the probabilities says so: a while loop over values."""

    class Act(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.cell, self.halt = L.Linear(10, 10), L.Linear(10, 1)
                self.out = L.Linear(10, 5)

        @compiled
        def forward(self, x, t):
            h, total, y, n = x, np.zeros((len(x), 1), "f"), 0, 0
            while (total < 0.99).any() and n < 6:
                h = F.tanh(self.cell(h))
                p = F.sigmoid(self.halt(h))
                last = (total + p.array >= 0.99) | (n == 5)
                p = F.where(last, 1 - total, p)
                p = p * (total < 0.99)
                y = y + F.broadcast_to(p, h.shape) * h
                total = total + p.array
                n += 1
            return F.softmax_cross_entropy(self.out(y), t) + 0.01 * n

    return Case(Act(), vectors())


@case
def dnc(compiled):
    """A differentiable memory: content addressing, erasing, writing, reading."""

    class Dnc(chainer.Chain):
        def __init__(self, slots=6, width=4, units=12):
            super().__init__()
            self.slots, self.width = slots, width
            with self.init_scope():
                self.controller = L.LSTM(5 + width, units)
                self.head = L.Linear(units, 4 * width + 4)
                self.out = L.Linear(units + width, 5)

        def address(self, memory, key, strength):
            dots = F.matmul(memory, F.expand_dims(F.normalize(key), 2))
            return F.softmax(F.squeeze(dots, 2) * F.broadcast_to(strength, dots.shape[:2]), axis=1)

        @compiled
        def forward(self, xs, ts):
            self.controller.reset_state()
            b, w = len(xs[0]), self.width
            memory = chainer.Variable(np.full((b, self.slots, w), 1e-3, "f"))
            read, loss = np.zeros((b, w), "f"), 0
            usage = np.zeros((b, self.slots), "f")
            for x, t in zip(xs, ts, strict=True):
                h = self.controller(F.concat([x, read]))
                parts = F.split_axis(self.head(h), [w, 2 * w, 3 * w, 4 * w], axis=1)
                erase, write, key_w, key_r, gates = parts
                strength = 1 + F.softplus(gates[:, 0:1]), 1 + F.softplus(gates[:, 1:2])
                content = self.address(memory, key_w, strength[0])
                free = np.eye(self.slots, dtype="f")[usage.argmin(axis=1)]
                gate = F.broadcast_to(F.sigmoid(gates[:, 2:3]), content.shape)
                weight = gate * content + (1 - gate) * free
                usage = usage + weight.array
                outer = F.matmul(F.expand_dims(weight, 2), F.expand_dims(F.sigmoid(erase), 1))
                memory = memory * (1 - outer)
                memory += F.matmul(F.expand_dims(weight, 2), F.expand_dims(write, 1))
                where = self.address(memory, key_r, strength[1])
                read = F.squeeze(F.matmul(F.expand_dims(where, 1), memory), 1)
                loss += F.softmax_cross_entropy(self.out(F.concat([h, read])), t)
            return loss

    def batch(k):
        r = rng(k)
        words = r.randint(0, 5, (6, 3))
        return [*np.eye(5, dtype="f")[words]], [*words[::-1].astype("i").copy()]

    return Case(Dnc(), batch)


@case
def convlstm(compiled):
    """Frames of a video, state in feature maps."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.x = L.Convolution2D(1, 16, 3, pad=1)
                self.h = L.Convolution2D(4, 16, 3, pad=1, nobias=True)
                self.out = L.Convolution2D(4, 1, 1)

        @compiled
        def forward(self, frames):
            n, steps = frames.shape[:2]
            shape = (n, 4, *frames.shape[3:])
            c = chainer.Variable(np.zeros(shape, "f"))
            h, loss = chainer.Variable(np.zeros(shape, "f")), 0
            for k in range(steps - 1):
                c, h = F.lstm(c, self.x(frames[:, k]) + self.h(h))
                loss += F.sigmoid_cross_entropy(
                    self.out(h), (frames[:, k + 1] > 0.5).astype("i")
                )
            return loss

    return Case(Net(), lambda k: (rng(k).rand(2, 5, 1, 8, 8).astype("f"),))


@case
def hundred_small_functions(compiled):
    """Depth without breadth."""

    class Deep(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.scale = chainer.Parameter(np.float32(1.001), (16, 16))

        @compiled
        def forward(self, x):
            for _ in range(25):
                x = F.relu(F.tanh(x * self.scale) + x)
            return F.sum(x)

    return Case(Deep(), lambda k: (rng(k).randn(16, 16).astype("f"),))


@case
def mlp_with_float(compiled):
    """A look at a value in the middle, for a log."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            self.seen = []
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 32), L.Linear(32, 32)
                self.l3 = L.Linear(32, 5)

        @compiled
        def forward(self, x, t):
            h = F.relu(self.l1(x))
            self.seen = [float(h.array.mean()), float(F.max(h).array)]
            h = F.relu(self.l2(h))
            return F.softmax_cross_entropy(self.l3(h), t)

    return Case(Net(), vectors())


@case
def ragged_last_batch(compiled):
    """Every eighth batch is smaller."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.bn, self.l2 = L.Linear(10, 32), L.BatchNormalization(32), L.Linear(32)

        @compiled
        def forward(self, x, t):
            return F.softmax_cross_entropy(self.l2(F.dropout(F.relu(self.bn(self.l1(x))))), t)

    def batch(k):
        return vectors(7 if k % 8 == 7 else 16)(k)

    net = Net()
    net(*batch(0))
    return Case(net, batch)


@case
def annealed_weight(compiled):
    """A number that changes in every call, as an argument."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 24), L.Linear(24, 5)

        @compiled
        def forward(self, x, t, beta):
            h = F.tanh(self.l1(x))
            return F.softmax_cross_entropy(self.l2(h), t) + beta * F.mean(h * h)

    return Case(Net(), lambda k: (*vectors()(k), min(1.0, k / 150)))


@case
def annealed_temperature(compiled):
    """A number that changes in an attribute, and goes through functions."""

    class Net(chainer.Chain):
        temperature = 5.0

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 24), L.Linear(24, 5)

        @compiled
        def forward(self, x, t):
            self.temperature = max(0.5, self.temperature * 0.99)
            p = F.gumbel_softmax(self.l1(x), self.temperature)
            return F.softmax_cross_entropy(self.l2(p) / self.temperature, t)

    return Case(Net(), vectors())
