"""What a decorated method costs is bounded: threads, memory, traces, words in the log.

``benchmarks/bench_memory.py`` has the full figures (2,000 batch sizes, 2,000 dropped chains).
"""

import collections
import gc
import linecache
import logging
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest
from compare import decorated
from trust import Base, variable

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations._piece import Piece
from chainwright.runtime import eager
from chainwright.runtime.background import BACKGROUND


class Net(Base):
    """Functions of several kinds, statistics among them."""

    def forward(self, x):
        h = F.relu(self.bn(self.a(x)))
        return F.sum(self.b(h) ** 2 + F.concat([h[:, 2:], h[:, :2]]), axis=1)


class Dropping(Net):
    def forward(self, x):
        return super().forward(F.dropout(x))


class Deep(Base):
    def forward(self, x):
        for _ in range(6):
            x = F.tanh(self.a(x)) + F.sigmoid(self.b(x))
        return x


def in_threads(work, count=8):
    """Run ``work(k)`` in threads that start together; what they gave, in order."""
    together, found, errors = threading.Barrier(count), [None] * count, []

    def body(k):
        try:
            together.wait()
            found[k] = work(k)
        except Exception as e:  # a thread's exception belongs to the test
            errors.append(e)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return found


def made(cls, compiled=True):
    np.random.seed(3)
    return (decorated(cls) if compiled else cls)()


def call(model, k):
    """Result and gradient of a call, without touching anything that threads share."""
    x = variable(k)
    y = model(x)
    (g,) = chainer.grad([F.sum(y * y)], [x])
    return y.array.tobytes() + g.array.tobytes()


@pytest.mark.parametrize("cls", [Deep, Dropping, Net])
def test_eight_threads_call_one_cold_chain(cls, caplog):
    """Internal errors while one traced and another replayed.

    Nor is a program distrusted since another thread has drawn, or written to statistics.
    """
    with caplog.at_level(logging.WARNING, "chainwright"):
        for _ in range(4):
            model = made(cls)
            in_threads(lambda _, m=model: [call(m, i) for i in range(25)])
    assert not caplog.records


def test_eight_threads_get_what_one_gets():
    plain = made(Deep, compiled=False)
    expected = [[call(plain, 8 * i + k) for i in range(25)] for k in range(8)]
    for _ in range(3):
        model = made(Deep)
        assert in_threads(lambda k, m=model: [call(m, 8 * i + k) for i in range(25)]) == expected


def test_another_call_between_a_program_and_its_check(monkeypatch):
    """The graph that a check builds belongs to its own call: gradients were those of the other."""
    plain, model = made(Deep, compiled=False), made(Deep)
    for k in range(3):
        call(model, k)
    check, calls = Piece._check, []

    def forward(k):
        x = variable(k)
        calls.append((k, x, model(x)))

    def checked(*args):
        if not calls:
            other = threading.Thread(target=forward, args=(9,))
            other.start()
            other.join()
        check(*args)

    monkeypatch.setattr(Piece, "_check", checked)
    with chainer.using_config("static_check", "always"):
        forward(8)
    assert [k for k, _, _ in calls] == [9, 8]
    for k, x, y in calls:
        (g,) = chainer.grad([F.sum(y * y)], [x])
        assert y.array.tobytes() + g.array.tobytes() == call(plain, k)


def test_a_piece_is_renewed_while_its_program_runs(monkeypatch):
    """What backward reads belongs to the compilation that has run."""

    class Clocked(Deep):
        def forward(self, x):
            time.time()  # its Python runs in every call
            return super().forward(x)

    plain, model = made(Deep, compiled=False), made(Clocked)
    for k in range(6):
        call(model, k)
    (site,) = model.schedule_manager._sites.values()
    ((piece,),) = [plan.pieces for plan in site.plans()]
    schedule, forward = piece.schedule, type(piece.schedule).forward

    def renewed(self, arrays):
        results = forward(self, arrays)
        monkeypatch.undo()
        piece.renew()
        return results

    monkeypatch.setattr(type(schedule), "forward", renewed)
    x = variable(5)
    y = model(x)
    assert piece.schedule is not schedule
    ((run, _, _),) = y._node._creator_node._backwards.values()
    assert run is next(iter(schedule.backwards.values()))
    (g,) = chainer.grad([F.sum(y * y)], [x])
    assert y.array.tobytes() + g.array.tobytes() == call(plain, 5)


def test_eight_threads_with_shapes_of_their_own():
    def calls(model, k):
        found = []
        for i in range(20):
            x = variable(i, 1 + (i + k) % 5, 4)
            y = model(x)
            found.append(y.array.tobytes())
            found.append(chainer.grad([F.sum(y)], [x])[0].array.tobytes())
        return found

    plain = made(Deep, compiled=False)
    expected = [calls(plain, k) for k in range(8)]
    model = made(Deep)
    assert in_threads(lambda k: calls(model, k)) == expected


def test_modes_of_threads():
    """One thread trains while others evaluate: configuration belongs to a thread."""

    def work(model, k):
        found = []
        for i in range(20):
            with (
                chainer.using_config("train", False),
                chainer.using_config("enable_backprop", k % 2 == 0),
            ):
                y = model(variable(i))
                found.append((y.array.tobytes(), y.creator is None))
        return found

    plain = made(Net, compiled=False)
    expected = [work(plain, k) for k in range(8)]
    model = made(Net)
    assert in_threads(lambda k: work(model, k)) == expected


def test_a_chain_for_each_thread():
    """Chains of one class, each trained by a thread of its own."""

    def train(model):
        optimizer = chainer.optimizers.SGD(0.01).setup(model)
        for i in range(15):
            model.cleargrads()
            F.sum(model(variable(i)) ** 2).backward()
            optimizer.update()
        return [p.array.tobytes() for _, p in sorted(model.namedparams())]

    expected = train(made(Net, compiled=False))
    models = [made(Net) for _ in range(8)]
    assert in_threads(lambda k: train(models[k])) == [expected] * 8


# -- Memory ------


def traced_bytes():
    BACKGROUND.wait(60)  # native code that is being compiled takes memory meanwhile
    for _ in range(3):
        gc.collect()
    return tracemalloc.get_traced_memory()[0]


def growth(work, first, last):
    """Bytes that ``work`` leaves behind for each of the numbers from ``first`` to ``last``.

    What is left behind is so in each of four parts; what is made once, and a table of Python's own
    that moves, are in some of them.
    """
    for k in range(first):
        work(k)
    found, part = [], (last - first) // 4
    tracemalloc.start()
    try:
        for start in range(first, last, part):
            before = traced_bytes()
            for k in range(start, start + part):
                work(k)
            found.append((traced_bytes() - before) / part)
    finally:
        tracemalloc.stop()
    return min(found)


def three_steps(model, n):
    for k in range(3):
        model.cleargrads()
        F.sum(model(variable(k, n + 1, 4))).backward()


def test_batch_sizes_leave_nothing_behind(monkeypatch):
    """Each trace left the source of its guards in ``linecache``: 6 to 69 kB."""
    monkeypatch.setattr(eager, "_LIMIT", 16)  # of layouts that are remembered: all are, by then
    model = made(Net)
    lines = len(linecache.cache)
    assert growth(lambda n: three_steps(model, n), 120, 160) < 1000
    assert len(linecache.cache) - lines <= 30


def test_dropped_chains_leave_nothing_behind():
    """Neither themselves nor their programs stay."""
    held = []

    def work(k):
        model = made(Net)
        three_steps(model, 2)
        held.append(weakref.ref(model))

    assert growth(work, 30, 70) < 1000
    assert [r() for r in held] == [None] * 70


def test_changing_numbers_leave_nothing_behind():
    class Scaled(Base):
        k = 1.0

        def forward(self, x):
            return F.tanh(self.a(x)) * self.k

    model = made(Scaled)

    def work(n):
        model.k = 1.0 + n
        three_steps(model, 2)

    assert growth(work, 70, 110) < 1000


def test_calls_without_backward_leave_nothing_behind():
    model = made(Net)
    assert growth(lambda k: model(variable(k)), 30, 130) < 200


# -- Traces and words ------


def traces(model):
    """How many traces the report tells of."""
    found = 0
    for report in model.schedule_manager.report():
        if isinstance(getattr(report, "traces", None), int):
            found += report.traces
        else:
            found += sum(event.kind == "trace" for event in report.events)
    return found


class Ragged(chainer.Chain):
    """An LSTM over sequences of different lengths."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm = L.EmbedID(9, 4), L.NStepLSTM(1, 4, 5, 0.0)

    def forward(self, xs):
        h, _, _ = self.lstm(None, None, [self.embed(x) for x in xs])
        return F.sum(h * h)


def ragged(k):
    random = np.random.RandomState(k)
    return [random.randint(0, 9, n).astype("i") for n in random.randint(1, 12, 4)]


def test_shapes_that_never_come_back_are_not_traced(caplog):
    """The log says each thing once, and names what differs from call to call."""
    caplog.set_level(logging.INFO, "chainwright")
    model = made(Ragged)
    for k in range(16):
        model.cleargrads()
        model(ragged(k)).backward()
    assert traces(model) <= 2
    said = collections.Counter(r.getMessage() for r in caplog.records if r.name == "chainwright")
    assert not said or max(said.values()) == 1, said
    warned = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warned) <= 1
    assert all("shape" in text for text in warned)


@pytest.mark.parametrize("how", ["argument", "attribute", "integer"])
def test_a_number_that_changes_is_not_traced_in_each_call(how):
    class Weighted(Base):
        beta = 1.0

        def forward(self, x, beta=None):
            return F.sum(F.tanh(self.a(x)) * (self.beta if beta is None else beta))

    model = made(Weighted)
    for k in range(40):
        model.cleargrads()
        if how == "attribute":
            model.beta = 1.0 / (k + 1)
        given = {"argument": [k / 7], "integer": [k], "attribute": []}[how]
        model(variable(k), *given).backward()
    assert traces(model) <= 6


def test_what_settles_is_compiled_later():
    """Annealing ends, and then the method is as fast as any other."""

    class Annealed(Base):
        k = 0

        def forward(self, x):
            return F.sum(F.leaky_relu(self.a(x), max(0.1, 1 - self.k / 20)))

    model = made(Annealed)
    for model.k in range(80):
        model.cleargrads()
        model(variable(1)).backward()
    programs = model.schedule_manager.programs
    assert programs
    before = traces(model)
    for _ in range(10):
        model.cleargrads()
        model(variable(1)).backward()
    assert traces(model) == before


def test_a_rotation_of_shapes_is_bounded():
    """More shapes in rotation than schedules are kept."""
    model = made(Net)
    for k in range(90):
        model.cleargrads()
        F.sum(model(variable(k, 1 + k % 12, 4))).backward()
    assert traces(model) <= 30
