"""Reinforcement learning: policies that return distributions, values in objects, returns."""

import numpy as np

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L

from .case import Case, case, rng


class Body(chainer.Chain):
    def __init__(self, n_in=6, units=16):
        super().__init__()
        with self.init_scope():
            self.l1, self.l2 = L.Linear(n_in, units), L.Linear(units, units)

    def forward(self, x):
        return F.tanh(self.l2(F.tanh(self.l1(x))))


def transitions(n=8, actions=3):
    def batch(k):
        r = rng(k)
        return (
            r.randn(n, 6).astype("f"), r.randint(0, actions, n).astype("i"),
            r.randn(n).astype("f"), r.randn(n, 6).astype("f"), (r.rand(n) < 0.2).astype("f"),
        )  # fmt: skip

    return batch


class ActionValue:
    """Values of discrete actions."""

    def __init__(self, q):
        self.q_values = q
        self.n_actions = q.shape[1]

    @property
    def greedy_actions(self):
        return chainer.Variable(self.q_values.array.argmax(axis=1).astype("i"))

    @property
    def max(self):
        return F.select_item(self.q_values, self.greedy_actions)

    def evaluate(self, actions):
        return F.select_item(self.q_values, actions)


class Q(chainer.Chain):
    def __init__(self, out=3):
        super().__init__()
        with self.init_scope():
            self.body, self.out = Body(), L.Linear(16, out)

    def forward(self, x):
        return ActionValue(self.out(self.body(x)))


@case
def dqn(compiled):
    """The network returns an object; a second network gives the targets."""
    model = type("Model", (Q,), {"forward": compiled(Q.forward)})()
    target = model.copy("copy")

    def step(state, action, reward, after, done):
        model.cleargrads()
        y = model(state).evaluate(action)
        with chainer.no_backprop_mode(), chainer.using_config("train", False):
            t = reward + 0.95 * (1 - done) * target(after).max.array
        loss = F.mean(F.huber_loss(y[:, None], t[:, None], 1.0))
        loss.backward()
        return loss, y

    return Case(model, transitions(), step)


@case
def dueling_double_dqn(compiled):
    class Dueling(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body, self.adv, self.value = Body(), L.Linear(16, 3), L.Linear(16, 1)

        @compiled
        def forward(self, x):
            h = self.body(x)
            a = self.adv(h)
            mean = F.sum(a, axis=1, keepdims=True) / a.shape[1]
            a, v = F.broadcast(a - F.broadcast_to(mean, a.shape), self.value(h))
            return ActionValue(a + v)

    model = Dueling()

    def step(state, action, reward, after, done):
        model.cleargrads()
        with chainer.no_backprop_mode():
            later = model(after)
            t = reward + 0.9 * (1 - done) * later.evaluate(later.greedy_actions).array
        loss = F.sum(F.square(model(state).evaluate(action) - t))
        loss.backward()
        return loss

    return Case(model, transitions(), step)


@case
def categorical_dqn(compiled):
    """A distribution over returns; the projection of the targets is NumPy."""

    class Net(chainer.Chain):
        atoms = np.linspace(-2, 2, 11, dtype="f")

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body, self.out = Body(), L.Linear(16, 3 * 11)

        def q(self, x):
            return F.softmax(F.reshape(self.out(self.body(x)), (-1, 3, 11)), axis=2)

        @compiled
        def forward(self, state, action, reward, after, done):
            rows = np.arange(len(state))
            p = self.q(state)[rows, action]
            with chainer.no_backprop_mode():
                later = self.q(after).array
            best = later[rows, (later * self.atoms).sum(axis=2).argmax(axis=1)]
            tz = np.clip(reward[:, None] + 0.9 * (1 - done[:, None]) * self.atoms, -2, 2)
            b = (tz + 2) / (self.atoms[1] - self.atoms[0])
            low = np.floor(b).astype("i")
            high = np.minimum(low + 1, 10)
            t = np.zeros(p.shape, "f")
            for k in range(len(state)):
                np.add.at(t[k], low[k], best[k] * (1 - (b[k] - low[k])))
                np.add.at(t[k], high[k], best[k] * (b[k] - low[k]))
            return -F.mean(F.sum(t * F.log(F.clip(p, 1e-8, 1.0)), axis=1))

    return Case(Net(), transitions())


class Policy(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body, self.mean = Body(), L.Linear(16, 2)
            self.log_std = chainer.Parameter(-0.5, (2,))

    def forward(self, x):
        mean = self.mean(self.body(x))
        return D.Normal(mean, log_scale=F.broadcast_to(self.log_std, mean.shape))


@case
def reinforce_gaussian(compiled):
    """The policy returns a distribution."""
    policy = type("Model", (Policy,), {"forward": compiled(Policy.forward)})()

    def step(state, _, reward, *rest):
        policy.cleargrads()
        p = policy(state)
        action = p.sample().array
        log_p = F.sum(p.log_prob(action), axis=1)
        loss = -F.mean(log_p * reward) - 0.01 * F.mean(p.entropy)
        loss.backward()
        return loss, action

    return Case(policy, transitions(), step)


@case
def a2c(compiled):
    """Policy and value in a tuple; returns are summed up backwards."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body, self.pi, self.v = Body(), L.Linear(16, 3), L.Linear(16, 1)

        @compiled
        def forward(self, x):
            h = self.body(x)
            return D.Categorical(logit=self.pi(h)), self.v(h)

    model = Model()

    def step(state, action, reward, after, done):
        model.cleargrads()
        loss, total = 0, 0.0
        outputs = [model(s[None]) for s in state]
        for (p, v), a, r in zip(outputs[::-1], action[::-1], reward[::-1], strict=True):
            total = float(r) + 0.95 * total
            advantage = total - float(v.array[0, 0])
            loss -= F.sum(p.log_prob(a[None])) * advantage + 0.01 * F.sum(p.entropy)
            loss += 0.5 * F.sum((v - np.float32(total)) ** 2)
        loss.backward()
        return loss

    return Case(model, transitions(6), step)


@case
def ppo(compiled):
    """A clipped ratio; advantages are normalized with NumPy in the method."""

    class Ppo(chainer.Chain):
        def __init__(self):
            super().__init__()
            self.clip = 0.2
            with self.init_scope():
                self.body, self.pi, self.v = Body(), L.Linear(16, 3), L.Linear(16, 1)

        @compiled
        def forward(self, state, action, advantage, old_log_p, returns):
            h = self.body(state)
            log_pi = F.log_softmax(self.pi(h))
            log_p = F.select_item(log_pi, action)
            adv = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            ratio = F.exp(log_p - old_log_p)
            clipped = F.clip(ratio, 1 - self.clip, 1 + self.clip)
            surrogate = F.mean(F.minimum(ratio * adv, clipped * adv))
            entropy = -F.mean(F.sum(F.exp(log_pi) * log_pi, axis=1))
            value = F.mean_squared_error(F.flatten(self.v(h)), returns)
            return value - surrogate - 0.01 * entropy

    def batch(k):
        r = rng(k)
        return (
            r.randn(16, 6).astype("f"), r.randint(0, 3, 16).astype("i"), r.randn(16).astype("f"),
            -r.rand(16).astype("f"), r.randn(16).astype("f"),
        )  # fmt: skip

    return Case(Ppo(), batch)


@case
def ddpg(compiled):
    """The actor is trained through the critic; targets move softly."""

    class Actor(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body, self.out = Body(), L.Linear(16, 2)

        @compiled
        def forward(self, x):
            return F.tanh(self.out(self.body(x)))

    class Critic(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body, self.out = Body(8), L.Linear(16, 1)

        @compiled
        def forward(self, x, a):
            return self.out(self.body(F.concat([x, a])))

    class Both(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.actor, self.critic = Actor(), Critic()

    model = Both()
    target = model.copy("copy")

    def step(state, _, reward, after, done):
        model.cleargrads()
        with chainer.no_backprop_mode():
            y = reward[:, None] + 0.9 * (1 - done[:, None]) * target.critic(
                after, target.actor(after)
            ).array
        action = np.tanh(state[:, :2])
        loss_q = F.mean_squared_error(model.critic(state, action), y)
        loss_q.backward()
        held = [(p, p.grad.copy()) for p in model.critic.params()]
        loss_pi = -F.mean(model.critic(state, model.actor(state)))
        loss_pi.backward()
        for p, g in held:
            p.grad = g
        for a, b in zip(target.params(), model.params(), strict=True):
            a.array = 0.99 * a.array + 0.01 * b.array
        return loss_q, loss_pi

    return Case(model, transitions(), step)


@case
def recurrent_q(compiled):
    """State in an LSTM over an episode of varying length, acting without a graph."""

    class Drqn(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l, self.lstm, self.out = L.Linear(6, 12), L.LSTM(12, 12), L.Linear(12, 3)

        @compiled
        def forward(self, x):
            return self.out(self.lstm(F.relu(self.l(x))))

    model = Drqn()

    def batch(k):
        r = rng(k)
        n = r.randint(3, 9)
        return r.randn(n, 1, 6).astype("f"), r.randint(0, 3, n).astype("i"), r.randn(n).astype("f")

    def step(states, actions, rewards):
        model.cleargrads()
        model.lstm.reset_state()
        with chainer.no_backprop_mode():
            greedy = [int(model(s).array.argmax()) for s in states]
        model.lstm.reset_state()
        loss = 0
        for s, a, r in zip(states, actions, rewards, strict=True):
            loss += F.sum((model(s)[0, int(a)] - r) ** 2)
        loss.backward()
        return loss, greedy

    return Case(model, batch, step)


@case
def naf(compiled):
    """Normalized advantage: a lower triangular matrix from a vector."""

    class Naf(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.body, self.v = Body(), L.Linear(16, 1)
                self.mu, self.diag, self.low = L.Linear(16, 2), L.Linear(16, 2), L.Linear(16, 1)

        @compiled
        def forward(self, x, a, t):
            h = self.body(x)
            mu, d, low = F.tanh(self.mu(h)), F.exp(self.diag(h)), self.low(h)
            zero = np.zeros((len(x), 1), "f")
            rows = F.concat([d[:, :1], zero, low, d[:, 1:]], axis=1)
            tri = F.reshape(rows, (-1, 2, 2))
            u = F.expand_dims(a - mu, 2)
            p = F.matmul(tri, tri, transb=True)
            adv = -0.5 * F.reshape(F.matmul(F.matmul(u, p, transa=True), u), (-1, 1))
            return F.mean_squared_error(self.v(h) + adv, t)

    def batch(k):
        r = rng(k)
        return r.randn(8, 6).astype("f"), r.randn(8, 2).astype("f"), r.randn(8, 1).astype("f")

    return Case(Naf(), batch)


@case
def curiosity(compiled):
    """Forward and inverse models; detached targets and an array of rewards as a result."""

    class Icm(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.phi = Body(6, 8)
                self.inverse, self.ahead = L.Linear(16, 3), L.Linear(11, 8)

        @compiled
        def forward(self, state, action, after):
            a, b = self.phi(state), self.phi(after)
            onehot = np.eye(3, dtype="f")[action]
            predicted = self.ahead(F.concat([chainer.Variable(a.array), onehot]))
            error = 0.5 * F.sum((predicted - b.array) ** 2, axis=1)
            loss = F.softmax_cross_entropy(self.inverse(F.concat([a, b])), action) + F.mean(error)
            return loss, error.array

    model = Icm()

    def step(state, action, _, after, done):
        model.cleargrads()
        loss, bonus = model(state, action, after)
        loss.backward()
        return loss, bonus.sum()

    return Case(model, transitions(), step)
