"""Exceptions from outside (Ctrl-C, timeouts by signals): they arrive, and leave no trace."""

import gc
import signal
import sys
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _direct, _piece
from chainwright.runtime.background import BACKGROUND


class Timeout(Exception):
    pass


@pytest.fixture
def timeout():
    """What sends this process a signal of which the handler raises an exception."""

    def handler(number, frame):
        raise Timeout("too late")

    before = signal.signal(signal.SIGUSR1, handler)
    yield lambda: signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


class Plain(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.norm = L.Linear(6, 6), L.BatchNormalization(6)

    def forward(self, x):
        for _ in range(2):
            x = F.dropout(F.relu(self.a(x)), 0.3)
        return F.sum(self.norm(x) ** 2)


class Compiled(Plain):
    forward = chainer.static_graph(Plain.forward)


X = np.random.RandomState(0).randn(8, 6).astype("f")


def step(model):
    np.random.seed(1)
    model.cleargrads()
    loss = model(X)
    loss.backward()
    return loss.array.tobytes(), [p.grad.tobytes() for p in model.params()]


def made(cls):
    np.random.seed(0)
    return cls()


class Interrupting:
    """A profile function that interrupts the ``n``-th call of a function of the library."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        code = frame.f_code
        # Nothing arrives from destructors; locks of Python's own may end up as they should not, and
        # so does what a ``with`` has set, if it is interrupted before the first line of its exit.
        spared = code.co_name in ("__del__", "__exit__") or code.co_filename == threading.__file__
        if event == "call" and not spared:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def interrupted(model, n, calls):
    """Interrupt the ``n``-th call of a function in some steps; False if there are fewer."""
    profile = Interrupting(n)
    sys.setprofile(profile)
    try:
        for _ in range(calls):
            step(model)
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return profile.left <= 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # let go of
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 6))
def test_interrupts_anywhere(first):
    """After one, other models and the model itself go on as if nothing had been."""
    expected, train, n, found = step(made(Plain)), chainer.config.train, 1 + first, 0
    while True:
        model = made(Compiled)
        was = interrupted(model, n, 6)
        found += was
        assert step(made(Plain)) == expected, n
        assert chainer.config.train is train and chainer.config.enable_backprop
        for _ in range(6):
            assert step(model) == expected, n
        if not was:
            break
        n += 251
    assert found > 4


def test_timeouts_during_checks_of_types(timeout):
    class Checked(chainer.FunctionNode):
        def check_type_forward(self, in_types):
            timeout()

        def forward(self, inputs):
            return inputs

    with pytest.raises(Timeout):
        Checked().apply((X,))


def test_timeouts_during_programs(monkeypatch, timeout, caplog):
    expected, model, comes = step(made(Plain)), made(Compiled), []
    raising = _piece.raising

    def interrupted(*args):
        if comes:
            timeout()
        return raising(*args)

    for module in (_piece, _direct):
        monkeypatch.setattr(module, "raising", interrupted)
    for k in range(12):
        if k % 4 == 3:
            comes.append(k)
            with pytest.raises(Timeout):
                step(model)
            comes.clear()
        assert step(model) == expected
    assert not caplog.records


def test_debuggers_see_the_method():
    """Calls that would go without their Python have it while a trace function is set."""
    lines = []

    def trace(frame, event, argument):
        if frame.f_code is Plain.forward.__code__:
            lines.append(frame.f_lineno)
            return trace
        return None

    model, before = made(Compiled), sys.gettrace()
    for _ in range(12):
        step(model)
    (site,) = model.schedule_manager._sites.values()
    without = site.ledger.without_python
    sys.settrace(trace)
    try:
        step(model)
    finally:
        sys.settrace(before)
    assert lines and site.ledger.without_python == without > 0
    step(model)
    assert site.ledger.without_python == without + (before is None)


class Session:
    """Computes something when nobody needs it any more."""

    def __init__(self, found):
        self.found, self.me = found, self

    def __del__(self):
        try:
            self.found.append(float(F.sum(F.tanh(F.square(self.found.x))).array))
        except BaseException as error:
            self.found.append(repr(error))


class Found(list):
    x = np.ones(3, "f")


@pytest.mark.parametrize("threshold", [5, 40, 300])
def test_finalizers_compute_in_the_middle_of_calls(threshold):
    expected, model, found = step(made(Plain)), made(Compiled), Found()
    before = gc.get_threshold()
    gc.set_threshold(threshold, 1, 1)
    try:
        for _ in range(40):
            Session(found), Session(found)
            assert step(model) == expected
    finally:
        gc.set_threshold(*before)
        BACKGROUND.wait(60)  # a collection of its thread's keeps others from beginning
        gc.collect()
    wanted = float(np.tanh(np.ones(3, "f")).sum())
    assert len(found) == 80 and all([x == pytest.approx(wanted) for x in found]), set(found)


def test_signal_handlers_compute_in_the_middle_of_calls():
    """At calls of functions of the library: a profile function stands for a handler."""
    expected, model, found = step(made(Plain)), made(Compiled), []
    inside, count = [], 0

    def handler(number, frame):
        found.append(float(F.sum(F.tanh(F.square(Found.x))).array))

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"
        if not inside and count % 97 == 0:
            inside.append(1)
            try:
                handler(0, None)
            except BaseException as error:
                found.append(repr(error))
            inside.clear()

    was = signal.signal(signal.SIGUSR1, handler)
    sys.setprofile(profile)
    try:
        for _ in range(8):
            assert step(model) == expected
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGUSR1, was)
    assert len(found) > 50 and len({*found}) == 1, {*found}
