"""Decorated methods take little more memory than define-by-run, in each of their calls."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _piece
from chainwright.runtime import BLOCKS, arenas
from chainwright.runtime.background import BACKGROUND

MIB = 1 << 20


class Net(chainer.Chain):
    """Large values: some that backward needs, and some that only forward does."""

    def __init__(self, width, layers=6):
        super().__init__()
        self.layers = layers
        with self.init_scope():
            for k in range(layers):
                setattr(self, f"l{k}", L.Linear(width, width))

    def forward(self, x):
        for k in range(self.layers):
            x = F.tanh(self[f"l{k}"](x) + 1.0 - 0.5)
        return F.sum(x)


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


class Recurrent(chainer.Chain):
    """Many products with one large matrix."""

    def __init__(self, width, turns=20):
        super().__init__()
        self.turns = turns
        with self.init_scope():
            self.l = L.Linear(width, width)

    def forward(self, x):
        for _ in range(self.turns):
            x = F.tanh(self.l(x))
        return F.sum(x)


class CompiledRecurrent(Recurrent):
    forward = chainer.static_graph(Recurrent.forward)


def peaks(kind, calls, rows, width):
    """The most memory in each call of a training loop, in MiB."""
    np.random.seed(0)
    model = kind(width)
    optimizer = chainer.optimizers.SGD(1e-6).setup(model)
    x = np.random.RandomState(0).randn(rows, width).astype("f")
    found = []
    BACKGROUND.wait(60)  # for what other tests have asked for
    gc.collect()
    BLOCKS.trim()
    tracemalloc.start()
    try:
        for _ in range(calls):
            tracemalloc.reset_peak()
            model.cleargrads()
            model(x).backward()
            optimizer.update()
            found.append(tracemalloc.get_traced_memory()[1] / MIB)
            BACKGROUND.wait(60)
    finally:
        tracemalloc.stop()
        BLOCKS.trim()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rows, width", [(16384, 64), (64, 1536)], ids=["values", "parameters"])
def test_no_call_takes_much_more_memory(rows, width):
    """While programs are new, checked, compiled again, and when they run."""
    plain = max(peaks(Net, 4, rows, width))
    compiled = peaks(Compiled, 40, rows, width)
    # What is compiled takes some, too. While other threads of the process still compile, the first
    # calls with a program have had its memory beside the graph of their check.
    assert sorted(compiled)[-3] <= 1.15 * plain + 10.0, compiled
    assert max(compiled) <= 2.0 * plain, compiled
    assert max(compiled[-3:]) <= 1.05 * plain + 5.0, compiled


@pytest.mark.parametrize("target", ["numpy", "auto"])
@pytest.mark.parametrize("rows", [3, 64])  # products that are NumPy's, and some of our own
def test_gradients_of_one_matrix_are_added_as_they_are_made(rows, target):
    """There are never twenty of them: in checks and traces, with either kind of program."""
    with chainer.using_config("static_target", target):
        plain = max(peaks(Recurrent, 4, rows, 1024))
        compiled = peaks(CompiledRecurrent, 20, rows, 1024)
    one = 1024 * 1024 * 4 / MIB
    # What is compiled takes some, too.
    assert max(compiled) <= plain + 4 * one + 8.0 < plain + 10 * one, compiled


def test_a_check_is_no_backward_of_a_new_kind(monkeypatch):
    """What a check has let go of comes by the graph; the parameters need not be copied for it."""
    monkeypatch.setattr(_piece, "_LARGE", -1)
    copies = []
    monkeypatch.setattr(_piece, "shared_copy", lambda a: copies.append(a) or a.copy())
    monkeypatch.setattr(_piece, "LARGE", 1)
    model = Compiled(64, layers=2)
    x = np.ones((4, 64), "f")
    for _ in range(40):
        model.cleargrads()
        model(x).backward()
    (report,) = model.schedule_manager.report()
    assert report.checks >= 4 and not copies


@pytest.mark.parametrize("state", ["timed", "resting"])
def test_define_by_run_gets_the_memory_of_programs(monkeypatch, state):
    """In calls that are timed without programs, and while programs rest."""
    monkeypatch.setattr(arenas, "LARGE", 1)
    model, idle = Compiled(64, layers=2), []
    x = np.ones((64, 64), "f")
    for _ in range(8):
        model(x).backward()
    (site,) = model.schedule_manager._sites.values()
    BACKGROUND.wait(60)
    model(x).backward()
    assert BLOCKS.idle_bytes
    if state == "timed":
        site._to_time = 1
    else:
        site.sleep.calls, site.sleep.rests = 4, True

    def forward(self, x):
        idle.append(BLOCKS.idle_bytes)
        return Net.forward(self, x)

    site.method = forward
    model(x)
    assert idle == [0]


class TwoResults(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(3, 3), L.Linear(3, 3)

    @chainer.static_graph
    def forward(self, x):
        return F.tanh(self.a(x)), F.sigmoid(self.b(x))


@pytest.mark.parametrize("small, traces", [(256, 0), (0, 4)])
def test_traces_of_small_parts_are_kept_for_backwards_of_other_kinds(monkeypatch, small, traces):
    """And let go: of the last parts alone, and when no other kind is likely to come."""
    made, results = [], [
        lambda a, b: a, lambda a, b: b, lambda a, b: a + b, lambda a, b: a * 2 + b]

    class Counted(_piece.Traced):
        def __init__(self, *args):
            made.append(self)
            super().__init__(*args)

    def call(which):
        plain.cleargrads(), net.cleargrads()
        for model, forward in ((plain, TwoResults.forward.__wrapped__), (net, TwoResults.forward)):
            a, b = forward(model, np.ones((2, 3), "f"))
            F.sum(results[which](a, b)).backward()
        for p, q in zip(net.params(), plain.params(), strict=True):
            assert (p.grad is None) == (q.grad is None)
            assert p.grad is None or p.grad.tobytes() == q.grad.tobytes()

    monkeypatch.setattr(_piece, "Traced", Counted)
    monkeypatch.setattr(_piece, "_SMALL", small)
    net, plain = TwoResults(), TwoResults()
    plain.copyparams(net)
    with chainer.using_config("static_budget", None):
        for _ in range(3):
            call(0)
        before = len(made)
        for which in (1, 2, 3):
            call(which)
            call(which)
        assert len(made) - before == traces
        for _ in range(100):
            call(0)
    (site,) = net.schedule_manager._sites.values()
    pieces = [piece for plan in site.plans() for piece in plan.pieces]
    assert pieces and all([piece._trace is None for piece in pieces])


class Words(chainer.Chain):
    """Programs of any sizes, or of the turns of its loop, serve its calls."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm, self.out = L.EmbedID(10, 6), L.LSTM(6, 6), L.Linear(6, 10)

    @chainer.static_graph
    def forward(self, xs):
        self.lstm.reset_state()
        loss = 0
        for x, t in zip(xs[:-1], xs[1:], strict=True):
            loss += F.softmax_cross_entropy(self.out(self.lstm(self.embed(x))), t)
        return loss


def words(k):
    """A batch whose length changes, of as many rows."""
    r = np.random.RandomState(k)
    return (r.randint(0, 10, (3 + k % 9, 4)).astype("i"),)


def rows(k):
    """Batches of one shape."""
    return (np.random.RandomState(k).randn(4, 12).astype("f"),)


@pytest.mark.parametrize("make, batch, calls", [
    (lambda: Compiled(12), rows, 40), (Words, words, 60), (Words, lambda k: words(k % 2), 30)])
def test_what_a_chain_has_held_goes_with_it(make, batch, calls):
    """Garbage is collected by the number of objects, however large the arrays are that wait."""
    gc.collect()
    gc.disable()
    try:
        with chainer.using_config("static_budget", None):
            model = make()
            optimizer = chainer.optimizers.Adam().setup(model)
            for k in range(calls):
                optimizer.update(model, *batch(k))
        assert BACKGROUND.wait(60)
        assert any([r.hits > 3 for r in model.schedule_manager.report()])
        there = [weakref.ref(x) for p in model.params() for x in (p, p.array, p.grad)]
        del model, optimizer
        assert not [type(x) for ref in there if (x := ref()) is not None]
    finally:
        gc.enable()
