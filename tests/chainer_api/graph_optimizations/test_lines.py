"""The user's lines in graphs, programs, times and labels."""

import io
import re

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.function_hooks import PrintHook, TimerHook
from chainer.functions.math.exponential import Exp
from chainer.link_hooks import SpectralNormalization
from chainwright.ir.parse import parse


def block(x):
    return F.tanh(x)  # line of the block


class Twice(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        h = block(x)  # first
        return sum([block(h * 2) for _ in range(2)])  # second


class Stopped(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        h = F.exp(x)  # before
        float(h.array.sum())
        return F.sin(h)  # after


def line(words):
    """``test_lines.py:12`` of the line that ends so."""
    with open(__file__, encoding="utf-8") as file:
        (number,) = [k for k, text in enumerate(file, 1) if text.endswith(f"# {words}\n")]
    return f"test_lines.py:{number}"


def called(model, calls=4, profile=False):
    with chainer.using_config("static_profile", profile):
        for _ in range(calls):
            model(chainer.Variable(np.ones(3, np.float32)))
    return model.schedule_manager.programs


def test_a_line_that_several_call_says_by_whom():
    (program,) = called(Twice())
    found = re.findall(r" = tanh .*# (.*)", str(program.optimized))
    inner, first, second = map(line, ("line of the block", "first", "second"))
    assert found == [f"{inner} Tanh < {who}" for who in (first, second, second)]
    assert f"# {line('second')} _ * 2\n" in str(program.optimized)
    assert f"# {inner} Tanh < {first}" in program.source
    assert str(parse(str(program.optimized))) == str(program.optimized)


def test_times_are_told_apart_by_who_has_called():
    model = Twice()
    called(model)
    (program,) = called(model, profile=True)
    lines = [time.line for time in program.profiles["forward"].by_line()]
    inner = line("line of the block")
    for words in ("first", "second"):
        assert f"{inner} Tanh < {line(words)}" in lines


def test_programs_with_equal_labels_say_where_they_begin():
    labels = [program.label for program in called(Stopped())]
    assert sorted(labels) == sorted(
        f"Stopped.forward(float32[3]), train, from {line(words)}" for words in ("before", "after")
    )


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(4, 3)
            self.bn = L.BatchNormalization(3)

    @chainer.static_graph
    def forward(self, x):
        return F.relu(self.bn(self.l(x))) * 2


def trained(hook, target, calls=8):
    """Gradients and statistics after some calls in the block of a hook, and the report."""
    np.random.seed(0)
    model, found = Net(), []
    xs = np.random.randn(calls, 5, 4).astype(np.float32)
    with chainer.using_config("static_target", target), hook:
        for x in xs:
            model.cleargrads()
            y = F.sum(F.exp(model(x)))
            y.backward()
            found += [y.array, *[p.grad for p in model.params()], model.bn.avg_var.copy()]
    return found, model.schedule_manager.report()[0]


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_a_timer_that_sees_programs_measures_their_parts(target):
    timer = TimerHook(compiled=True)
    (found, report), (plain, _) = trained(timer, target), trained(TimerHook(), target)
    assert report.hits >= 3 and not report.failed_checks
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    names = [name for name, _ in timer.call_history]
    assert {"Sum", "Exp"} <= set(names)  # outside of the method, as always
    assert "Net.forward" in names or target == "native"
    own = {part for name in names for part in name.split("+")}
    assert {"LinearFunction", "BatchNormalization", "ReLU", "_ * 2", "_ReLUGrad"} <= own
    assert all(seconds >= 0 for _, seconds in timer.call_history)
    assert 0 < timer.total_time() <= sum(seconds for _, seconds in timer.call_history)


def test_a_second_hook_that_sees_functions_has_them_all(caplog):
    timer = TimerHook(compiled=True)
    with timer, caplog.at_level("INFO", "chainwright"):
        _, report = trained(PrintHook(file=io.StringIO()), "numpy")
    assert report.hits == 0 and report.plainly == {"function hooks are registered": 8}
    assert caplog.text.count("whole calls are define-by-run: function hooks are registered") == 1
    assert "TimerHook(compiled=True)" in caplog.text
    names = [name for name, _ in timer.call_history]
    assert names.count("ReLU") == 16 and not any("+" in name for name in names)


class Hidden(chainer.Chain):
    """What programs may contain, and some calls have to apply between two of them."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        with self.init_scope():
            self.a = L.Linear(4, 4, initialW=np.eye(4))
            self.bn = L.BatchNormalization(4)
        self.a.add_hook(SpectralNormalization())

    @chainer.static_graph
    def forward(self, x):
        self.calls += 1
        h = self.bn(self.a(F.exp(x)))
        f = Exp()
        h = F.inv(F.matmul(h, h, transa=True) + np.eye(4, dtype=np.float32))
        if self.calls % 3:
            return F.exp(h)
        return f.apply((h,))[0]


class Caught(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        h = F.matmul(x, x, transa=True) + np.eye(4, dtype=np.float32)
        try:
            return F.inv(h) if x.array[0, 0] > 0 else F.exp(h)
        except ValueError:
            return h


@pytest.mark.parametrize("kind", [Hidden, Caught, Stopped])
def test_every_stop_has_a_reason(kind):
    model = kind()
    with chainer.using_config("static_budget", None):
        for k in range(30):
            model(chainer.Variable(np.random.RandomState(k).randn(3, 4).astype(np.float32)))
    (report,) = model.schedule_manager.report()
    assert report.hits and report.stops
    assert all(stop.reason for stop in report.stops)
