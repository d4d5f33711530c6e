"""Other threads that look at what a compiled call has left on its model, while it goes on."""

import contextlib
import copy
import sys
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import function


@contextlib.contextmanager
def taking_turns_often():
    """Threads that change places between any two instructions, nearly."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Net(chainer.Chain):
    """Keeps one of its results, and its Python: it counts."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.h, self.calls = kind, None, []
        with self.init_scope():
            self.a, self.b, self.c = L.Linear(6, 16), L.Linear(16, 8), L.Linear(8, 3)
            self.bn, self.lstm = L.BatchNormalization(16), L.LSTM(16, 8)

    def forward(self, x):
        g = F.relu(self.a(x))
        if self.kind == "drop":
            g = F.dropout(g)
        elif self.kind == "bn":
            g = self.bn(g)
        self.h = self.lstm(g) if self.kind == "lstm" else F.tanh(self.b(g))
        self.calls.append(np.random.rand())
        return self.c(self.h)


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


def losses(model, steps=250):
    """Bytes of the losses of some steps of training."""
    np.random.seed(1)
    optimizer, found = chainer.optimizers.SGD(0.1).setup(model), []
    for _ in range(steps):
        model.lstm.reset_state()
        loss = F.mean(model(np.random.randn(5, 6).astype("f")) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        found.append(loss.array.tobytes())
    return found


def reads(model):
    if model.h is not None:
        float(model.h.array[0, 0])


def copies(model):
    if model.h is not None:
        copy.deepcopy(model.h)


def goes_on(model):
    if model.h is not None:
        float(F.sum(F.tanh(model.h)).array)


def made(kind, make):
    np.random.seed(0)
    return make(kind)


@pytest.mark.parametrize("look", [reads, copies, goes_on])
@pytest.mark.parametrize("kind", ["drop", "bn", "lstm"])
def test_a_thread_that_looks_changes_nothing(kind, look):
    expected = losses(made(kind, Net))
    model, done, failed = made(kind, Compiled), threading.Event(), []

    def watch():
        try:
            while not done.is_set():
                look(model)
        except Exception as error:
            failed.append(error)

    watcher = threading.Thread(target=watch)
    with chainer.using_config("static_budget", None), taking_turns_often():
        watcher.start()
        try:
            found = losses(model)
        finally:
            done.set()
            watcher.join()
    assert not failed
    assert found == expected
    assert model.schedule_manager.report()[0].hits > 100


class Reading(function.Function):
    """Reads what another model has left on itself, in the middle of a call."""

    def __init__(self, other):
        self.other = other

    def forward(self, inputs):
        reads(self.other)
        return (inputs[0] + 1,)

    def backward(self, inputs, gys):
        return gys


class Mutual(Net):
    other = None

    @chainer.static_graph
    def forward(self, x):
        self.h = F.tanh(self.b(F.relu(self.a(x))))
        h = Reading(self.other)(self.h)
        reads(self.other)
        return self.c(h * 2 - 1)


def test_two_calls_that_look_at_each_other_come_to_an_end():
    one, two = made("", Mutual), made("", Mutual)
    one.other, two.other = two, one
    failed = []

    def train(model):
        try:
            with chainer.using_config("static_budget", None):
                losses(model, 120)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=train, args=(m,), daemon=True) for m in (one, two)]
    with taking_turns_often():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not failed
    assert not any([thread.is_alive() for thread in threads])
