"""Methods that learn to learn, factorize, sort, or solve; and models inside other packages."""

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

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
