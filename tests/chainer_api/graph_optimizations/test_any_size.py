"""Methods whose arguments have another size in each call: programs of any sizes, and their bits.

:mod:`trust` says what is compared.
"""

import copy
import threading
import types

import numpy as np
import pytest
from heard import warnings_heard
from trust import Base, check, difference, run, table, total, variable

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _any_size, _proof
from chainer.graph_optimizations._account import Account

LENGTHS = (5, 3, 8, 6, 4, 7, 9, 5, 12, 10, 3, 11, 15, 13, 4, 14)
FAULTS, fault = table()


def rng(k):
    return np.random.RandomState(k)


def sentences(k, count=4, words=20):
    """Arrays of word numbers, of any lengths."""
    r = rng(k)
    return [r.randint(0, words, n).astype("i") for n in r.randint(2, 12, count)]


class Sized(Base):
    """``forward`` gets what ``arguments(k)`` gives."""

    def arguments(self, k):
        return (variable(k, LENGTHS[k], 4),)

    def step(self, k):
        arguments = self.arguments(k)
        y = self(*arguments)
        total(y).backward()
        self.update(k)
        return y, [x for x in arguments if isinstance(x, chainer.Variable)]

    def update(self, k):
        if k % 3 == 2:
            for p in self.params():
                if p.grad is not None:
                    p.array -= 0.1 * p.grad

    def any_sizes(self):
        """What is known of the ways of any sizes, and how many calls programs have served."""
        site, = self.schedule_manager._sites.values()
        return site.any_sizes, site.ledger.with_python


class Words(Sized):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(20, 4)

    def arguments(self, k):
        return sentences(k), rng(k).randint(0, 4, 4).astype("i")


@fault
def batches():
    class Model(Sized):
        def forward(self, x):
            return F.softmax(self.b(F.relu(self.a(x))))

    return Model


@fault
def losses():
    class Model(Sized):
        def arguments(self, k):
            return variable(k, LENGTHS[k], 4), rng(k).randint(-1, 4, LENGTHS[k]).astype("i")

        def forward(self, x, t):
            y = self.b(F.tanh(self.a(x)))
            chainer.report({"accuracy": F.accuracy(y, t)}, self)
            return F.softmax_cross_entropy(y, t) + F.mean(y * y)

    return Model


@fault
def images():
    """Height, width and number differ: statistics are scaled by ``n / (n - 1)``."""

    class Model(Sized):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(2, 3, 3, pad=1)
                self.norm = L.BatchNormalization(3)

        def arguments(self, k):
            n = LENGTHS[k]
            return (variable(k, 2 + n % 3, 2, n + 3, 2 * n % 7 + 5),)

        def forward(self, x):
            h = F.max_pooling_2d(F.relu(self.norm(self.conv(x))), 2)
            return F.average_pooling_2d(h, h.shape[2:])

    return Model


@fault
def bags_of_words():
    """Each sentence on its own: lengths, and sums of them."""

    class Model(Words):
        def forward(self, xs, t):
            ends = np.cumsum([len(x) for x in xs[:-1]])
            vectors = F.split_axis(self.embed(F.concat(xs, axis=0)), ends, 0)
            h = F.stack([F.sum(v, axis=0) / v.shape[0] for v in vectors])
            return F.softmax_cross_entropy(self.a(h), t)

    return Model


@fault
def ends_in_an_attribute():
    """Lengths of sections that are known from nothing but an attribute."""

    class Model(Words):
        def arguments(self, k):
            xs = sentences(k)
            ends = np.cumsum([len(x) for x in xs])[:-1]
            return np.concatenate(xs), ends, rng(k).randint(0, 4, 4).astype("i")

        def forward(self, words, ends, t):
            parts = F.split_axis(self.embed(words), ends, 0)
            return F.softmax_cross_entropy(F.stack([F.average(p, axis=0) for p in parts]), t)

    return Model


@fault
def padded_to_the_longest():
    class Model(Words):
        def forward(self, xs, t):
            block = F.pad_sequence([self.embed(x) for x in xs])
            more = F.pad_sequence([self.embed(x) for x in xs], max(map(len, xs)) + 3, 0.5)
            return F.sum(block, axis=1) * F.max(more, axis=1)

    return Model


@fault
def attention():
    """Two lengths, masks of both, a table of positions."""

    class Model(Sized):
        def __init__(self):
            super().__init__()
            self.table = rng(1).randn(40, 4).astype("f")

        def arguments(self, k):
            n, m = LENGTHS[k], LENGTHS[-k]
            x, z = variable(k, 2, n, 4), variable(k + 99, 2, m, 4)
            return x, z, rng(k).rand(2, n, m) < 0.8

        def forward(self, x, z, mask):
            x = x + F.broadcast_to(self.table[: x.shape[1]], x.shape)
            scores = F.matmul(x, z, transb=True) / 2
            scores = F.where(mask, scores, np.full(mask.shape, -1e9, "f"))
            y = F.matmul(F.softmax(scores, axis=2), z)
            return self.a(F.reshape(y, (-1, 4)))

    return Model


@fault
def draws():
    class Model(Sized):
        def forward(self, x):
            h = F.dropout(self.a(x), 0.4)
            return F.gaussian(h, F.dropout(self.b(h), 0.2))

    return Model


@fault
def parts_and_steps():
    class Model(Sized):
        def forward(self, x):
            n = len(x)
            h = F.concat([x[1:], x[:-1]], axis=1)
            return F.sum(h[::2], axis=0) + F.sum(F.tanh(h[n // 2]) * n) + F.flip(x, 0)[2, :2].T[0]

    return Model


@fault
def statistics_and_numbers():
    """A number that changes, too, is an input of its own."""

    class Model(Sized):
        def forward(self, x):
            self.k = getattr(self, "k", 0) + 1
            return F.leaky_relu(self.bn(self.a(x)), 0.1 * self.k) * (1 / self.k) ** 2

    return Model


@fault
def lengths_that_depend_on_values():
    """Rows that a mask picks, in the middle."""

    class Model(Sized):
        def forward(self, x):
            h = self.a(x)
            rows = np.flatnonzero(h.array[:, 0] > -0.5)
            return F.sum(F.tanh(h[rows])) + F.sum(F.sigmoid(self.b(x)) ** 2)

    return Model


@fault
def lengths_that_values_make_other_than_ever():
    """More rows are chosen than in all calls before, or one, or none."""

    class Model(Sized):
        def arguments(self, k):
            x = variable(k, LENGTHS[k], 4)
            n = {9: 1, 11: 0, 13: 13}.get(k, 2 + k % 2)
            x.array[:, 0] = np.where(np.arange(LENGTHS[k]) < n, 5, -5)
            return (x,)

        def forward(self, x):
            return F.tanh(self.a(x)[x.array[:, 0] > 0]) * 2

    return Model


@fault
def groups_that_add_up():
    """Of two lengths the third is what is left."""

    class Model(Sized):
        def arguments(self, k):
            return variable(k, 24, 4), rng(k).permutation(24)[:2] // 2 % 7 + 3

        def forward(self, x, sizes):
            a, b = (int(n) for n in sizes)
            parts = x[:a], x[a : a + b], x[a + b :]
            return F.concat([f(p) for f, p in zip((F.exp, F.tanh, self.a), parts)], axis=0)

    return Model


@fault
def other_functions_for_long_ones():
    class Model(Sized):
        def forward(self, x):
            h = self.a(x)
            return F.tanh(h) if len(x) > 8 else F.sigmoid(h) * 2

    return Model


@fault
def two_calls_before_backward():
    class Model(Sized):
        def step(self, k):
            x, z = variable(k, LENGTHS[k], 4), variable(k + 50, LENGTHS[-k], 4)
            y = F.sum(self(x)) * F.sum(self(z)) + F.sum(self(self(x)))
            y.backward()
            return y, x, z

        def forward(self, x):
            return F.tanh(self.b(F.relu(self.a(x))))

    return Model


@fault
def double_backprop():
    class Model(Sized):
        def step(self, k):
            x = variable(k, LENGTHS[k], 4)
            y = self(x)
            g, = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
            loss = F.sum(g * g) + F.sum(y)
            loss.backward()
            return y, g, loss, x

        def forward(self, x):
            return F.tanh(self.b(F.sigmoid(self.a(x))))

    return Model


@fault
def gradients_of_other_layouts():
    """Constant all over (of a sum), without gaps, and of a transposed array."""

    class Model(Sized):
        def step(self, k):
            x = variable(k, LENGTHS[k], 4)
            y = self(x)
            if k % 8 == 7:
                y.grad = np.asfortranarray(rng(k).randn(*y.shape).astype("f"))
                y.backward()
            elif k % 4 == 2:
                F.sum(y * rng(k).randn(*y.shape).astype("f")).backward()
            else:
                F.sum(y).backward()
            return y, x

        def forward(self, x):
            return F.tanh(self.a(x))

    return Model


@fault
def gradients_with_gaps():
    """Of what is the same at all sizes: a part of a row is a result, its gradient is one, too."""

    class Model(Words):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.gru = L.NStepBiGRU(1, 4, 4, 0.0)
                self.out = L.Linear(8, 4)

        def forward(self, xs, t):
            embedded = [self.embed(x) for x in xs]
            hy, _ = self.gru(None, embedded)
            there, back = hy
            y = self.out(F.concat([there, back], axis=1))
            chainer.report({"accuracy": float(F.accuracy(y, t).array)}, self)
            return F.softmax_cross_entropy(y, t)

    return Model


@fault
def transposed_gradients():
    """Weights that are kept cut a call: gradients of what comes before are those of a transpose."""

    class Model(Sized):
        def forward(self, x):
            keys, values = F.tanh(self.a(x)), F.tanh(self.b(x))
            weights = F.softmax(F.matmul(keys, F.reshape(self.bn.beta, (4, 1))), axis=0)
            self.weights = weights.array
            return F.matmul(F.swapaxes(values, 0, 1), weights)

    return Model


@fault
def gradients_that_are_rows_of_something_longer():
    """Another method stacks the results: how far rows of gradients lie apart depends on that."""

    class Model(Sized):
        def step(self, k):
            n = LENGTHS[k]
            x = variable(k, n, 4)
            ys = [self(x) for _ in range(2 + k % 3)]
            weights = rng(k).randn(n, len(ys), 4).astype("f")
            F.sum(F.stack(ys, axis=1) * weights).backward()
            return ys, x

        def forward(self, x):
            return F.tanh(self.b(F.relu(self.a(x))))

    return Model


@fault
def results_held_and_written():
    """What is kept, unchained, retained; parameters and results that are written."""

    class Model(Sized):
        def step(self, k):
            x = variable(k, LENGTHS[k], 4)
            y = self(x)
            if k % 4 == 0:
                self.kept.unchain()
            elif k % 4 == 1:
                self.a.W.array[...] *= 0.9
            elif k % 4 == 2:
                y.array[0] = 2
            F.sum(y * y).backward(retain_grad=k % 4 == 3)
            return y, x, self.kept

        def forward(self, x):
            self.kept = self.a(x)
            return F.tanh(F.relu(self.kept) * self.b(x))

    return Model


@fault
def layouts_of_arguments():
    """Transposed, with gaps, read-only."""

    class Model(Sized):
        def arguments(self, k):
            n = LENGTHS[k]
            x = rng(k).randn(4, n).astype("f").T
            z = rng(k).randn(n, 8).astype("f")[:, ::2]
            z.flags.writeable = False
            return chainer.Variable(x), chainer.Variable(z)

        def forward(self, x, z):
            return F.sum(x * z, axis=1) + F.max(self.a(x) + z, axis=1)

    return Model


@fault
def an_index_beyond_the_table():
    """The table has sixteen rows; whoever wants more gets fewer, or an exception."""

    class Model(Words):
        def arguments(self, k):
            return (rng(k).randint(0, 21 if k % 5 == 4 else 20, LENGTHS[k] + 4).astype("i"),)

        def forward(self, x):
            e = self.embed(x)
            return F.sum(e[:16], axis=0) * len(e)

    return Model


@fault
def one_at_a_time():
    """Batches of one come between."""

    class Model(Sized):
        def arguments(self, k):
            return (variable(k, 1 if k % 3 == 1 else LENGTHS[k], 4),)

        def forward(self, x):
            return F.mean(self.bn(self.a(x)) if len(x) > 1 else self.a(x), axis=0)

    return Model


@fault
def recurrent_layers():
    """All sequences together, in the order of their lengths, which is another one each time."""

    class Model(Words):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm, self.gru = L.NStepLSTM(2, 4, 4, 0.5), L.NStepBiGRU(1, 4, 2, 0.0)

        def forward(self, xs, t):
            hx, cx, ys = self.lstm(None, None, [self.embed(x) for x in xs])
            hy, zs = self.gru(cx[:, :, :2], ys)
            h = F.stack([z[-1] for z in zs]) + hx[-1] + F.concat([*hy], axis=1)
            return F.softmax_cross_entropy(self.b(h), t)

    return Model


def from_one(k, *shape):
    """Arrays of these shapes but for the first lengths, of which some are one."""
    r = rng(k)
    return [r.randn(n, *shape).astype("f") for n in r.randint(1, 6, 4)]


@fault
def sets_of_one_and_more():
    """Sums of one row are broadcast back to one row: that is no function then."""

    class Model(Sized):
        def arguments(self, k):
            return from_one(k, 4), rng(k).randint(0, 4, 4).astype("i")

        def forward(self, sets, t):
            hs = [F.sum(F.relu(self.a(s)), axis=0) + F.max(s, axis=0) for s in sets]
            means = [F.mean(self.a(s) * s.shape[0], axis=0) for s in sets]
            return F.softmax_cross_entropy(self.b(F.stack(hs) + F.stack(means)), t)

    return Model


@fault
def sequences_of_one_and_more():
    class Model(Sized):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm = L.NStepBiLSTM(1, 4, 4, 0.0)

        def arguments(self, k):
            return (from_one(k, 4),)

        def forward(self, xs):
            hx, _, ys = self.lstm(None, None, [F.dropout(self.a(x), 0.3) for x in xs])
            padded = F.pad_sequence(ys)
            return self.b(F.concat([*hx], axis=0)), F.sum(F.tanh(padded), axis=1)

    return Model


@fault
def what_is_left_of_one():
    """All but the first row; of one there is nothing, and other functions are applied."""

    class Model(Sized):
        def arguments(self, k):
            return (variable(k, (1, 2, 3, 5)[k % 4] + k // 4, 4),)

        def forward(self, x):
            h = self.a(x)
            return F.tanh(h[1:]) * F.exp(h[:-1]) if len(x) > 1 else h

    return Model


@fault
def many_lengths():
    """More than there are probes: encoder and decoder, each with sequences of its own."""

    class Model(Words):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.encoder, self.decoder = L.NStepGRU(1, 4, 4, 0.0), L.NStepGRU(1, 4, 4, 0.0)

        def arguments(self, k):
            return sentences(k, 6), sentences(k + 100, 6)

        def embedded(self, xs):
            ends = np.cumsum([len(x) for x in xs[:-1]])
            return F.split_axis(self.embed(F.concat(xs, axis=0)), ends, 0)

        def forward(self, xs, ys):
            begin = np.array([1], "i")
            hx, _ = self.encoder(None, self.embedded([x[::-1] for x in xs]))
            ys = [F.concat([begin, y], axis=0) for y in ys]
            _, zs = self.decoder(hx, self.embedded(ys))
            z = F.concat(zs, axis=0)
            return F.sum(F.softmax_cross_entropy(
                self.a(z), F.concat(ys, axis=0).array % 4, reduce="no")) / len(xs)

    return Model


@fault
def evaluation_between():
    class Model(Sized):
        def step(self, k):
            if k % 3:
                return super().step(k)
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                return self(variable(k, LENGTHS[k], 4))

        def forward(self, x):
            return F.dropout(self.bn(self.a(x)))

    return Model


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_same_bits(make):
    check(make, len(LENGTHS))


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_programs_of_any_sizes_run(make):
    found = []
    run(make, True, len(LENGTHS), lambda model: found.append(model.any_sizes()))
    (any_sizes, calls), = found
    # Where the graph is wanted in each call, a program is in vain.
    assert any_sizes.is_there is (make.__name__ != "double_backprop") and calls >= 2


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_checks_find_nothing(make, monkeypatch):
    monkeypatch.setattr(chainer.global_config, "static_check", "always")
    with warnings_heard() as log:
        assert difference(run(make, False, 12), run(make, True, 12)) is None
    assert not log


def test_gradients_of_a_transpose_have_programs():
    def see(model):
        pieces = [p for plan in model.any_sizes()[0].plans() for p in plan.pieces]
        layouts = [form[1] for p in pieces for key in p.backwards for form in key[2:] if form]
        found.append((layouts, [p._odd for p in pieces]))

    found = []
    run(transposed_gradients, True, 10, see)
    (layouts, odd), = found
    assert _any_size.Permuted((1, 0)) in layouts and not any(odd)


def test_gradients_of_all_gaps_have_one_program():
    def see(model):
        found.extend(p for plan in model.any_sizes()[0].plans() for p in plan.pieces)

    found = []
    run(gradients_that_are_rows_of_something_longer, True, 12, see)
    layouts = [form[1] for p in found for key in p.backwards for form in key[2:] if form]
    assert sorted(set(layouts)) == [_any_size.DENSE, _any_size.ROWS]
    assert not any([p._odd for p in found])


@fault
def ways_that_begin_alike():
    """Whether there is a state tells which one a call goes."""

    class Model(Sized):
        def arguments(self, k):
            x = variable(k, LENGTHS[k % 16], 4)
            return x, None if k % 3 else variable(k + 1, 4)

        def forward(self, x, h):
            y = F.tanh(self.b(F.relu(self.a(x))))
            return F.sum(y * 2) if h is None else F.sum(y * F.broadcast_to(h, y.shape))

    return Model


def test_calls_go_the_way_of_those_with_such_arguments():
    found = []
    run(ways_that_begin_alike, True, 64, found.append)
    (site,), stops = found[-1].schedule_manager._sites.values(), found[-1].schedule_manager.report()
    assert len(site.any_sizes.ends()) == 2
    assert not any([kind.left for kind in site.any_sizes.kinds])
    assert sum([stop.count for report in stops for stop in report.stops]) <= 8


def test_arguments_that_go_none_of_the_ways_are_followed_seldom():
    found = []
    run(ways_that_begin_alike, True, 32, found.append)
    sizes, = [site.any_sizes for site in found[-1].schedule_manager._sites.values()]
    arguments, followed = (np.zeros(3), {"a": 1}), 0
    for _ in range(64):
        if sizes.expects(arguments):
            followed += 1
            sizes._has_gone(types.SimpleNamespace(
                arguments=arguments, app=sizes.root.next or sizes.ends()[0], has_strayed=True))
    assert followed <= 8
    assert sizes.expects(found[-1].arguments(1))


def test_another_graph_at_other_sizes_is_no_fault():
    """A window that is longer than the shortest ones: the bounds become narrower."""

    class Model(Sized):
        def forward(self, x):
            return F.average_pooling_1d(F.transpose(self.a(x))[None], 5, stride=1, pad=2)

    found = []
    assert difference(run(lambda: Model, False, 12), run(
        lambda: Model, True, 12, lambda model: found.append(model.any_sizes()))) is None
    assert found[0][0].is_there


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(4, 4), L.Linear(4, 4)

    @chainer.static_graph
    def forward(self, x):
        return F.sum(F.tanh(self.b(F.relu(self.a(x)))))

    def site(self):
        site, = self.schedule_manager._sites.values()
        return site


def called(lengths, cls=Net):
    net = cls()
    for n in lengths:
        net.cleargrads()
        net(variable(n, n, 4)).backward()
    return net


def test_the_report_tells_of_it():
    net = called(LENGTHS)
    text = str(net.schedule_manager.report())
    assert "the same functions have come with arrays of other sizes" in text
    assert "float32[size0,4]" in text
    program, = net.schedule_manager.programs
    assert "size0" in program.source and "self_a_W" in program.source


def test_few_sizes_have_programs_of_their_own():
    net = called([5, 3, 8, 6] * 4)
    ledger = net.site().ledger
    assert not net.site().any_sizes.is_there
    assert ledger.with_python + ledger.without_python == 8


def test_sizes_that_come_seldom_wait_for_a_program_for_all(monkeypatch):
    """To compile some of them would take what that one takes, and use up what it may take."""
    monkeypatch.setattr(Account, "wait_for_trace", lambda *args, **_: 99)
    site = called(range(3, 10)).site()
    for form in range(10):
        site.forms.came(form, 60 if form == 0 else 10)
    app = next(iter(site.ways))
    assert site.any_sizes.come_soon
    assert [site._is_left_to_any_size(app, form) for form in (0, 1)] == [False, True]
    monkeypatch.undo()
    site._asked_again_at = 0
    site._compile_any_size()
    assert site.any_sizes.is_there
    assert not site._is_left_to_any_size(app, 1)


def test_sizes_that_values_decide_on_wait_likewise(monkeypatch):
    """As many rows as a gate picks: a way that happens to come back first is no more likely."""

    class Gated(Net):
        @chainer.static_graph
        def forward(self, x):
            rows = np.flatnonzero(F.sigmoid(x).array[:, 0] > 0.5)
            return F.sum(self.a(x[rows]) ** 2)

    def call(count):
        x = np.full((12, 4), -1.0, "f")
        x[:count] = 1.0
        net(chainer.Variable(x)).backward()
        net.site()._wake_up()

    monkeypatch.setattr(Account, "wait_for_trace", lambda *args, **_: 99)
    net = Gated()
    for count in (3, 7, 4, 9, 5, 8, 3):
        call(count)
    site = net.site()
    assert site._is_left_to_any_size(site.last, None)
    for count in (7, 4, 9, 5, 8, 3, 7):  # they do come back
        call(count)
    assert not site._is_left_to_any_size(site.last, None)


def test_sizes_beyond_the_bounds_are_noted_and_then_served():
    net = called([*LENGTHS[:7], 200, 300, 400])
    site = net.site()
    before = site.ledger.hits
    for n in (350, 380, 120):
        net(variable(n, n, 4)).backward()
    assert site.ledger.hits == before + 3


def test_frequent_sizes_get_programs_of_their_own():
    net = called([*LENGTHS[:6], *[5] * 40])
    assert len(net.site().any_sizes.plans()) == 1
    assert len(net.site().plans()) == 2


class Watched(Net):
    """Somebody looks at values in the middle of some calls, at other places in others."""

    @chainer.static_graph
    def forward(self, x, looked_at=()):
        for k in range(3):
            x = F.tanh(F.relu(self.a(x)) * x)
            if k in looked_at:
                assert np.isfinite(x.array).all()
        return F.sum(self.b(x))


def test_where_values_are_read_elsewhere_more_is_compiled_and_the_rest_stays():
    net, plain = Watched(), Watched()
    plain.copyparams(net)
    ends = []
    looks = [()] * 9 + [(0,), (1,), (2,), (0, 2)] * 6
    for n, places in zip((*LENGTHS, *LENGTHS), looks, strict=False):
        for model, forward in ((net, Watched.forward), (plain, Watched.forward.__wrapped__)):
            model.cleargrads()
            model.y = forward(model, variable(n, n, 4), places)
            model.y.backward()
        assert net.y.array.tobytes() == plain.y.array.tobytes()
        for p, q in zip(net.params(), plain.params(), strict=True):
            assert p.grad.tobytes() == q.grad.tobytes()
        sizes = net.site().any_sizes
        ends.append([(end, len(sizes.plans())) for end in sizes.ends()])
    (way, least), *later = [end for (end,) in filter(None, ends)]
    assert [end for end, _ in later] == [way] * len(later)
    assert later[-1][1] > least == 1
    assert net.site().ledger.with_python > 20
    events = net.site().ledger.report().events
    assert sum(["other sizes" in event.reason for event in events]) == 1 + 4


def test_a_call_may_follow_either_way():
    """With several threads nobody knows beforehand whether that of its very sizes, or of any."""
    site = called([*LENGTHS[:6], *[5] * 40]).site()
    way, = site.any_sizes.ends()
    exact = next(app for app in site.ways if app.hot)
    assert exact is not way
    assert _proof._are_the_same(exact, way) and _proof._are_the_same(way, exact)
    assert not _proof._are_the_same(exact, way.parent)
    assert not any([event.kind == "distrusted" for event in site.ledger.report().events])


def test_what_is_known_does_not_grow():
    net = called([*range(2, 40), *range(1000, 1100)])
    kind, = net.site().any_sizes._kinds.values()
    assert len(kind.samples) <= _any_size._MOST
    assert len(net.site().any_sizes.root.children) == 1


def test_programs_for_calls_without_python_that_fail_do_not_end_the_others():
    site = called(LENGTHS).site()
    way, = site.any_sizes.ends()
    first, plan = next(item for app in way.path(1) for item in app.plans.items() if item[0] > 0)
    kind = site.any_sizes.kinds[-1]
    lean, run = copy.copy(plan), types.SimpleNamespace(app=way, has_strayed=False, syncs=())
    lean.dropped, way.plans[-first] = True, lean
    site.any_sizes.was_followed(run)
    assert kind.way is way
    plan.dropped = True
    site.any_sizes.was_followed(run)
    assert kind.way is None


def test_calls_of_a_kind_count_whether_their_lengths_have_come_before_or_not():
    """Of few lengths that come again and again, that is the part of the calls which it is."""
    class New(Net):  # of others it may be known that they live for a few calls
        forward = chainer.static_graph(Net.forward.__wrapped__)

    with chainer.using_config("static_budget", 1e-9):
        net = called([3, 4, 3, 4, 4], New)
    kind, = net.site().any_sizes._kinds.values()
    assert len(kind.samples) == 2 < kind.calls


def test_a_wrong_program_is_found_and_dropped(monkeypatch, caplog):
    def wrong(self, arrays):
        results, kept = forward(self, arrays)
        return (np.asarray(results[0] + np.float32(1)), *results[1:]), kept

    forward = _any_size.AnySizeSchedule.forward
    monkeypatch.setattr(_any_size.AnySizeSchedule, "forward", wrong)
    monkeypatch.setattr(chainer.global_config, "static_check", "always")
    net, plain = called(LENGTHS[:6]), Net()
    plain.copyparams(net)
    for n in LENGTHS[6:]:
        y, z = net(variable(n, n, 4)), Net.forward.__wrapped__(plain, variable(n, n, 4))
        assert y.array.tobytes() == z.array.tobytes()
    assert "another value" in caplog.text
    assert not net.site().any_sizes.is_there


def test_lengths_in_functions_of_the_user_are_left_to_them():
    """Who knows what else they decide by these."""

    class Tiled(chainer.FunctionNode):
        _supports_static_optimizations = True

        def __init__(self, n):
            self.n = n

        def forward(self, inputs):
            return (inputs[0] * self.n,)

        def backward(self, indexes, gys):
            return (gys[0] * self.n,)

    class Model(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return Tiled(len(x)).apply((x,))[0]

    model = Model()
    for n in LENGTHS:
        x = variable(n, n, 4)
        assert np.array_equal(model(x).array, x.array * n)
    site, = model.schedule_manager._sites.values()
    assert not site.any_sizes.is_there


def test_threads_with_sizes_of_their_own():
    net = called(LENGTHS[:6])
    weights = [p.array.copy() for p in net.params()]
    wrong = []

    def body(k):
        for n in LENGTHS:
            x = variable(n + k, n, 4)
            y = net(x)
            g, = chainer.grad([y], [x])
            plain = Net.forward.__wrapped__(net, x)
            h, = chainer.grad([plain], [x])
            if y.array != plain.array or g.array.tobytes() != h.array.tobytes():
                wrong.append((k, n))

    threads = [threading.Thread(target=body, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(np.array_equal(a, p.array) for a, p in zip(weights, net.params(), strict=True))


def test_kinds_may_be_added_while_others_ask_for_them():
    """Another thread may, at any line of Python; here, what asks does so itself."""
    known = _any_size.AnySizes()

    class Kind(_any_size.Kind):
        def meddle(self):
            known._kinds[len(known._kinds)] = _any_size.Kind()
            return False

        listens = waits = is_likely = way = property(meddle)

    known._kinds = {0: (kind := object.__new__(Kind)), 1: kind}
    kind.left, kind.ways = 1, ()
    assert not known.listens and not known.are_likely and not known.waiting()
    known.was_served(None)
    assert len(known._kinds) > 4
    assert len(known.ends()) >= 2


@pytest.mark.parametrize("make", [gradients_with_gaps, many_lengths], ids=lambda f: f.__name__)
def test_calls_without_python_need_fewer_programs(make):
    """What only local variables hold cuts none, along ways of any sizes, too."""
    found = []

    def pieces(model):
        site, = model.schedule_manager._sites.values()
        proof, = [p for p in site.proofs.proofs if p.app.sizes is not None]
        whole = [plan for plans in proof.app.path(1) for plan in plans.plans.values()]
        of_proof = sum([len(plan.pieces) for _, _, plan in proof.plans])
        found.append((of_proof, sum([len(plan.pieces) for plan in whole]) - of_proof))
        found.append(site.ledger.report())

    assert difference(run(make, False, 40), run(make, True, 40, pieces)) is None
    (few, many), report = found
    assert few < many and report.without_python > 8
    assert any("needs fewer programs" in event.reason for event in report.events)
