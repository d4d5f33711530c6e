"""Methods that learn to learn, factorize, sort, or solve; and models inside other packages."""

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import cuda

from .case import Case, case, rng, vectors


@case
def maml(compiled):
    """Adapted weights from a gradient inside of the method, differentiated twice."""

    class Maml(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(1, 16), L.Linear(16, 1)

        def net(self, x, weights):
            w1, b1, w2, b2 = weights
            return F.linear(F.tanh(F.linear(x, w1, b1)), w2, b2)

        @compiled
        def forward(self, x, y, x2, y2):
            weights = [self.l1.W, self.l1.b, self.l2.W, self.l2.b]
            loss = F.mean_squared_error(self.net(x, weights), y)
            grads = chainer.grad([loss], weights, enable_double_backprop=True)
            weights = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
            return F.mean_squared_error(self.net(x2, weights), y2)

    def batch(k):
        r = rng(k)
        x, x2 = r.uniform(-3, 3, (2, 10, 1)).astype("f")
        phase = np.float32(r.rand())
        return x, np.sin(x + phase), x2, np.sin(x2 + phase)

    return Case(Maml(), batch)


@case
def prototypical(compiled):
    """Few-shot classification by distances to means."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(8, 16), L.Linear(16, 6)

        def embed(self, x):
            return self.l2(F.relu(self.l1(x)))

        @compiled
        def forward(self, support, query, t):
            ways, shots, _ = support.shape
            means = F.mean(F.reshape(self.embed(support.reshape(ways * shots, -1)),
                                     (ways, shots, -1)), axis=1)  # fmt: skip
            q = self.embed(query)
            shape = (len(query), ways, q.shape[1])
            d = F.sum((F.broadcast_to(q[:, None], shape) - F.broadcast_to(means, shape)) ** 2, 2)
            self.accuracy = (d.array.argmin(axis=1) == t).mean()
            return F.softmax_cross_entropy(-d, t)

    def batch(k):
        r = rng(k)
        t = r.randint(0, 4, 8).astype("i")
        return r.randn(4, 3, 8).astype("f"), r.randn(8, 8).astype("f"), t

    return Case(Net(), batch)


@case
def matrix_factorization(compiled):
    class Mf(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.u, self.v = L.EmbedID(50, 6), L.EmbedID(60, 6)
                self.bu, self.bv = L.EmbedID(50, 1), L.EmbedID(60, 1)

        @compiled
        def forward(self, users, items, ratings):
            y = F.sum(self.u(users) * self.v(items), axis=1)
            y = y + self.bu(users)[:, 0] + self.bv(items)[:, 0]
            return F.mean_squared_error(y, ratings) + 1e-3 * F.sum(self.u.W**2)

    def batch(k):
        r = rng(k)
        n = 32
        return (r.randint(0, 50, n).astype("i"), r.randint(0, 60, n).astype("i"),
                r.randn(n).astype("f"))  # fmt: skip

    return Case(Mf(), batch)


@case
def mixture_of_experts(compiled):
    """Each example goes to the experts that a gate picks: sizes change from batch to batch."""

    class Moe(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.gate = L.Linear(10, 3)
                self.experts = chainer.ChainList(*[L.Linear(10, 5) for _ in range(3)])

        @compiled
        def forward(self, x, t):
            p = F.softmax(self.gate(x))
            chosen = p.array.argmax(axis=1)
            loss = 0
            for k, expert in enumerate(self.experts):
                rows = np.flatnonzero(chosen == k)
                if len(rows) == 0:
                    continue
                y = expert(x[rows]) * F.broadcast_to(p[rows, k][:, None], (len(rows), 5))
                loss += F.softmax_cross_entropy(y, t[rows]) * len(rows) / len(x)
            return loss

    return Case(Moe(), vectors(12))


@case
def knowledge_distillation(compiled):
    """A teacher without a graph inside of the method."""

    class Distill(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.student = L.Linear(10, 5)
            self.teacher = chainer.Sequential(L.Linear(10, 20), F.relu, F.dropout, L.Linear(20, 5))

        @compiled
        def forward(self, x, t):
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                soft = F.softmax(self.teacher(x) / 2.0).array
            y = self.student(x)
            return F.softmax_cross_entropy(y, t) - F.mean(
                F.sum(soft * F.log_softmax(y / 2.0), axis=1)
            )

    return Case(Distill(), vectors())


@case
def multi_task(compiled):
    """Losses with learned weights; which tasks take part changes."""

    class Multi(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body = L.Linear(10, 16)
                self.heads = chainer.ChainList(L.Linear(16, 5), L.Linear(16, 1), L.Linear(16, 2))
                self.log_var = chainer.Parameter(0, (3,))

        @compiled
        def forward(self, x, t, tasks):
            h, losses = F.relu(self.body(x)), {}
            if "class" in tasks:
                losses[0] = F.softmax_cross_entropy(self.heads[0](h), t)
            if "value" in tasks:
                losses[1] = F.mean_squared_error(self.heads[1](h)[:, 0], x[:, 0])
            if "sign" in tasks:
                losses[2] = F.softmax_cross_entropy(self.heads[2](h), (x[:, 1] > 0).astype("i"))
            total = 0
            for k, loss in losses.items():
                total += F.exp(-self.log_var[k]) * loss + self.log_var[k]
            return total

    def batch(k):
        tasks = [("class", "value"), ("class", "value", "sign"), ("sign",)][k % 3]
        return (*vectors()(k), tasks)

    return Case(Multi(), batch)


@case
def sinkhorn(compiled):
    """Optimal transport by iterations in the log domain."""

    class Ot(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(3, 4)

        @compiled
        def forward(self, x, y):
            a, b = self.l(x), self.l(y)
            n, m = len(a), len(b)
            shape = (n, m, a.shape[1])
            cost = F.sum(
                (F.broadcast_to(a[:, None], shape) - F.broadcast_to(b[None], shape)) ** 2, axis=2
            )
            f, g = np.zeros((n, 1), "f"), np.zeros((1, m), "f")
            for _ in range(10):
                f = -F.logsumexp(F.broadcast_to(g, (n, m)) - cost, axis=1)[:, None] - np.log(m)
                g = -F.logsumexp(F.broadcast_to(f, (n, m)) - cost, axis=0)[None] - np.log(n)
            plan = F.exp(F.broadcast_to(f, (n, m)) + F.broadcast_to(g, (n, m)) - cost)
            return F.sum(plan * cost)

    def batch(k):
        r = rng(k)
        return r.randn(6, 3).astype("f"), r.randn(5, 3).astype("f")

    return Case(Ot(), batch)


@case
def gaussian_process(compiled):
    """A kernel on learned features, solved by linear algebra."""

    class Gp(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(4, 6)
                self.log_noise = chainer.Parameter(-1.0, (1,))

        @compiled
        def forward(self, x, y):
            h = F.tanh(self.l(x))
            n = len(x)
            square = F.broadcast_to(F.sum(h * h, axis=1, keepdims=True), (n, n))
            d = square + square.T - 2 * F.matmul(h, h, transb=True)
            noise = F.broadcast_to(F.exp(self.log_noise), (n, n)) * np.eye(n, dtype="f")
            k = F.exp(-0.5 * d) + noise
            alpha = F.matmul(F.inv(k), y)
            return 0.5 * F.sum(y * alpha) + 0.5 * F.log(F.det(k))

    def batch(k):
        r = rng(k)
        return r.randn(6, 4).astype("f"), r.randn(6, 1).astype("f")

    return Case(Gp(), batch)


@case
def center_loss(compiled):
    """Centers in raw arrays, moved in the method."""

    class Center(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 6), L.Linear(6, 5)
            self.centers = np.zeros((5, 6), "f")
            self.register_persistent("centers")

        @compiled
        def forward(self, x, t):
            h = self.l1(x)
            loss = F.softmax_cross_entropy(self.l2(F.relu(h)), t)
            difference = h - self.centers[t]
            loss += 0.05 * F.mean(F.sum(difference**2, axis=1))
            if chainer.config.train:
                np.add.at(self.centers, t, 0.1 * difference.array)
            return loss

    return Case(Center(), vectors())


@case
def lookahead_memory_bank(compiled):
    """Contrastive learning against a queue of earlier features; a second encoder follows."""

    class MoCo(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.q = L.Linear(10, 6)
            self.k = self.q.copy("copy")
            self.queue, self.at = np.random.randn(16, 6).astype("f"), 0

        @compiled
        def forward(self, x, noise):
            for a, b in zip(self.k.params(), self.q.params(), strict=True):
                a.array[...] = 0.99 * a.array + 0.01 * b.array
            q = F.normalize(self.q(x))
            with chainer.no_backprop_mode():
                k = F.normalize(self.k(x + noise)).array
            positive = F.sum(q * k, axis=1, keepdims=True)
            negative = F.matmul(q, self.queue.copy(), transb=True)
            logits = F.concat([positive, negative]) / 0.1
            self.queue[self.at : self.at + len(k)] = k
            self.at = (self.at + len(k)) % 16
            return F.softmax_cross_entropy(logits, np.zeros(len(k), "i"))

    def batch(k):
        r = rng(k)
        return r.randn(8, 10).astype("f"), 0.1 * r.randn(8, 10).astype("f")

    return Case(MoCo(), batch)


@case
def rotating_widths(compiled):
    """Twelve shapes in rotation: more than schedules are kept."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 24), L.Linear(24, 5)

        @compiled
        def forward(self, x, t):
            return F.softmax_cross_entropy(self.l2(F.relu(self.l1(x))), t)

    return Case(Net(), lambda k: vectors(4 + k % 12)(k))


@case
def two_attributes_in_turn(compiled):
    """A mode that flips in each call, as in alternating training."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            self.mode, self.calls = "a", 0
            with self.init_scope():
                self.a, self.b, self.out = L.Linear(10, 16), L.Linear(10, 16), L.Linear(16, 5)

        @compiled
        def forward(self, x, t):
            h = F.relu(self.a(x)) if self.mode == "a" else F.tanh(self.b(x)) * 2.0
            return F.softmax_cross_entropy(self.out(h), t)

    model = Net()

    def step(x, t):
        model.mode = "b" if model.mode == "a" else "a"
        model.cleargrads()
        loss = model(x, t)
        loss.backward()
        return loss

    return Case(model, vectors(), step)


@case
def old_style_function(compiled):
    """A ``Function`` with ``forward_cpu``, as projects of 2016 wrote them."""

    class GradientReversal(chainer.Function):
        def forward_cpu(self, inputs):
            self.shape = inputs[0].shape
            return (inputs[0],)

        def backward_cpu(self, inputs, grads):
            return (-grads[0].reshape(self.shape),)

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l, self.label, self.domain = (
                    L.Linear(10, 16), L.Linear(16, 5), L.Linear(16, 2),
                )  # fmt: skip

        @compiled
        def forward(self, x, t):
            h = F.relu(self.l(x))
            loss = F.softmax_cross_entropy(self.label(h), t)
            domain = self.domain(GradientReversal()(h))
            return loss + F.softmax_cross_entropy(domain, (t % 2).astype("i"))

    return Case(Net(), vectors())


@case
def attention_as_in_chainer_1(compiled):
    """Shapes by ``x.data.shape``, ``super(Class, self)``, links as arguments and by number."""

    class Attention(chainer.Chain):
        def __init__(self, units, heads):
            super(Attention, self).__init__(
                q=L.Linear(units, units), k=L.Linear(units, units), v=L.Linear(units, units))
            self.heads = heads

        def split(self, h):
            n, length, units = h.data.shape
            return F.swapaxes(F.reshape(h, (n, length, self.heads, units // self.heads)), 1, 2)

        def project(self, link, x):
            n, length, units = x.data.shape
            return self.split(F.reshape(link(F.reshape(x, (-1, units))), (n, length, -1)))

        def __call__(self, x, mask):
            q, k, v = [self.project(link, x) for link in (self.q, self.k, self.v)]
            xp = cuda.get_array_module(q.data)
            weights = F.matmul(q, k, transb=True) / xp.sqrt(q.data.shape[-1]).astype("f")
            weights = F.softmax(weights + mask[:, None, None], axis=3)
            n, _, length, _ = weights.data.shape
            return F.reshape(F.swapaxes(F.matmul(weights, v), 1, 2), (n, length, -1))

    class Encoder(chainer.Chain):
        def __init__(self, units=16, layers=2):
            super(Encoder, self).__init__(
                embed=L.EmbedID(30, units), out=L.Linear(units, 30))
            self.layers = layers
            for k in range(layers):
                self.add_link("layer_%d" % k, Attention(units, 2))  # noqa: UP031

        @compiled
        def __call__(self, x, t):
            h = self.embed(x)
            with cuda.get_device(h.data):
                mask = self.xp.where(x == 0, -1e9, 0).astype("f")
            for k in range(self.layers):
                h = h + F.tanh(self["layer_%d" % k](h, mask))  # noqa: UP031
            self.y = self.out(F.reshape(h, (-1, h.data.shape[2])))
            self.loss = F.softmax_cross_entropy(self.y, t.ravel())
            return self.loss

    def batch(k):
        r = rng(k)
        return r.randint(0, 30, (4, 6)).astype("i"), r.randint(0, 30, (4, 6)).astype("i")

    return Case(Encoder(), batch)


@case
def results_in_a_dict(compiled):
    """Keeps all that it has computed, and what it reports, on itself."""

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l1, self.l2 = L.Linear(10, 30), L.Linear(30, 5)

        @compiled
        def forward(self, x, t):
            h = F.relu(self.l1(x))
            y = self.l2(h)
            loss = F.softmax_cross_entropy(y, t)
            self.last = {"h": h, "y": y, "loss": loss}
            self.accuracy = float((y.array.argmax(axis=1) == t).mean())
            chainer.report({"loss": loss, "accuracy": self.accuracy}, self)
            return loss

    return Case(Net(), vectors())


@case
def autoencoder_with_its_own_loss(compiled):
    """Variational, with draws from a normal distribution and a ``Function`` for the divergence."""

    class Divergence(chainer.Function):
        def forward(self, inputs):
            xp = chainer.cuda.get_array_module(*inputs)
            mean, log_var = inputs
            self.var = xp.exp(log_var)
            total = (mean * mean + self.var - log_var - 1).sum() / (2 * len(mean))
            return (xp.asarray(total, dtype=mean.dtype),)

        def backward(self, inputs, gys):
            (mean, _), g = inputs, gys[0] / len(inputs[0])
            return (g * mean).astype(mean.dtype), (g * (self.var - 1) / 2).astype(mean.dtype)

    class Vae(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.encoder, self.mean, self.log_var = (
                    L.Linear(20, 30), L.Linear(30, 5), L.Linear(30, 5),
                )  # fmt: skip
                self.decoder, self.out = L.Linear(5, 30), L.Linear(30, 20)

        @compiled
        def forward(self, x):
            h = F.tanh(self.encoder(x))
            mean, log_var = self.mean(h), self.log_var(h)
            self.kl, self.rec = Divergence()(mean, log_var), 0
            for _ in range(2):
                y = self.out(F.tanh(self.decoder(F.gaussian(mean, log_var))))
                self.rec += F.bernoulli_nll(x, y) / (2 * len(x))
            chainer.report({"rec": self.rec, "kl": self.kl}, self)
            return self.rec + self.kl

    return Case(Vae(), lambda k: (rng(k).rand(16, 20).astype("f"),))


@case
def rois_pooled_in_python(compiled):
    """A ``Function`` that goes through regions by loops over Python's numbers."""

    class Pooling(chainer.Function):
        def __init__(self, n, scale):
            self.n, self.scale = n, scale

        def forward_cpu(self, inputs):
            x, rois = inputs
            y = np.zeros((len(rois), x.shape[1], self.n, self.n), x.dtype)
            for r in range(len(rois)):
                b, *corners = rois[r]
                x0, y0, x1, y1 = [int(round(v * self.scale)) for v in corners]
                h, w = max(y1 - y0 + 1, 1), max(x1 - x0 + 1, 1)
                for i in range(self.n):
                    for j in range(self.n):
                        top, bottom = y0 + i * h // self.n, y0 - (-(i + 1) * h // self.n)
                        left, right = x0 + j * w // self.n, x0 - (-(j + 1) * w // self.n)
                        part = x[int(b), :, top:bottom, left:right]
                        y[r, :, i, j] = part.reshape(len(part), -1).max(axis=1)
            return (y,)

        def backward_cpu(self, inputs, gys):
            return np.zeros_like(inputs[0]) + gys[0].mean(), None

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv, self.out = L.Convolution2D(3, 4, 3, pad=1), L.Linear(36, 5)

        @compiled
        def forward(self, x, rois, t):
            h = Pooling(3, 0.5)(F.relu(self.conv(x)), rois)
            return F.softmax_cross_entropy(self.out(F.tanh(h)), t)

    def batch(k):
        r = rng(k)
        corner = r.randint(0, 12, (4, 2))
        rois = np.concatenate([np.zeros((4, 1)), corner, corner + r.randint(4, 18, (4, 2))], 1)
        return r.rand(2, 3, 16, 16).astype("f"), rois.astype("f"), r.randint(0, 5, 4).astype("i")

    return Case(Net(), batch)
