"""Random programs: forward methods made of everything that people write, and steps around them.

``program(seed)`` gives a :class:`Recipe`; its ``source()`` is a small script that runs by itself,
``make()`` the class it defines (a new one each time), ``shrink()`` the smallest recipe that still
fails. All values ``v0, v1, ...`` of a method are Variables of shape (n, 4), so any statement can be
replaced by ``v5 = v3`` and what remains is a program still.
"""

import collections
import contextlib
import dataclasses
import itertools
import linecache
import re
import threading

import numpy as np
from heard import warnings_heard
from open_loops import open_loops
from phrases import only_phrases
from trust import Base, Box, difference, run, total, variable, variables_in

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _piece
from chainwright.runtime import arenas

CALLS = 10
OFTEN = 16  # calls of a step that repeats the same one
# Of batches, where each has its own; the last ones come when calls go without their Python.
SIZES = (5, 3, 7, 4, 9, 6, 8, 11, 2, 10, 13, 12, 1, 14, 30, 5, 15, 17, 1, 20, 19, 6, 22, 40, 18)
_LARGE = _piece._LARGE, arenas.LARGE

# -- Functions of the user's, for the programs ------


class Masked(chainer.FunctionNode):
    """Draws, and leaves an array."""

    def forward(self, inputs):
        self.mask = (np.random.rand(*inputs[0].shape) > 0.3).astype("f")
        return (inputs[0] * self.mask,)

    def backward(self, indexes, gys):
        return (gys[0] * self.mask,)


class Doubled(chainer.Function):
    """An old-style function that keeps its output."""

    def forward(self, inputs):
        self.retain_inputs(())
        self.retain_outputs((0,))
        return (np.tanh(inputs[0]) * 2,)

    def backward(self, inputs, gys):
        return (gys[0] * (2 - self.output_data[0] ** 2 / 2),)


class Kept(chainer.Function):
    """An old-style function that overrides ``forward_cpu`` and keeps something on itself."""

    def forward_cpu(self, inputs):
        self.y = np.sin(inputs[0])
        return (self.y,)

    def backward_cpu(self, inputs, gys):
        return (gys[0] * np.cos(inputs[0]),)


class Applied(chainer.FunctionNode):
    """Has a callable and a number in attributes."""

    def __init__(self, f, k):
        self.f, self.k = f, k

    def forward(self, inputs):
        return (self.f(inputs[0]) * np.float32(self.k),)

    def backward(self, indexes, gys):
        return (gys[0] * self.k,)


@chainer.static_code
def noisy(a):
    return a * 0.1 + np.random.rand(*a.shape).astype("f")


def steps(model, v):
    """A generator of Variables."""
    for _ in range(2):
        v = F.tanh(model.a(v))
        yield v


def in_a_thread(work):
    """Run ``work`` in another thread, and wait for it."""
    found = []

    def body():
        try:
            found.append((work(), None))
        except Exception as e:
            found.append((None, e))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    value, error = found[0]
    if error is not None:
        raise error
    return value


# -- Statements: {o} is the new value, {a} and {b} are earlier ones, {n} is a small number ------

PURE = """
{o} = F.relu({a})
{o} = F.tanh({a})
{o} = F.sigmoid({a}) * {b}
{o} = F.softplus({a})
{o} = F.leaky_relu({a}, 0.{n})
{o} = F.clip({a}, -1.0, 1.0)
{o} = F.tanh({a}) ** 2
{o} = -{a}
{o} = {a} * 0.{n} + {n}
{o} = {n} - {a}
{o} = 1 / (abs({a}) + 1.5)
{o} = F.log_softmax({a})
{o} = F.softmax({a}) * {b}
{o} = F.reshape(F.reshape({a}, (-1,)) * 2, {a}.shape)
{o} = F.transpose(F.tanh(F.transpose({a})))
{o} = {a} - F.broadcast_to(F.mean({a}, axis=0, keepdims=True), {a}.shape)
{o} = {a} * F.broadcast_to(F.sum({a}, axis=1, keepdims=True), {a}.shape) * 0.1
{o} = F.matmul(F.matmul({a}, {b}, transb=True), {a}) * 0.05
{o} = F.matmul(F.transpose({a}), F.matmul({b}, F.transpose({a}))).T * 0.05
{o} = F.concat([{a}[:, 2:], {b}[:, :2]], axis=1)
{o} = F.stack([{a}[-1], *[{b}[k] for k in range(len({b}) - 1)]])
{o} = {a}[::-1] * 1.5
{o} = {a}[np.arange(len({a}))[::-1]]
{o} = F.maximum({a}, F.tanh({b}) * 2)
{o} = F.where(np.arange({a}.size).reshape({a}.shape) % 3 > 0, {a}, {b} * {a})
{o} = F.cast(F.cast({a}, 'd') * 1.1, 'f')
{o} = F.squeeze(F.expand_dims({a}, 1) * 0.7, 1)
{o} = {a} + {b}
{o} = {a} - {b}
{o} = F.tanh({a}) * {b}
{o} = {a} / (abs({b}) + 1)
{o} = F.concat([F.split_axis({a}, 2, 1)[0], F.split_axis({b}, 2, 1)[1]], axis=1)
{o} = F.concat([F.split_axis({a}, 4, 1)[k] for k in (3, 1, 1, 0)]) * {b}
{o} = F.scale({a}, F.mean({b}, axis=0), 1)
{o} = F.tanh(self.a({a}))
{o} = F.sigmoid(self.b({a})) + {b}
{o} = self.ln({a})
{o} = F.linear({a}, F.normalize(self.p))
{o} = {a} + F.linear({b}, self.a.W)
{o} = self.inner({a}) + {b}
{o} = self.lstm(None, None, [{a}])[2][0] * {b}
{o} = {a} + F.sum(self.lstm(None, None, [{a}[:1], {b}, {b}[1:], {a}[:2]])[1][0], axis=0)
{o} = F.concat(self.gru(None, [{a}, {b}[:1 + {n} % 2]])[1], axis=0)[:len({a})] + {b}
{o} = {a} + F.crf1d(self.p, [{a}, {b}, {b}[1:]], [self.labels[k:len({a})] for k in (0, 0, 1)]) * 0.1
{o} = F.tanh(D.Independent(D.Normal({a}, F.exp(self.table))).log_prob({b}))[:, None] + {a}
{o} = chainer.kl_divergence(D.Normal({a}, F.exp(self.table)), D.Normal({b}, F.exp(self.p[0]))) * 0.1
{o} = D.Bernoulli(logit={a}).log_prob(np.float32({n} % 2)) + {b}
{o} = self.child({a})
{o} = self.child(self.child({a})) * {b}
{o} = {a} + self.table
{o} = ({a} * self.table) ** 2 + {b}
{o} = F.scale({a}, self.table, 1) * {b}
{o} = F.select_item({a}, self.labels[:len({a})])[:, None] * {b}
{o} = {b} + F.softmax_cross_entropy({a}, self.labels[:len({a})], reduce='no')[:, None]
{o} = {a} + F.embed_id(self.labels[:len({a})], self.p)
{o} = {a}[:, self.order] * {b}
{o} = {a}[np.arange(len({a})), self.labels[:len({a})]][:, None] + {b}
{o} = F.permutate({a}, self.order, axis=1) * 0.9
{o} = F.where(self.mask[:len({a})], {a}, {b} * 2)
{o} = F.fixed_batch_normalization({a}, self.table, self.table, self.mean, abs(self.table) + 1)
{o} = {a} * self.k
{o} = self.k - {a} / (abs(self.k) + 1)
{o} = F.leaky_relu({a}, 0.1 * abs(self.k))
{o} = F.tanh({a}) if self.flag else F.relu({b})
{o} = {a} + np.zeros((len({a}), 4), 'f')
{o} = {a} * ({a}.array > 0) + np.tanh({b}.array) * 0.5
{o} = chainer.Variable({a}.array * 2) * {b}
{o} = {a} * {b}.array
{o} = F.exp(-{a} * {a}) * {a}.array + {b}.data
{o} = chainer.Variable({a}.array) * {b} + {a}
{o} = F.tanh(chainer.Variable({a}.array, requires_grad=False)) + {a} * {b}
{o} = {a} + F.sigmoid({b}).array * {b}
{o} = {a} * np.eye(4, dtype='f')[np.argmax({a}.array, axis=1)]
{o} = {a}[:, np.argsort({b}.array[0])]
{o} = ({a}.array > 0).astype('f') * {b}
{o} = {a} * float({b}.array[0, {n} % 4])
{o} = {a} * round({b}.array.mean(), 1)
{o} = {a} + {b}.array.sum() * 0.1
{o} = {a} * [1.0, 2.0, 0.5, -1.0][{b}.array[0].argmax()]
{o} = F.relu({a}) if {b}.array.sum() > 0 else F.tanh({b})
{o} = {a} + Box(h={b}).h
{o} = F.sin({a}) if isinstance({a}.array.sum(), np.floating) else {b}
{o} = F.select_item({a}, {b}.array.argmax(axis=1))[:, None] * {b}
{o} = Doubled()({a})
{o} = Kept()({a})
{o} = F.broadcast_to(F.sum({a}) * 0.1, {b}.shape) + {b}
{o} = {a} * F.exp(F.max({b}, axis=1, keepdims=True) * -0.3)
{o} = {a} @ self.p
{o} = F.swish({a}, np.ones(4, 'f'))
{o} = F.minimum({a}, {b}) * {n}
{o} = {a} * np.float64(0.{n})
{o} = F.elu({a}) + F.hard_sigmoid({b})
{o} = F.gather({a}, {b}) if hasattr(F, 'gather') else {a}
---
buffer = np.ones({a}.shape, 'f')
{o} = {a} * buffer
buffer *= 3
{o} = {o} + buffer
---
s = {a}.array.sum()
t = s
s += 1
{o} = {b} * (t / (abs(t) + 1))
---
onehot = np.zeros({a}.shape, 'f')
onehot[np.arange(len({a})), {a}.array.argmax(axis=1)] = 1
{o} = {b} * onehot
---
table = np.zeros({a}.shape, 'f')
for i, row in enumerate({a}.array):
    table[i] = row[::-1]
{o} = {b} + table
---
index = np.array([0, len({a}) - 1])
{o} = {b} + F.sum({a}[index], axis=0)
index[:] = 0
---
{o} = {a}
for _ in range(1 + {n} % 3):
    {o} = F.tanh({o}) + {b} * 0.5
---
{o} = {a}
while 5 < float(F.sum({o} * {o}).array) < 1e30:
    {o} = {o} * 0.6
---
(g,) = chainer.grad([F.sum(F.tanh({a}) ** 3)], [{a}], enable_double_backprop=True)
{o} = {b} if g is None else g + {b}
---
with chainer.no_backprop_mode():
    {o} = F.tanh({a})
{o} = {o} * {b}
---
x_hat = {a}.array - {a}.array.mean(axis=0)
x_hat /= np.sqrt((x_hat ** 2).mean(axis=0) + 1)
{o} = {b} * x_hat
---
h = {a}
f = lambda: h * 2
h = F.tanh({b})
{o} = f() + h
---
k = {{0: 1.0, 1: 2.0, 2: 0.5}}.get({a}.array[0].argmax(), 0.25)
{o} = {b} * k
---
{o} = in_a_thread(lambda: F.tanh({a}) + {b})
---
values = {a}.array.copy()
values.shape = (-1,)
values[::2] = {n}
{o} = {b} * values.reshape({b}.shape)
---
{o} = sum([{a}, {b}, {a} * {b}])
F.exp({o})
---
{o} = copy.copy({a}) + {b}
---
{o} = F.forget(lambda u: F.tanh(u) * 2, {a})
---
parts = list(steps(self, {a}))
{o} = parts[0] + parts[1] * {b}
"""

WILD = """
{o} = F.dropout({a}, 0.4)
{o} = D.Normal({a}, log_scale=F.tanh({b})).sample() * 0.5
{o} = F.dropout({a}, 0.3) + F.dropout({b}, 0.3)
{o} = F.zoneout({a}, {b}, 0.5)
{o} = F.gaussian({a}, {b})
{o} = self.bn({a})
{o} = self.bn({a}) + self.bn({b})
{o} = {a} + np.random.randn(*{a}.shape).astype('f')
{o} = {a} * float(np.random.rand())
{o} = {a} + self.rng.rand(4).astype('f')
{o} = F.relu({a}) if np.random.rand() < 0.5 else F.tanh({b})
{o} = {a} * noisy({a}.array)
{o} = {a} * (next(self.count) % 3)
{o} = F.tanh({a}) if next(self.count) % 3 else F.sigmoid({b})
{o} = Applied(lambda a: a + 1, self.k)({a}) if False else Applied(np.sin, self.k).apply(({a},))[0]
{o} = Applied(lambda a: a * np.float32(self.k), 1).apply(({a},))[0]
{o} = F.forget(lambda u: F.dropout(F.tanh(u), 0.4), {a})
{o} = F.dropout({a}, min(0.9, 0.05 * self.n))
{o} = {a} ** 2 if self.n % 2 else {b}
{o} = copy.deepcopy({a}) + {b}
---
self.kept{n} = {a}
{o} = F.tanh({a}) + {b}
---
self.kept{n} = F.sigmoid({a})
{o} = self.kept{n} * {b}
---
self.box.h = F.tanh({a})
{o} = self.box.h + {b}
---
self.cache['h'] = {a}
self.cache[{n}] = {b} * 2
{o} = self.cache['h'] + self.cache[{n}]
---
self.log.append({a})
{o} = F.exp(-abs({a})) + {b}
---
{o} = {a} if self.state is None else {a} + F.broadcast_to(F.mean(self.state, axis=0), {a}.shape)
self.state = F.tanh({o})
---
{o} = {a} + self.running
self.running += 0.1 * {b}.array.mean(axis=0)
---
self.running = self.running * 0.9 + {a}.array[0]
{o} = {b} * self.running
---
self.n += 1
{o} = {a} * (1.0 / self.n)
---
self.n += 1
{o} = {a}
---
self.numbers.append(float({a}.array.mean()))
{o} = {b} * 0.9
---
self.numbers.append(({a}.array > 0).sum())
{o} = F.relu({a})
---
{o}, mask = F.dropout({a}, 0.3, return_mask=True)
{o} = {o} if mask is None else {o} * mask
---
func = Masked()
({o},) = func.apply(({a},))
{o} = {o} + func.mask * 0.5
---
with chainer.using_config('train', not chainer.config.train):
    {o} = F.dropout(self.bn({a})) + {b}
---
with chainer.using_config('enable_backprop', bool(self.n % 2)):
    {o} = F.sigmoid({a})
{o} = {o} + {b}
---
chainer.report({{'v': F.mean({a}), 'n': {n}}}, self)
{o} = {b} + 1
---
{o} = {a}
if next(self.count) % 4 == 2:
    raise KeyError('mine', {n})
---
try:
    {o} = {a} + F.sum(F.inv(np.eye(3, dtype='f') * float(next(self.count) % 3)))
except ValueError:
    {o} = {a} * 2
---
try:
    {o} = {a} + {b}[:, np.array([next(self.count) % 6])]
except IndexError:
    {o} = {a} * 3
---
{o} = {a} + {b}[:, np.array([next(self.count) % 6])]
try:
    {o} = {o} * float(F.mean({o}).array)
except IndexError:
    {o} = {a} * 3
---
{o} = {b}
with contextlib.suppress(IndexError):
    {o} = {a} + {b}[:, np.array([next(self.count) % 6])]
---
try:
    if next(self.count) % 3 == 1:
        raise ValueError
    {o} = self.bn({a})
except ValueError:
    {o} = F.tanh({b})
finally:
    self.n += 1
---
self.a.W.array *= 0.99
{o} = self.a({a})
---
{o} = self.a({a})
self.a.W.array[...] *= 0.98
{o} = self.a({o}) + {b}
---
{o} = self.b({a})
self.b.W.array = self.b.W.array * 0.97
{o} = self.b({o})
---
{o} = self.bn({a})
self.numbers.append(float(self.bn.avg_mean.sum()))
---
self.kept = self.bn.avg_mean
{o} = self.bn({a}) + {b}
---
{o} = self.bn({a}) * float(self.kept.sum())
---
with chainer.using_config('train', not chainer.config.train):
    {o} = self.bn({a}) + {b}
self.kept[:2] *= 0.5
{o} = self.bn({o})
---
self.kept = (self.kept if self.n % 2 else self.bn.avg_mean)[::-1]
{o} = self.bn({a} + self.kept)
{o} = {o} * self.kept
---
{o} = F.batch_normalization({a}, self.one, self.mean, running_mean=self.kept, running_var=self.one)
---
{o} = F.fixed_batch_normalization({a}, self.table, self.mean, self.kept, self.one)
{o} = F.batch_normalization({o}, self.p[0], self.p[1], running_mean=self.kept, running_var=self.one)
self.numbers.append(float(self.kept.sum()))
---
{o} = F.tanh({a}) * {b}
{a}.array[...] = 0.{n}
---
values = {a}.array
{o} = F.sigmoid({a}) + {b}
values[::2] *= -0.5
{o} = {o} + {a}
---
{o} = F.exp(-{a} * {a}) + {b}
{a}.array[{b}.array > 0] = 0.{n}
{o} = {o} * {a}
---
parts = F.split_axis({a}, 2, 1)
{o} = F.concat([F.tanh(parts[1]), parts[0]]) + {b}
parts[{n} % 2].array[0] = {n}
---
np.random.seed({n})
{o} = F.dropout({a})
---
self.numbers.append(np.random.get_state()[2])
{o} = F.dropout({a}, 0.2) + {b}
---
self.text = f'{{{a}}} {{{b}.array.sum():.3f}}'
{o} = {b}
---
with chainer.function_hooks.TimerHook() as timer:
    {o} = F.tanh({a})
self.numbers.append(len(timer.call_history))
---
self.out.append({a})
{o} = {b} * 2
---
{a}.unchain()
{o} = F.tanh({a}) + {b}
---
F.sum(F.tanh({a})).backward()
{o} = {b}
---
type(self).total += 1
{o} = {a} * type(self).total
---
if not hasattr(self, 'late'):
    with self.init_scope():
        self.late = L.Linear(None, 4)
{o} = self.late({a})
---
{o} = {a}
del {o}
{o} = F.relu({b})
gc.collect()
"""

RESULTS = """
{p}
{p}
({p}, {q})
[{p}, {q}, {r}]
{{'p': {p}, 'q': [{q}]}}
Box({p}, inner=Box(h={q}))
collections.deque([{p}, {q}])
np.array([{p}, None, {q}], object)[:1] if False else objects({p}, {q})
(lambda: {p} * {q})
functools.partial(F.leaky_relu, {p})
(h * 2 for h in ({p}, {q}))
(F.sum({p}), {q}.array, float({r}.array[0, 0]))
(x, {p}, x.array)
Pair({p}, {q})
self.cache.update(p={p}) or self.cache
({p}, {q}.array.sum(), {q}.array.shape)
F.mean({p})
"""


def _parts(text):
    """One-line statements, and blocks after lines of dashes."""
    first, *blocks = text.strip("\n").split("---\n")
    return first.splitlines() + [b.rstrip("\n") for b in blocks]


PURE, WILD, RESULTS = _parts(PURE), _parts(WILD), _parts(RESULTS)
Pair = collections.namedtuple("Pair", "p q")


def objects(*values):
    """An array of objects."""
    found = np.empty(len(values), object)
    for k, value in enumerate(values):
        found[k] = value
    return found


# -- Steps ------


class Program(Base):
    """The chain of a program: state for its statements, and the actions of its steps."""

    decorate = ("forward",)
    actions = ("plain",)
    changes = ()
    total = 0

    class Child(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = L.Linear(4, 4)

        def forward(self, v):
            return F.tanh(self.a(v))

    def __init__(self):
        super().__init__()
        # Classes of their own, since their methods may be decorated.
        with self.init_scope():
            self.ln = L.LayerNormalization(4)
            self.lstm, self.gru = L.NStepLSTM(1, 4, 4, 0.0), L.NStepBiGRU(1, 4, 2, 0.0)
            self.p = chainer.Parameter(np.linspace(-1, 1, 16, dtype="f").reshape(4, 4))
            self.child = self.Child()
        self.k, self.flag, self.n, self.table = 1.5, True, 0, np.ones(4, "f")
        self.count, self.rng, self.running = itertools.count(), np.random.RandomState(2), 0
        self.running, self.mean = np.zeros(4, "f"), np.linspace(0, 1, 4, dtype="f")
        self.labels, self.order = np.array([1, 0, 3], "i"), np.arange(4)
        self.mask, self.kept, self.one = np.eye(3, 4) > 0, np.zeros(4, "f"), np.ones(4, "f")
        self.box, self.cache, self.log, self.numbers, self.state = Box(), {}, [], [], None
        self.out, self.waiting, self.text = [], None, ""
        optimizer = chainer.optimizers.MomentumSGD(0.01).setup(self)
        self.update = lambda *args: optimizer.update(*args)

    def inner(self, v):
        return F.sigmoid(self.b(v)) * v

    def step(self, k):
        for when, change in self.changes:
            if when == k:
                CHANGES[change](self, k)
        self.out, self.log, self.numbers = [], self.log[-1:], self.numbers[-3:]
        self.turns = 1 + 5 * k % 8
        return ACTIONS[self.actions[k % len(self.actions)]](self, k)

    def close(self):
        """Break cycles."""
        self.update = None


def inputs(k):
    """Two arguments; now and then with another batch size, once with other strides."""
    n = _sizes[k % len(_sizes)]
    x, z = variable(k, n, 4), variable(k + 500, n, 4)
    if k == 8:
        z = chainer.Variable(np.asfortranarray(z.array))
    return x, z


_sizes = _USUAL = (3, 3, 3, 3, 2, 3, 3)


def use_sizes(sizes=SIZES):
    """From now on, calls have batches of these sizes."""
    global _sizes
    _sizes = sizes


def resolve(y):
    """Call what is to be called."""
    if isinstance(y, collections.abc.Generator):
        return list(y)
    return y() if callable(y) and not isinstance(y, (chainer.Variable, Box)) else y


def back(loss, **options):
    if isinstance(loss, chainer.Variable) and loss.creator_node is not None:
        loss.backward(**options)


def kept(model):
    """Variables that the chain holds."""
    names = [f"kept{k}" for k in range(10)] + ["box", "cache", "state", "log"]
    return variables_in([model.__dict__.get(n) for n in names])


def first(y, x):
    """A Variable of a result that can be an argument."""
    fitting = [v for v in variables_in(y) if v.shape == x.shape and v.dtype == x.dtype]
    return fitting[0] if fitting else x


ACTIONS, CHANGES = {}, {}


def action(f):
    ACTIONS[f.__name__] = f
    return f


def change(f):
    CHANGES[f.__name__] = f
    return f


@action
def plain(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    back(total(y))
    return y, x, z


@action
def train(self, k):
    found = plain(self, k)
    self.update()
    return found


@action
def evaluate(self, k):
    x, z = inputs(k)
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        y = resolve(self(x, z))
    return y, x, z


@action
def test_mode(self, k):
    with chainer.using_config("train", False):
        return plain(self, k)


@action
def two_calls(self, k):
    x, z = inputs(k)
    y, w = resolve(self(x, z)), resolve(self(z * 0.5, x))
    back(total([y, w]) * 0.5 + total([y]))
    return y, w, x, z


@action
def chained(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    w = resolve(self(first(y, x), z))
    back(total(w))
    return y, w, x, z


@action
def double(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    return _double(total(y), x, z), y, x, z


@action
def double_chained(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    w = resolve(self(F.sin(first(y, x)), z))
    return _double(total([y, w]), x, z), w, x, z


def _double(loss, x, z):
    if not isinstance(loss, chainer.Variable):
        return None
    grads = chainer.grad([loss], [x, z], enable_double_backprop=True)
    found = sum((F.sum(g * g) for g in grads if g is not None), loss)
    back(found)
    return grads


@action
def double_backward(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    back(total(y), enable_double_backprop=True)
    g = x.grad_var
    if g is not None:
        x.cleargrad()
        back(F.sum(g * g))
    return y, x, z


@action
def grads_of_kept(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    loss, held = total(y), kept(self)
    grads = None
    if isinstance(loss, chainer.Variable) and held:
        grads = chainer.grad([loss], [*held, x, self.a.W])
    back(loss)
    return y, grads, held, x, z


@action
def unchain_kept(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    loss, held = total(y), kept(self)
    for v in held[k % 2 :: 2]:
        v.unchain()
    back(loss)
    return y, held, x, z


@action
def unchain_backward_of_kept(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    loss, held = total(y), kept(self)
    for v in held[k % 2 :: 3]:
        v.unchain_backward()
    back(loss)
    return y, held, x, z


@action
def unchain_a_result(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    found = variables_in(y)
    if found:
        found[k % len(found)].unchain()
    back(total(y))
    return y, x, z


@action
def retain(self, k):
    x, z = inputs(k)
    h = F.sin(x)
    y = resolve(self(h, z))
    loss = total([y, kept(self)])
    back(loss, retain_grad=True)
    return y, h, kept(self), x, z


@action
def updated_before_backward(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    for j, (_, p) in enumerate(sorted(self.namedparams())):
        if p.array is None:
            continue
        if j % 2:
            p.array = p.array * np.float32(1.1)
        else:
            p.array[...] *= 0.9
    back(total(y))
    return y, x, z


def write_arrays(self, k):
    rng = np.random.RandomState(k)
    self.labels[...] = rng.randint(0, 4, 3)
    self.order[...] = rng.permutation(4)
    self.mask[...] = rng.rand(3, 4) > 0.5
    self.table[...] = rng.rand(4) + 0.5
    self.mean[...] = rng.rand(4)


@action
def arrays_written_before_backward(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    write_arrays(self, k)
    self.bn.avg_mean[...] += 0.1
    back(total(y))
    return y, x, z


@action
def arrays_written_between_calls(self, k):
    x, z = inputs(k)
    y = resolve(self(x, z))
    write_arrays(self, k)
    w = resolve(self(z, x))
    z.array[...] *= 0.5
    write_arrays(self, k + 1)
    back(total([y, w]))
    return y, w, x, z


@action
def recurrent(self, k):
    """Backward after each third call, through all of them."""
    x, z = inputs(k)
    y = resolve(self(x, z))
    self.waiting = total(y) if self.waiting is None else self.waiting + total(y)
    if k % 3 == 2 and isinstance(self.waiting, chainer.Variable):
        back(self.waiting)
        self.waiting.unchain_backward()
        self.waiting = None
    return y, x, z


@action
def late(self, k):
    """The backward of a call comes after the next call."""
    x, z = inputs(k)
    y = resolve(self(x, z))
    waiting, self.waiting = self.waiting, total(y)
    if waiting is not None:
        back(waiting)
    return y, x, z


@action
def in_thread(self, k):
    return in_a_thread(lambda: plain(self, k))


@action
def hooked(self, k):
    class Seen(chainer.FunctionHook):
        name = "seen"

        def __init__(self):
            self.log = []

        def forward_postprocess(self, function, in_data):
            self.log.append(function.label)

        def backward_postprocess(self, function, in_data, out_grad):
            self.log.append((function.label, len(in_data)))

    with Seen() as seen:
        return plain(self, k), seen.log


@action
def written_results(self, k):
    """The caller writes into results and arguments."""
    x, z = inputs(k)
    y = resolve(self(x, z))
    loss = total(y)
    for v in variables_in(y):
        if v.array.flags.writeable:
            v.array[...] *= 2
    z.array[...] += 1
    back(loss)
    return y, x, z


@action
def one_argument(self, k):
    x, _ = inputs(k)
    y = resolve(self(x, x))
    back(total(y))
    return y, x


@action
def raw_arguments(self, k):
    x, z = inputs(k)
    y = resolve(self(x, chainer.Variable(z.array, requires_grad=False)))
    back(total(y))
    return y, x, z


@action
def given_gradients(self, k):
    x, z = inputs(k)
    found = variables_in(resolve(self(x, z)))
    found = [v for v in found if v.dtype.kind == "f"]
    given = [chainer.Variable(np.full(v.shape, 0.5, v.dtype)) for v in found]
    return chainer.grad(found, [x, self.a.W, self.p], given) if found else None, x, z


@action
def dropped(self, k):
    x, z = inputs(k)
    self(x, z)
    return x, z


@action
def copied(self, k):
    x, z = inputs(k)
    y, w = resolve(self(x, z)), resolve(self.copy("copy" if k % 2 else "init")(x, z))
    back(total([y, w]))
    return y, w, x, z


@action
def with_a_graph(self, k):
    """Arguments that come from functions, and results that go on, used several times."""
    x, z = inputs(k)
    h, g = F.sin(x), F.exp(-z * z)
    y = resolve(self(h, g))
    back(total(y) + F.sum(h * g) + F.sum(F.tanh(first(y, x)) * first(y, x)))
    return y, x, z


@action
def optimized(self, k):
    """The optimizer calls the method itself."""
    x, z = inputs(k)
    found = []

    def loss(*arguments):
        found.append(total(resolve(self(*arguments))))
        depends = isinstance(found[0], chainer.Variable) and found[0].requires_grad
        return found[0] if depends and k % 4 != 1 else F.sum(self.p)

    if k % 3:
        self.update(loss, x, z)
    else:
        self.cleargrads()
        back(loss(x, z))
        self.update()
    return found[0], x, z


@action
def concurrent(self, k):
    """Four threads at once; for methods that change nothing."""
    together, found, errors = threading.Barrier(4), [None] * 4, []

    def body(i):
        try:
            together.wait()
            for j in range(3):
                x, z = variable(k + i, 2 + (i + j) % 2, 4), variable(k + 50 * j, 2 + (i + j) % 2, 4)
                y = resolve(self(x, z))
                grads = chainer.grad([total(y)], [x, z]) if variables_in(y) else None
                found[i] = y, grads
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return found


@action
def often(self, k):
    """So many calls that they go without their Python, and a change on the way."""
    x, z = inputs(k)
    found, names = [], sorted(CHANGES)
    for j in range(OFTEN):
        if j == OFTEN - 4 and k > 1:
            CHANGES[names[(k * 7 + j) % len(names)]](self, j)
        found.append(resolve(self(x, z)))
        back(total(found[-1]))
        if k % 3 == 0:
            self.update()
    return found[-6:], x, z


@change
def flag(self, k):
    self.flag = not self.flag


@change
def number(self, k):
    self.k = [2.5, 2, True, np.float32(0.5), -0.0, 1.5, 0.25][k % 7]


@change
def array(self, k):
    self.table += 1


@change
def arrays(self, k):
    write_arrays(self, k)


@change
def other_array(self, k):
    self.table = self.table * 2


@change
def parameter(self, k):
    self.a.W.array = self.a.W.array[::-1].copy()


@change
def shared_parameter(self, k):
    self.b.W = self.a.W


@change
def method(self, k):
    self.inner = lambda v: F.tanh(v) * 2


@change
def method_of_the_child(self, k):
    self.child.forward = lambda v: F.relu(v)


@change
def frozen(self, k):
    self.a.disable_update()


@change
def state_reset(self, k):
    self.state = None


@change
def state_unchained(self, k):
    if self.state is not None:
        self.state.unchain_backward()


# -- Recipes ------

HEAD = """
import collections, copy, functools, gc, itertools
import numpy as np
import chainer, chainer.distributions as D, chainer.functions as F, chainer.links as L
from random_programs import *
from trust import Box, check
"""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a random program is made of."""

    seed: int
    statements: tuple
    result: str
    actions: tuple
    changes: tuple
    decorate: tuple
    large: bool = False  # checked as programs are whose intermediate values take much memory
    phrases: bool = False  # with programs of phrases alone
    sizes: bool = False  # with batches of many sizes
    turns: bool = False  # in a loop, whose turns are calls of their own
    waits: bool = False  # with programs that wait for the first gradients, as the most do

    @property
    def calls(self):
        return len(SIZES) if self.sizes else CALLS

    def method(self):
        lines = ["def make():", "    class Model(Program):"]
        lines += [f"        decorate = {self.decorate!r}", f"        actions = {self.actions!r}"]
        if self.changes:
            lines.append(f"        changes = {self.changes!r}")
        lines += [
            "",
            "        class Child(Program.Child):",
            "            def forward(self, v):",
            "                return super().forward(v)",
            "",
            "        def inner(self, v):",
            "            return super().inner(v)",
            "",
            "        def forward(self, x, z):",
            "            v0, v1 = x, z",
        ]
        lines += ["            " + line for line in self._body()]
        return "\n".join([*lines, "", "    return Model"])

    def _body(self):
        """The method's lines; values that are only other names of values are left out."""
        names, blocks = {}, []

        def named(text):
            return re.sub(r"\bv\d+\b", lambda m: names.get(m[0], m[0]), text)

        for k, text in enumerate(self.statements, 2):
            if re.fullmatch(rf"v{k} = v\d+", text):
                names[f"v{k}"] = named(text.split(" = ")[1])
            else:
                blocks.append(named(text).splitlines())
        if self.turns:
            blocks = self._in_a_loop(blocks)
        return [*itertools.chain(*blocks), f"return {named(self.result)}"]

    def _in_a_loop(self, blocks):
        """Some of the statements, or all, in a loop over the turns."""
        n, kind = len(blocks), self.seed // 12 % 4
        first, last = (0, n) if kind < 2 else (n // 4, n - n // 4)
        before, inside, behind = blocks[:first], blocks[first:last], blocks[last:]
        made = re.findall(r"^(v\d+) =", "\n".join(itertools.chain(*inside)), re.MULTILINE)
        # Rows that lie as far apart as there are turns.
        rows = "v0 = F.stack([v0] * (turns + 1), axis=1)[:, turns]"
        loop = ["for turn in range(turns):"]
        if kind == 3:
            loop = ["turn = -1", "while turn + 1 < turns:", "    turn += 1"]
        elif made and behind:
            loop.insert(0, " = ".join([*made, "v0"]))  # they have values, whatever the loop does
        inside = [*inside, [f"v0, v1 = F.tanh({(made or ['v1'])[-1]}) * (1 + 0.1 * turn), v0"]]
        loop += [f"    {line}" for line in itertools.chain(*inside)]
        return [["turns = self.turns"], [rows], *before, loop, *behind]

    def source(self):
        """A script that shows the program and checks it."""
        where = "PYTHONPATH=tests/chainer_api/graph_optimizations"
        head = f"# seed {self.seed}; run it with {where}\n{HEAD.strip()}\n\n\n"
        large = (
            "chainer.graph_optimizations._piece._LARGE = -1\n"
            "chainwright.runtime.arenas.LARGE = 1\n"
        )
        waits = "chainer.graph_optimizations._piece.Piece.may_wait = True\n"
        before = "".join([
            text for text, wanted in (
                (large, self.large), ("use_sizes()\n", self.sizes), (waits, self.waits)) if wanted])
        check = f"{before}check(make, {self.calls})"
        return f"{head}{self.method()}\n\n\n{check}\n"

    def make(self):
        """The class of the program, a new one each time."""
        name = f"<random program {self.seed}>"
        text, space = HEAD + self.method(), {"__name__": name}
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), space)
        return space["make"]()

    def run(self, compiled, after=None):
        try:
            if self.large:
                _piece._LARGE, arenas.LARGE = -1, 1
            if self.sizes:
                use_sizes()
            _piece.Piece.may_wait = self.waits
            kinds = (only_phrases, self.phrases), (open_loops, self.turns)
            special = [kind for kind, wanted in kinds if wanted and compiled]
            with special[0]() if special else contextlib.nullcontext():
                return run(self.make, compiled, self.calls, after)
        finally:
            _piece._LARGE, arenas.LARGE = _LARGE
            _piece.Piece.may_wait = None
            use_sizes(_USUAL)
            linecache.cache.pop(f"<random program {self.seed}>", None)

    def differs(self, after=None):
        """What the decorated program does otherwise, or None; it is compiled whatever it costs.

        What a check has found counts, too, although define-by-run's numbers have come out.
        """
        chainer.global_config.static_budget = None
        expected = self.run(False)
        with warnings_heard() as log:
            told = difference(expected, self.run(True, after))
        if told is None and log:
            return f"the log says: {log[0]}"
        if told is not None and (not_twice := difference(expected, self.run(False))) is not None:
            return f"the program is none: {not_twice}"
        return told

    def shrink(self, tries=120, fails=None):
        """The smallest recipe found that still fails."""
        fails = fails or (lambda r: r.differs() is not None)
        best, again = self, True
        while again:
            again = False
            for smaller in best.smaller():
                tries -= 1
                if tries < 0:
                    return best
                if _fails(smaller, fails):
                    best, again = smaller, True
                    break
        return best

    def smaller(self):
        """Recipes with one thing less."""
        if len(set(self.actions)) > 1:
            for a in sorted(set(self.actions)):
                yield dataclasses.replace(self, actions=(a,))
        if self.changes:
            yield dataclasses.replace(self, changes=self.changes[1:])
            yield dataclasses.replace(self, changes=self.changes[:-1])
        for k in reversed(range(1, len(self.decorate))):
            yield dataclasses.replace(self, decorate=self.decorate[:k] + self.decorate[k + 1 :])
        for k in reversed(range(len(self.statements))):
            for text in (f"v{k + 2} = v{k + 1}", f"v{k + 2} = v0"):
                if self.statements[k] in (f"v{k + 2} = v{k + 1}", f"v{k + 2} = v0"):
                    continue
                kept = self.statements[:k] + (text,) + self.statements[k + 1 :]
                yield dataclasses.replace(self, statements=kept)
        if self.statements and self.result != f"v{len(self.statements) + 1}":
            yield dataclasses.replace(self, result=f"v{len(self.statements) + 1}")


def _fails(recipe, fails):
    try:
        return fails(recipe)
    except Exception:
        return False


def program(seed):
    """The random program of a seed."""
    random = np.random.RandomState(seed)

    def some(values):
        return values[random.randint(len(values))]

    concurrent = seed % 12 == 11
    statements = []
    for k in range(2, 2 + random.randint(3, 13)):
        template = some(PURE if concurrent or random.rand() < 0.6 else WILD)
        a, b = (f"v{random.randint(max(0, k - 4), k)}" for _ in range(2))
        statements.append(template.format(o=f"v{k}", a=a, b=b, n=random.randint(1, 8)))
    names = [f"v{k}" for k in range(len(statements) + 2)]
    p, q, r = names[-1], some(names[len(names) // 2 :]), some(names)
    decorate = ["forward"]
    if random.rand() < 0.25:
        decorate.append("inner")
    if random.rand() < 0.25:
        decorate.append("Child.forward")
    # Threads that run at once may share nothing that the method changes.
    results = [text for text in RESULTS if not (concurrent and "self." in text)]
    return Recipe(
        seed,
        tuple(statements),
        some(results).format(p=p, q=q, r=r),
        ("concurrent",) if concurrent else _actions(random),
        _changes(random, concurrent),
        tuple(decorate),
        large=seed % 4 == 1,
        phrases=seed % 12 == 3,
        sizes=seed % 4 == 2,
        turns=seed % 12 == 7,
        waits=seed // 4 % 2 == 1,
    )


def _actions(random):
    """Mostly one kind of step, so that what it does settles, and others in between."""
    names = [n for n in ACTIONS if n != "concurrent"]
    kinds = [names[random.randint(len(names))] for _ in range(1 + random.randint(3))]
    main = "plain" if random.rand() < 0.3 else kinds[0]
    return tuple(
        main if k < 3 or random.rand() < 0.5 else kinds[random.randint(len(kinds))]
        for k in range(CALLS)
    )


def _changes(random, none):
    if none or random.rand() < 0.4:
        return ()
    names = sorted(CHANGES)
    return tuple(
        (int(random.randint(2, CALLS)), names[random.randint(len(names))])
        for _ in range(random.randint(1, 4))
    )
