"""Calls of any sizes without their Python, which may look at lengths as it likes.

:mod:`trust` says what is compared.
"""

import math
import threading

import numpy as np
import pytest
from trust import Base, difference, run, table, total, variable

import chainer
import chainer.functions as F
import chainer.links as L

CALLS = 48
FAULTS, fault = table()
#: Of these no proof is for more than a few lengths, or there is none: their Python runs.
WITH_PYTHON = set()


def with_python(make):
    WITH_PYTHON.add(make.__name__)
    return fault(make)


def rng(k):
    return np.random.RandomState(k)


def length(k):
    """Of the first calls all of them differ; then some come back."""
    return 2 + 5 * k % 31


class Sized(Base):
    """``forward`` gets what ``arguments(k)`` gives."""

    def arguments(self, k):
        return (variable(k, length(k), 4),)

    def step(self, k):
        arguments = self.arguments(k)
        y = self(*arguments)
        total(y).backward()
        if k % 3 == 2:
            for p in self.params():
                if p.grad is not None:
                    p.array -= 0.1 * p.grad
        return y, arguments

    def without_python(self):
        site, = self.schedule_manager._sites.values()
        return site.ledger.without_python, site.proofs.why_not


def sized(forward, arguments=None):
    class Model(Sized):
        pass

    Model.forward = forward
    if arguments is not None:
        Model.arguments = arguments
    return Model


@fault
def lengths_among_the_results():
    def forward(self, x):
        n, units = x.shape
        return F.tanh(self.a(x)), n, [n * units, x.size, len(x)], {"half": n // 2}

    return sized(forward)


@fault
def lengths_that_are_kept():
    def forward(self, x):
        self.longest = max(getattr(self, "longest", 0), len(x))
        self.last = x.shape
        return F.relu(self.b(x)) / math.sqrt(x.shape[0])

    return sized(forward)


@fault
def reported_lengths():
    def forward(self, x):
        chainer.report({"length": len(x)}, self)
        return F.sum(self.a(x) ** 2, axis=1)

    return sized(forward)


@fault
def masks_and_positions():
    def forward(self, x):
        n = x.shape[0]
        mask = np.tril(np.ones((n, n), bool))
        position = np.arange(n, dtype="f")[:, None] / n
        h = self.a(x) + F.broadcast_to(position, (n, 4))
        scores = F.matmul(h, h, transb=True) * n**-0.5
        return F.matmul(F.softmax(F.where(mask, scores, np.full((n, n), -1e9, "f"))), h)

    return sized(forward)


@fault
def another_number_for_long_ones():
    def forward(self, x):
        scale = 0.5 if len(x) > 16 else 2.0
        return F.sum(F.sigmoid(self.a(x))) * scale

    return sized(forward)


@fault
def other_functions_for_long_ones():
    def forward(self, x):
        h = self.a(x)
        return F.relu(h) if x.shape[0] >= 9 else F.tanh(h)

    return sized(forward)


@fault
def another_number_for_even_ones():
    def forward(self, x):
        return self.b(F.tanh(x)) * (1.5 if x.shape[0] % 2 else 0.25)

    return sized(forward)


@fault
def shapes_that_are_equal_or_not():
    """Of two arguments, which are of one length at times."""

    def arguments(self, k):
        return variable(k, length(k), 4), variable(k + 99, length(k // 2 * (1 + k % 2)), 4)

    def forward(self, x, z):
        scale = 3.0 if x.shape == z.shape else 1.0
        return F.sum(self.a(x)) * scale + F.sum(self.b(z)) * (2 if x.shape[0] < z.shape[0] else 1)

    return sized(forward, arguments)


@fault
def lists_of_arrays():
    def arguments(self, k):
        return ([variable(k + 50 * j, length(k + 7 * j), 4) for j in range(3)],)

    def forward(self, xs):
        longest = max(len(x) for x in xs)
        h = self.a(F.concat(xs, axis=0))
        ends = np.cumsum([len(x) for x in xs])[:-1]
        return [F.sum(part, axis=0) / longest for part in F.split_axis(h, ends, 0)]

    return sized(forward, arguments)


@fault
def parts_of_a_table():
    class Model(Sized):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.place = chainer.Parameter(rng(3).randn(1, 40, 4).astype("f"))
            self.table = rng(4).randn(40, 4).astype("f")

        def arguments(self, k):
            return (variable(k, 3, length(k), 4),)

        def forward(self, x):
            n = x.shape[1]
            h = x + F.broadcast_to(self.place[:, :n], x.shape)
            return F.reshape(self.a(F.reshape(h + self.table[:n], (-1, 4))), x.shape)

    return Model


@fault
def draws():
    def forward(self, x):
        noise = np.random.randn(*x.shape).astype("f")
        return F.dropout(self.a(x) + noise, 0.3) * np.random.rand()

    return sized(forward)


@fault
def means_by_hand():
    def forward(self, x):
        h = self.a(x)
        mean = F.sum(h, axis=0) / h.shape[0]
        spread = F.sum((h - F.broadcast_to(mean, h.shape)) ** 2) / (h.shape[0] - 1 or 1)
        return h * F.broadcast_to(spread, h.shape) * (1 / h.size)

    return sized(forward)


@with_python
def sums_over_a_range():
    """Such a loop is for one length."""

    def forward(self, x):
        total = 0
        for k in range(len(x)):
            total += k
        return F.sum(self.a(x)) * total

    return sized(forward)


@fault
def shapes_of_arrays_that_are_made():
    def forward(self, x):
        ones = np.ones_like(x.array)
        grid = np.zeros((len(ones), 2 * ones.shape[1]), "f")
        grid[:, : ones.shape[1]] = ones
        return self.a(x * ones) * grid.shape[0] + F.reshape(grid, (-1, 4))[: x.shape[0]]

    return sized(forward)


@fault
def kinds_that_change():
    def arguments(self, k):
        x = variable(k, length(k), 4)
        if k % 5 == 3:
            x = chainer.Variable(x.array, requires_grad=False)
        elif k % 5 == 4:
            x = x.array
        return (x,)

    def forward(self, x):
        return F.tanh(self.a(x)) * len(x)

    return sized(forward, arguments)


@with_python
def layouts_that_change():
    """Ways of any sizes know one layout."""

    def arguments(self, k):
        a = rng(k).randn(length(k), 8).astype("f")
        a = a[:, ::2] if k % 4 == 1 else np.asfortranarray(a[:, :4]) if k % 4 == 2 else a[:, :4]
        return (chainer.Variable(a),)

    def forward(self, x):
        return F.sum(F.exp(x * 0.1), axis=1) + F.sum(self.a(x) * x, axis=1)

    return sized(forward, arguments)


@fault
def one_object_for_both_arguments():
    def arguments(self, k):
        x = variable(k, length(k), 4)
        return (x, x) if k % 3 == 1 else (x, variable(k + 7, length(k), 4))

    def forward(self, x, z):
        return F.tanh(self.a(x)) * self.b(z) * (2.0 if x is z else 1.0)

    return sized(forward, arguments)


@fault
def batches_of_one_and_none():
    def arguments(self, k):
        return (variable(k, (length(k), 1, length(k), 0)[k % 4], 4),)

    def forward(self, x):
        return F.relu(self.a(x)) * (len(x) + 1)

    return sized(forward, arguments)


@with_python
def statistics_that_are_looked_at():
    """Whoever compares models looks at them: they are to be there after each call."""

    class Model(Sized):
        def __init__(self):
            super().__init__()
            self.counts = np.zeros(3)

        def forward(self, x):
            self.counts[len(x) % 3] += 1
            return F.relu(self.bn(self.a(x)))

    return Model


@fault
def a_function_between():
    """Its results are as long as values say."""

    def forward(self, x):
        h = self.a(x)
        rows = np.flatnonzero(h.array[:, 0] > -5.0)
        return F.sum(F.tanh(h[rows])) * len(rows) + F.sum(self.b(x)) / x.shape[0]

    return sized(forward)


@fault
def words():
    class Model(Sized):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(20, 4, ignore_label=-1)

        def arguments(self, k):
            n, m = 2 + k % 5, length(k)
            return rng(k).randint(-1, 20, (n, m)).astype("i"), rng(k).randint(0, 4, n).astype("i")

        def forward(self, x, t):
            n, m = x.shape
            seen = (x >= 0).astype("f")
            h = F.sum(self.embed(x) * F.broadcast_to(seen[:, :, None], (n, m, 4)), axis=1)
            loss = F.softmax_cross_entropy(self.a(h / m), t)
            chainer.report({"loss": loss, "words": int(seen.sum())}, self)
            return loss

    return Model


@fault
def images():
    class Model(Sized):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(2, 3, 3, pad=1)

        def arguments(self, k):
            return (variable(k, 2 + k % 3, 2, 4 + k % 7, 4 + 3 * k % 11),)

        def forward(self, x):
            h = F.max_pooling_2d(F.relu(self.conv(x)), 2)
            n, c, height, width = h.shape
            return F.reshape(F.average_pooling_2d(h, (height, width)), (n, c)) * (height * width)

    return Model


@fault
def an_attribute_that_changes():
    class Model(Sized):
        def step(self, k):
            self.scale, self.at = 1.0 + k, ("mean", "sum")[k // 20 % 2]
            return super().step(k)

        def forward(self, x):
            y = F.tanh(self.a(x)) * self.scale
            return F.sum(y, axis=0) / (len(y) if self.at == "mean" else 1)

    return Model


def compiled(forward):
    """A chain with this method, decorated."""
    return type("Net", (Base,), {"forward": chainer.static_graph(forward)})()


def bits(make, compiled, inspect=None, target="numpy"):
    with chainer.using_config("static_budget", None), chainer.using_config(
            "static_target", target):
        return run(make, compiled, CALLS, *([inspect] if inspect else []))


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_same_bits_without_python(make, target):
    found = []
    plain = bits(make, False, None, target)
    assert difference(
        plain, bits(make, True, lambda m: found.append(m.without_python()), target)) is None
    (calls, why_not), = found
    if make.__name__ not in WITH_PYTHON:
        assert calls >= 10, (calls, why_not)


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_checks_of_proofs_find_nothing(make, monkeypatch):
    monkeypatch.setattr(chainer.global_config, "static_check", "always")
    assert difference(bits(make, False), bits(make, True)) is None


def test_statistics_are_written_by_calls_without_python():
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a, self.bn = L.Linear(4, 4, initialW=1), L.BatchNormalization(4)

        def forward(self, x):
            return F.relu(self.bn(self.a(x)))

    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    plain, compiled = Net(), Compiled()
    with chainer.using_config("static_budget", None):
        for k in range(CALLS):
            x = variable(k, length(k), 4).array
            ys = [net(x) for net in (plain, compiled)]
            for y in ys:
                F.sum(y * y).backward()
            assert ys[0].array.tobytes() == ys[1].array.tobytes()
    site, = compiled.schedule_manager._sites.values()
    assert site.ledger.without_python >= 30
    assert plain.bn.avg_mean.tobytes() == compiled.bn.avg_mean.tobytes()
    assert plain.bn.avg_var.tobytes() == compiled.bn.avg_var.tobytes()


def test_frequent_lengths_go_ways_of_their_own():
    """Programs for very sizes are faster: a proof for any sizes does not keep them from coming."""

    def forward(self, x):
        return F.tanh(self.a(x))

    net = compiled(forward)
    with chainer.using_config("static_budget", None):
        for k in range(120):
            net(variable(k, 7 if k > 30 and k % 2 else length(k), 4))
    site, = net.schedule_manager._sites.values()
    kinds = {proof.app.sizes is None: proof.uses for proof in site.proofs.proofs}
    assert kinds[True] >= 10 and kinds[False] >= 20


def test_a_length_that_has_to_be_a_number_makes_the_proof_one_for_it():
    def forward(self, x):
        return F.sum(self.a(x)) * len(bytes(len(x)))

    net, found = compiled(forward), []
    net.a.W.array[:], net.a.b.array[:] = 0, 1
    with chainer.using_config("static_budget", None):
        for k in range(CALLS):
            found.append(float(net(variable(k, length(k), 4)).array))
    assert found == [4.0 * length(k) ** 2 for k in range(CALLS)]
    site, = net.schedule_manager._sites.values()
    assert len(site.proofs.proofs) <= 3  # others of this way would serve no calls, either


def test_a_branch_by_chance_is_no_fault(monkeypatch):
    """A call that is compared goes a way of its own, and another branch than the proof's."""

    def forward(self, x):
        h = self.a(x)
        return F.relu(h) if np.random.rand() < 0.5 else F.tanh(h)

    net = compiled(forward)
    np.random.seed(0)
    monkeypatch.setattr(chainer.global_config, "static_check", "always")
    with chainer.using_config("static_budget", None):
        for k in range(2 * CALLS):
            net(variable(k, length(k), 4))
    site, = net.schedule_manager._sites.values()
    report, = net.schedule_manager.report()
    assert not report.failed_checks and site.ledger.checks >= 10


@pytest.mark.parametrize("target", ["auto", "native"])
def test_threads(target):
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a, self.ln = L.Linear(4, 4), L.LayerNormalization(4)

        def forward(self, x):
            n, m, _ = x.shape
            h = F.reshape(self.ln(F.relu(self.a(F.reshape(x, (n * m, 4))))), x.shape)
            weight = F.softmax(F.sum(h, axis=2) + np.arange(m, dtype="f") / m)
            return F.sum(h * F.broadcast_to(weight[:, :, None], h.shape), axis=1)

    nets = [cls() for cls in (Net, type("Compiled", (Net,), {
        "forward": chainer.static_graph(Net.forward)}))]
    for p, other in zip(*[net.params() for net in nets], strict=True):
        other.array = p.array
    different = []

    def work(thread):
        r = rng(thread)
        with chainer.using_config("static_budget", None), chainer.using_config(
                "static_target", target):
            for _ in range(40):
                x, found = variable(0, *r.randint(2, 15, 2), 4), []
                for net in nets:
                    y = net(x)
                    g, = chainer.grad([F.sum(y * y)], [x])
                    found.append((y.array.tobytes(), g.array.tobytes()))
                if found[0] != found[1]:
                    different.append(x.shape)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not different
    site, = nets[1].schedule_manager._sites.values()
    assert site.ledger.hits >= 60


def test_two_thousand_sizes_leave_nothing_behind():
    def forward(self, x):
        return F.sum(F.relu(self.a(x)))

    net = compiled(forward)
    with chainer.using_config("static_budget", None), chainer.no_backprop_mode():
        for n in range(2, 2002):
            net(np.ones((n % 60 + 2, n, 4), "f")[0])
    site, = net.schedule_manager._sites.values()
    assert site.ledger.without_python >= 1000
    assert all(len(proof.forms) < 300 for proof in site.proofs.proofs)
    assert len(site.proofs._waited) < 300
    for plan in site.any_sizes.plans():
        for piece in plan.pieces:
            assert len(piece.schedule._seen) <= 16
