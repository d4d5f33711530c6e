"""Several calls before one backward, as one program: all numbers are define-by-run's.

:mod:`test_late` has those of one decorated method, and what happens around single calls.
"""

import copy
import gc
import random
import threading
import warnings
import weakref

import numpy as np
import pytest
from trust import bits

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import _tracing
from chainer.graph_optimizations import _joined, _late, _proof
from chainwright.runtime.native import looks

pytestmark = pytest.mark.skipif(looks.comparison() is None, reason="another Python")
STEPS = 48


class Part(chainer.Chain):
    """A network of two layers; one of its weights is a large array."""

    def __init__(self, n, m, rate=0.0):
        super().__init__()
        self.rate = rate
        with self.init_scope():
            self.a, self.b = L.Linear(n, 68), L.Linear(68, m)

    def forward(self, x):
        h = F.tanh(self.a(x))
        return self.b(F.dropout(h, self.rate) if self.rate else h)


class Cell(chainer.Chain):
    """Its state is a Variable on the object."""

    def __init__(self):
        super().__init__()
        self.h = None
        with self.init_scope():
            self.a, self.b, self.c = L.Linear(4, 8), L.Linear(8, 8), L.Linear(8, 3)

    def forward(self, x):
        h = self.a(x)
        if self.h is not None:
            h = h + self.b(self.h)
        self.h = F.tanh(h)
        return self.c(self.h)


class Net(chainer.Chain):
    def __init__(self, rate=0.0):
        super().__init__()
        with self.init_scope():
            self.g, self.d = self.part(3, 4, rate), self.part(4, 1, rate)
            self.cell = self.recurrent()


def net(compiled, rate):
    """With decorated methods or without."""
    found = [
        type(cls.__name__, (cls,), {"forward": chainer.static_graph(cls.forward)})
        if compiled else cls for cls in (Part, Cell)]
    kinds = {"part": found[0], "recurrent": found[1]}
    return type("Net", (Net,), kinds)(rate)


def done(model, optimizers, *losses):
    """Gradients and an update for each loss."""
    for loss, optimizer in zip(losses, optimizers, strict=False):
        model.cleargrads()
        loss.backward()
        optimizer.update()
    return [loss.array.tobytes() for loss in losses]


def softplus_losses(fake, real):
    return F.mean(F.softplus(fake)) + F.mean(F.softplus(-real)), F.mean(F.softplus(-fake))


def gan(m, o, z, x, k):
    fake = m.g(z)
    return done(m, o[::-1], *softplus_losses(m.d(fake), m.d(x)))


def gan_with_what_is_held(m, o, z, x, k):
    fake = m.g(z)
    of_fake = m.d(fake)
    of_real = m.d(x)
    one, other = softplus_losses(of_fake, of_real)
    seen = done(m, o[::-1], one, other)
    return seen, fake.array.tobytes(), of_fake.array.tobytes(), fake.creator is not None


def gan_cut(m, o, z, x, k):
    """What comes in is no part of the graph."""
    with chainer.no_backprop_mode():
        fake = m.g(z)
    loss, _ = softplus_losses(m.d(fake), m.d(x))
    return done(m, o[1:], loss)


def gan_unchained(m, o, z, x, k):
    fake = m.g(z)
    if k % 3 == 0:
        fake.unchain_backward()
    elif k % 3 == 1:
        fake = chainer.Variable(fake.array)
    loss, _ = softplus_losses(m.d(fake), m.d(x))
    return done(m, o[1:], loss)


def penalty(m, o, z, x, k):
    """Gradients of the second network's result are differentiated."""
    fake = m.g(z)
    between = chainer.Variable(0.25 * x + 0.75)
    of_fake, of_real, of_between = m.d(fake), m.d(x), m.d(between)
    g, = chainer.grad([of_between], [between], enable_double_backprop=True)
    loss = softplus_losses(of_fake, of_real)[0] + F.mean(F.square(F.sum(F.square(g), axis=1) - 1))
    return done(m, o[1:], loss)


def autoencoder(m, o, z, x, k):
    mean, spread = F.split_axis(F.broadcast_to(m.d(x), (5, 6)), 2, 1)
    y = m.g(F.gaussian(mean, spread))
    loss = F.sum(F.square(y - x)) / 9 + F.gaussian_kl_divergence(mean, spread)
    return done(m, o, loss)


def contrast(m, o, z, x, k):
    """Three calls, of which some take the same."""
    y = m.g(z)
    same = m.g(z)
    other = m.g(z + 1 if k % 4 else z)
    return done(m, o, F.mean(F.relu(F.sum(F.square(y - same) - F.square(y - other), 1) + 0.3)))


def pending_results_twice(m, o, z, x, k):
    fake = m.g(z)
    return done(m, o[::-1], F.sum(m.d(fake) * m.d(fake) + m.d(fake + 1)))


def in_a_chain(m, o, z, x, k):
    fake = m.g(z)
    again = m.g(fake[:, 1:] + m.d(fake))
    return done(m, o, F.sum(F.square(m.d(again) - m.d(x))))


def numbers_of_calls(m, o, z, x, k):
    """Two to four calls, mostly three."""
    loss = 0
    for n in range(2 + (k % 11 == 3) if k % 5 == 4 else 3):
        loss += F.sum(F.square(m.d(x * (n + 1))))
    return done(m, o[1:], loss)


def recurrent(m, o, z, x, k):
    m.cell.h = None
    loss = 0
    for n in range(4):
        loss += F.mean(F.square(m.cell(x * (n + 1)) - z))
    return done(m, o, loss), m.cell.h.array.tobytes()


def recurrent_and_cut(m, o, z, x, k):
    loss = 0
    for n in range(3):
        loss += F.mean(F.square(m.cell(x * (n + 1)) - z))
    model, seen = m.cell, None
    if k % 4 == 1:
        seen = model.h.array.sum()
    elif k % 4 == 2:
        model.h.array[0] = 0.5
    found = done(m, o, loss)
    loss.unchain_backward()
    if k % 7 == 6:
        model.h = None
    elif k % 7 == 5:
        model.h = chainer.Variable(np.full((5, 8), 0.25, "f"))
    return seen, found


def written_in_between(m, o, z, x, k):
    y = m.d(x)
    if k % 6 == 0:
        x[...] = 0.5
    elif k % 6 == 1:
        m.d.b.W.array[...] *= 0.9
    elif k % 6 == 2:
        y.array[...] = 1
    again = m.d(x)
    if k % 6 == 3:
        x[1] = 2
    elif k % 6 == 4:
        m.d.a.W.array *= 0.75
    elif k % 6 == 5:
        m.d.b.b.array = m.d.b.b.array + 1
    return done(m, o[1:], F.sum(F.square(y - 2 * again + m.d(x + 1))))


def read_in_between(m, o, z, x, k):
    fake = m.g(z)
    seen = fake.array.tobytes() if k % 5 == 0 else None
    y = m.d(fake)
    if k % 5 == 1:
        seen = float(y.array.sum())
    elif k % 5 == 2:
        seen = m.g.b.W.array.tobytes()
    elif k % 5 == 3:
        seen = y.creator is None, y.rank, fake.rank
    return seen, done(m, o[::-1], *softplus_losses(y, m.d(x)))


def graphs_are_used(m, o, z, x, k):
    fake = m.g(z)
    y, real = m.d(fake), m.d(x)
    loss = F.sum(F.square(y) - real)
    if k % 4 == 0:
        seen = [g.array.tobytes() for g in chainer.grad([loss], [fake, y])]
    elif k % 4 == 1:
        loss.backward(retain_grad=True)
        seen = fake.grad.tobytes(), y.grad.tobytes()
    elif k % 4 == 2:
        y.unchain_backward()
        seen = None
    else:
        fake.grad = np.ones_like(fake.array)
        seen = fake.grad.tobytes()
    return seen, done(m, o, loss)


def configurations(m, o, z, x, k):
    fake = m.g(z)
    with chainer.using_config("train", k % 3 > 0):
        y = m.d(fake)
    with chainer.using_config("enable_backprop", k % 7 != 5):
        real = m.d(x)
    return done(m, o[::-1], *softplus_losses(y, real)), real.creator is None


def states_of_numpy(m, o, z, x, k):
    fake = m.g(z)
    with np.errstate(over="raise" if k % 3 == 1 else "ignore"):
        y = m.d(fake * (1e30 if k % 9 == 4 else 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error" if k % 4 == 2 else "ignore")
        real = m.d(x)
    return done(m, o[::-1], *softplus_losses(y, real))


class Watcher(chainer.FunctionHook):
    def __init__(self):
        self.seen = []

    def forward_preprocess(self, function, in_data):
        self.seen.append((function.label, in_data[0].tobytes()))


def hooks(m, o, z, x, k):
    fake, hook = m.g(z), Watcher()
    if k % 4 == 1:
        with hook:
            y = m.d(fake)
    else:
        y = m.d(fake)
    return hook.seen, done(m, o[::-1], *softplus_losses(y, m.d(x)))


def caught(m, o, z, x, k):
    """Calls come where exceptions would be caught, or are followed by some."""
    fake = m.g(z)
    try:
        y = m.d(fake if k % 5 else fake[:, 1:])
        if k % 5 == 1:
            raise LookupError
    except chainer.utils.type_check.InvalidType:
        return "shapes"
    except LookupError:
        y = m.d(fake + 1)
    return done(m, o[::-1], *softplus_losses(y, m.d(x)))


def links_change(m, o, z, x, k):
    fake = m.g(z)
    if k % 6 == 5:
        m.d.b = L.Linear(68, 1, initialW=0.1 * k)
        o[1].setup(m.d)
    elif k % 6 == 4:
        m.d.copyparams(copy.deepcopy(m.d))
    elif k % 6 == 3:
        m.d.b.W.array[...] = m.d.b.W.array * 0.5
    return done(m, o[::-1], *softplus_losses(m.d(fake), m.d(x)))


def other_objects(m, o, z, x, k):
    """The second call is one of a copy, or of what another object has at that name."""
    fake = m.g(z)
    d = copy.deepcopy(m.d) if k % 6 == 5 else m.d
    return done(m, o[::-1], *softplus_losses(d(fake), d(x)))


def threads(m, o, z, x, k):
    fake, found = m.g(z), []

    def look():
        found.append((m.d(x).array.tobytes(), fake.array.tobytes() if k % 4 == 2 else None))

    if k % 2:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    return found, done(m, o[::-1], *softplus_losses(m.d(fake), m.d(x)))


def kept_for_later(m, o, z, x, k):
    """Results of a step are used in the next one."""
    last = vars(m).setdefault("last", [])
    y = m.g(z)
    last.append(y)
    loss = F.sum(F.square(m.d(y)))
    if len(last) > 2:
        loss += F.sum(last.pop(0)) + F.sum(m.d(last[0]))
    return done(m, o, loss)


def updates_in_between(m, o, z, x, k):
    fake = m.g(z)
    y = m.d(fake)
    if k % 3 == 1:
        m.cleargrads()
        F.sum(y).backward()
        o[1].update()
    elif k % 3 == 2:
        o[1].update(lambda: F.sum(m.d(x)))
    return done(m, o[::-1], *softplus_losses(m.d(fake) + y, m.d(x)))


def keywords(m, o, z, x, k):
    fake = m.g(x=z) if k % 3 else m.g(z)
    return done(m, o[::-1], *softplus_losses(m.d.forward(fake), m.d(x=x)))


def other_lengths(m, o, z, x, k):
    n = 5 if k % 7 else 3
    fake = m.g(z[:n])
    return done(m, o[::-1], *softplus_losses(m.d(fake), m.d(x[:n] if k % 3 else x)))


def parts_of_arrays(m, o, z, x, k):
    """Views of one array are taken by several calls, and written in between."""
    y = m.d(x[:3])
    if k % 4 == 3:
        x[:, 0] = 1
    return done(m, o[1:], F.sum(F.square(y) * m.d(x[2:]) - m.d(x.T[:, :3].T)))


def results_are_not_used(m, o, z, x, k):
    m.d(x)
    fake = m.g(z)
    m.d(fake)
    return done(m, o, F.sum(F.square(fake)))


def labels(m, o, z, x, k):
    """Some are left out, some count from the end, and some are out of range."""
    t = np.array([0, 1, 255 if k % 3 else 2, 2, -1 if k % 4 else 1], "i")
    y = m.g(z)
    if k % 9 == 5:
        t[1] = 4
    elif k % 9 == 7:
        t[1] = -5
    try:
        loss = F.softmax_cross_entropy(y, t, ignore_label=255)
    except IndexError:
        return "left out", done(m, o, F.sum(y * m.g(z)))
    t[t == 255] = 3
    loss += F.mean(F.select_item(m.g(-z), t))
    if k % 9 == 8:
        t[0] = 7  # the gradient is that of what stands there
    return done(m, o, loss)


def evaluation(m, o, z, x, k):
    seen = gan(m, o, z, x, k)
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        fake = m.g(z)
        return seen, m.d(fake).array.tobytes(), m.d(x).array.tobytes()


CASES = [
    gan, gan_with_what_is_held, gan_cut, gan_unchained, penalty, autoencoder, contrast,
    pending_results_twice, in_a_chain, numbers_of_calls, recurrent, recurrent_and_cut,
    written_in_between, read_in_between, graphs_are_used, configurations, states_of_numpy, hooks,
    caught, links_change, other_objects, threads, kept_for_later, updates_in_between, keywords,
    other_lengths, parts_of_arrays, results_are_not_used, labels, evaluation,
]
#: Where a good part of the steps is to have calls that are computed with others.
_JOINED = {
    gan, gan_with_what_is_held, gan_cut, autoencoder, contrast, pending_results_twice, in_a_chain,
    recurrent, recurrent_and_cut, evaluation, keywords,
}
#: Where programs have several pieces: not with draws, which make these slow.
_IN_PIECES = {gan_with_what_is_held, contrast, in_a_chain}


@pytest.fixture
def soon(monkeypatch):
    """Everything is tried in the first calls; gives the calls that were computed with others."""
    monkeypatch.setattr(_late, "_FIRST_AT_ONCE", 4)
    monkeypatch.setattr(_late, "_FIRST", 2)
    monkeypatch.setattr(_late, "_LATER", 1)
    monkeypatch.setattr(_late, "_TRIES", 9)
    monkeypatch.setattr(_proof, "_SHORT_AT_ONCE", 2)
    monkeypatch.setattr(_proof, "_LEAN_AT_ONCE", 1)
    joined, pending = [], []
    takes, serves = _joined.Joint.take, _late.Late.has_served

    def take(self, *args):
        takes(self, *args)
        pending.append(self)

    def serve(self):
        serves(self)
        joined.append(len(pending))
        pending.clear()

    monkeypatch.setattr(_joined.Joint, "take", take)
    monkeypatch.setattr(_late.Late, "has_served", serve)
    return joined


def run(compiled, case, rate=0.0, steps=STEPS):
    """What each step has given, with all that it has changed."""
    np.random.seed(0)
    random.seed(0)
    model = net(compiled, rate)
    for p in model.params():
        p.array[...] = 0.3 * np.random.RandomState(p.size).randn(*p.shape)
    optimizers = [
        chainer.optimizers.MomentumSGD(lr=1e-3).setup(model),
        chainer.optimizers.Adam(alpha=1e-3).setup(model.d)]
    found = []
    with chainer.using_config("static_budget", None):
        for k in range(steps):
            draw = np.random.RandomState(100 + k)
            z, x = draw.randn(5, 3).astype("f"), draw.randn(5, 4).astype("f")
            result = raised = None
            try:
                result = case(model, optimizers, z, x, k)
            except Exception as e:
                raised = type(e), str(e)
            found.append((
                result, raised, z.tobytes(), x.tobytes(), np.random.get_state()[2],
                [(bits(p.grad), bits(p.array)) for _, p in sorted(model.namedparams())]))
    return found


@pytest.mark.parametrize("rate", [0.0, 0.5], ids=["", "dropout"])
@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_numbers_are_the_same(case, rate, soon):
    plain, found = run(False, case, rate), run(True, case, rate)
    for k, (one, other) in enumerate(zip(plain, found, strict=True)):
        assert repr(one) == repr(other), k
    if case in _JOINED and not (rate and case in _IN_PIECES):
        assert sum([n > 0 for n in soon]) > STEPS // 5
    assert _tracing.state.run is None or _tracing.state.run.is_late


def test_objects_that_are_replaced_are_not_held(soon):
    """The second network is another object in each round, and goes when nobody has it."""

    def rounds(compiled):
        np.random.seed(0)
        model, found, gone = net(compiled, 0.0), [], []
        with chainer.using_config("static_budget", None):
            for k in range(3):
                d = copy.deepcopy(model.d)
                gone.append(weakref.ref(d))
                draw = np.random.RandomState(k)
                for _ in range(24):
                    z, x = draw.randn(5, 3).astype("f"), draw.randn(5, 4).astype("f")
                    loss, _ = softplus_losses(d(model.g(z)), d(x))
                    model.cleargrads()
                    loss.backward()
                    found.append([bits(p.grad) for p in [*model.g.params(), *d.params()]])
                    loss = None
                d = None
                gc.collect()
        return found, [ref() for ref in gone]

    plain, found = rounds(False), rounds(True)
    assert plain == found
    assert found[1] == [None] * 3
    assert any(soon)
