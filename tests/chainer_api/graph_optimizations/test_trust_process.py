"""What else goes on in the process of a compiled method: clocks, logs, finalizers, a deep stack."""

import contextlib
import gc
import logging
import signal
import sys
import time
from unittest import mock

import numpy as np
import pytest
from trust import Base, variable

import chainer
import chainer.functions as F
from chainer import _tracing
from chainer.graph_optimizations import _dry, _piece, _plan, _trace


class Plain(Base):
    def forward(self, x):
        self.kept = F.dropout(F.relu(self.bn(self.a(x))), 0.2)
        return F.sum(self.b(self.kept) ** 2)


class Compiled(Plain):
    forward = chainer.static_graph(Plain.forward)


def train(cls, calls=12, around=contextlib.nullcontext):
    """What some steps give, each within a context of its own."""
    np.random.seed(0)
    model, found = cls(), []
    for k in range(calls):
        with around():
            model.cleargrads()
            loss = model(variable(k))
            loss.backward()
        found.append([loss.array.tobytes(), *[p.grad.tobytes() for p in model.params()]])
    return found, model


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_budget", None)


@pytest.mark.parametrize("name", ["perf_counter", "thread_time", "monotonic"])
@pytest.mark.parametrize("budget", [None, 0.1])
def test_clocks_that_stand_still(name, budget):
    with mock.patch.object(time, name, return_value=5.0):
        with chainer.using_config("static_budget", budget):
            found, _ = train(Compiled)
    assert found == train(Plain)[0]


def test_a_handler_of_logs_that_raises():
    class Handler(logging.Handler):
        def emit(self, record):
            raise ValueError("a fault of the handler")

    handler, root = Handler(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        found, model = train(Compiled)
        with pytest.raises(ValueError, match="a fault of the handler"):
            logging.getLogger("somebody").warning("else")
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert found == train(Plain)[0] and model.schedule_manager.report()[0].hits > 6


def test_no_garbage_is_collected_while_something_is_made_or_proved(monkeypatch):
    """Finalizers and callbacks of the collector may call compiled models themselves."""
    enabled = []

    def watched(function):
        def call(*args):
            enabled.append(gc.isenabled())
            return function(*args)
        return call

    monkeypatch.setattr(_dry.Dry, "run", watched(_dry.Dry.run))
    monkeypatch.setattr(_piece, "Traced", watched(_piece.Traced))
    assert train(Compiled)[0] == train(Plain)[0]
    assert len(enabled) > 1 and not any(enabled) and gc.isenabled()


@pytest.mark.parametrize("how", ["__del__", "signal"])
@pytest.mark.parametrize("where", [(_dry.Dry, "_finish"), (_trace.Session, "apply_function")])
def test_who_comes_in_the_middle_calls_a_model(how, where, monkeypatch):
    other, x, seen = Compiled(), variable(99), []

    def call(*_):
        state = np.random.get_state()[1].tobytes()
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            y = other(x)
            seen.append((y.array.tobytes(), other.kept.array.tobytes()))
        assert np.random.get_state()[1].tobytes() == state

    class Finalized:
        def __del__(self):
            call()

    handler = signal.signal(signal.SIGUSR1, call)
    cls, name = where
    inner, busy = getattr(cls, name), []

    def interrupted(*args):
        if not busy:  # it does not come in the middle of itself
            busy.append(None)
            if how == "signal":
                signal.raise_signal(signal.SIGUSR1)
            else:
                Finalized()
            busy.clear()
        return inner(*args)

    monkeypatch.setattr(cls, name, interrupted)
    try:
        found, model = train(Compiled)
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert found == train(Plain)[0] and model.schedule_manager.report()[0].hits > 6
    assert seen and len({*seen}) == 1


class Recursive(Base):
    def forward(self, x, n):
        return F.tanh(self.a(x)) if n == 0 else self.forward(F.tanh(self.a(x)), n - 1)


class CompiledRecursive(Recursive):
    forward = chainer.static_graph(Recursive.forward)


def test_a_method_that_calls_itself_may_do_so_often():
    """Each decorated call adds one frame of the library's."""
    depth = (sys.getrecursionlimit() - len(list(_frames()))) // 2 - 40
    for _ in range(4):
        model = CompiledRecursive()
        wanted = Recursive.forward
        y = model.forward(variable(1), depth)
        with mock.patch.object(CompiledRecursive, "forward", wanted):
            assert (y.array == model.forward(variable(1), depth).array).all()


class Inner(Base):
    """One whose method is compiled, and called by another one's."""

    @chainer.static_graph
    def forward(self, x):
        return F.tanh(self.a(F.relu(self.a(x))))


class Outer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.one, self.other = Inner(), Inner()

    def forward(self, x):
        return self.other(F.sigmoid(self.one(x)))


class CompiledOuter(Outer):
    forward = chainer.static_graph(Outer.forward)


def _step(model, x):
    model.cleargrads()
    y = model(x)
    F.sum(y).backward()
    grads = [None if p.grad is None else p.grad.tobytes() for _, p in sorted(model.namedparams())]
    return y.array.tobytes(), grads


def test_compiled_methods_in_a_compiled_one_are_left_to_it():
    np.random.seed(0)
    model, plain = CompiledOuter(), Outer()
    plain.copyparams(model)
    with chainer.using_config("static_budget", 0.0):  # it waits, and they do
        for k in range(300):
            assert _step(model, variable(k)) == _step(plain, variable(k))
    for inner in (model.one, model.other):
        assert not inner.schedule_manager.report()[0].spent
    model = CompiledOuter()
    model.copyparams(plain)
    with chainer.using_config("static_budget", None):
        for k in range(40):
            assert _step(model, variable(k)) == _step(plain, variable(k))
    outer, = model.schedule_manager.report()
    assert outer.without_python > 12


@pytest.mark.parametrize("slower", [0, 1])
def test_they_are_not_where_it_has_no_programs_itself(slower):
    """Where programs have made it slower, theirs would do so, too."""
    np.random.seed(0)
    model, plain = CompiledOuter(), Outer()
    plain.copyparams(model)
    site = _site_of(model, variable(0))
    site.rests.count, site.ledger.plain_calls = slower, 1000
    site.sleep.begins_to_rest(1 << 20)
    with chainer.using_config("static_budget", None):
        for k in range(40):
            assert _step(model, variable(k)) == _step(plain, variable(k))
    assert model.schedule_manager.report()[0].hits == 0
    assert (model.one.schedule_manager.report()[0].without_python > 12) is not bool(slower)


def test_they_have_those_of_calls_from_elsewhere():
    np.random.seed(0)
    model, plain = CompiledOuter(), Outer()
    plain.copyparams(model)
    with chainer.using_config("static_budget", None):
        for k in range(30):
            _step(model.one, variable(k))
    before = model.one.schedule_manager.report()[0].hits
    _site_of(model, variable(0)).sleep.begins_to_rest(1 << 20)
    with chainer.using_config("static_budget", 0.0):
        for k in range(60):
            assert _step(model, variable(k)) == _step(plain, variable(k))
    assert model.schedule_manager.report()[0].hits == 0
    assert model.one.schedule_manager.report()[0].hits > before + 20
    assert model.other.schedule_manager.report()[0].hits == 0


def test_a_call_that_is_let_pass_leaves_nothing_behind_where_it_raises():
    model = CompiledOuter()
    site = _site_of(model, variable(0))
    for way in range(2):
        site.ledger.let_pass(1, "")
        with pytest.raises(Exception, match="type|dtype|array"):
            model(["no", "array"] if way else None)
        assert _tracing.state.site is None


def _site_of(model, x):
    model(x)
    site, = model.schedule_manager._sites.values()
    return site


def _frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.mark.parametrize("error", [RecursionError, MemoryError, ValueError])
def test_programs_that_have_no_room_are_not_distrusted(error, monkeypatch, caplog):
    class Printing(Base):
        @chainer.static_graph
        def forward(self, x):
            print(end="")  # it keeps its Python
            return F.tanh(self.a(x))

    model, fails = Printing(), [False]
    run = _plan.Plan.run

    def failing(plan, call):
        if fails[0]:
            raise error
        run(plan, call)

    monkeypatch.setattr(_plan.Plan, "run", failing)
    with chainer.using_config("static_budget", None):
        for k in range(12):
            fails[0] = k == 6
            x = variable(k)
            np.testing.assert_array_equal(model(x).array, F.tanh(model.a(x)).array)
    found, = model.schedule_manager.report()
    assert ("distrusted" in caplog.text) is (error is ValueError)
    assert found.with_python == (4 if error is ValueError else 9)


def test_there_may_be_no_room_to_compile(caplog):
    """A call that is deep in others fails, or gives what it gives; nobody is told of a fault."""

    def deep(call, frames):
        return deep(call, frames - 1) if frames else call()

    found, plain = [], []
    for cls, results in ((Compiled, found), (Plain, plain)):
        np.random.seed(0)
        model = cls()
        with chainer.using_config("train", False):
            for k in range(24):
                left = sys.getrecursionlimit() - len(list(_frames())) - 5 * k
                try:
                    deep(lambda model=model, k=k: model(variable(k)), left)
                except RecursionError:
                    pass
                results.append(model(variable(k)).array.tobytes())
    assert found == plain
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_a_state_whose_making_was_interrupted_is_made_anew():
    class Interrupted(Exception):
        pass

    for cls in (Plain, Compiled):
        model = cls()
        optimizer = chainer.optimizers.Adam().setup(model)
        rule = type(next(model.params()).update_rule)
        make, calls = rule.init_state, []

        def stopped(self, param, make=make, calls=calls):
            calls.append(param)
            if len(calls) == 2:
                raise Interrupted
            make(self, param)

        with mock.patch.object(rule, "init_state", stopped):
            with pytest.raises(Interrupted):
                optimizer.update(lambda model=model: F.sum(model(variable(1))))
        for k in range(3):
            optimizer.update(lambda model=model, k=k: F.sum(model(variable(k))))
        assert all(p.update_rule.state for p in model.params())


def test_names_of_files_may_be_any_bytes(caplog):
    """Those that no text is, on a file system of another encoding, stand in programs' comments."""
    text = (
        "class Model(Base):\n"
        "    @chainer.static_graph\n"
        "    def forward(self, x):\n"
        "        images = F.reshape(F.tanh(self.a(x)), (3, 1, 2, 2))\n"
        "        h = F.convolution_2d(images, F.reshape(self.b.W, (4, 1, 2, 2)), pad=1)\n"
        "        return F.sum(F.max_pooling_2d(F.relu(h), 2))\n"
    )
    names = {"Base": Base, "chainer": chainer, "F": F}
    exec(compile(text, "/tmp/caf\udcc3\udca9/p\udce9.py", "exec"), names)
    model = names["Model"]()
    for k in range(12):
        model(variable(k)).backward()
    assert model.schedule_manager.report()[0].hits > 6
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_parameters_that_were_frozen_behind_the_back_of_their_nodes():
    """By the attribute that nobody documents: their gradients are computed, and left alone."""

    def found(cls):
        np.random.seed(0)
        model, found = cls(), []
        for k in range(24):
            if k in (8, 16):
                for p in model.a.params():
                    p._requires_grad = k == 16
            model.cleargrads()
            loss = model(variable(k))
            loss.backward()
            found.append([None if p.grad is None else p.grad.tobytes() for p in model.params()])
        return found

    assert found(Compiled) == found(Plain)
