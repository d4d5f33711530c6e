"""How long a method is left alone, and that it is looked at again."""

import contextlib

import numpy as np
import pytest
from trust import Base

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _site, _sleep, _ways


def left_alone(sleep, longest, calls):
    """The numbers of calls in a row for which a method is left alone, if none is ever served."""
    found = []
    for _ in range(calls):
        sleep.was_in_vain()
        sleep.may_begin(longest)
        if sleep.calls:
            found.append(sleep.calls)
            sleep.wakes()
    return found


def test_longer_each_time_but_not_for_good():
    sleep = _sleep.Sleep()
    assert left_alone(sleep, 32, 40) == [4, 8, 16, 32, 32, 32, 32]
    sleep.is_served()
    assert left_alone(sleep, 32, _sleep.PATIENCE) == [4]


def test_what_waits_for_less_wakes_earlier():
    sleep = _sleep.Sleep()
    sleep.begins(50, "dear")
    sleep.begins(80, "dear")
    assert (sleep.calls, sleep.why, sleep.rests) == (50, "dear", False)
    sleep.begins(20, "dear")
    assert sleep.calls == 20


def test_what_rests_is_not_woken_by_what_waits():
    sleep = _sleep.Sleep()
    sleep.begins_to_rest(1000)
    sleep.begins(4, "dear")
    assert sleep.rests and sleep.calls == 1000
    sleep.wakes()
    sleep.begins(4, "dear")
    assert not sleep.rests and sleep.calls == 4


def test_arguments_for_which_there_is_no_program_pass():
    forms = _ways.Forms()
    looked = [not forms.passes(1) for _ in range(4) if forms.was_in_vain(1) is None]
    assert looked == [True, True, True, False]
    for _ in range(20):
        forms.was_in_vain(1)
    assert sum([forms.passes(1) for _ in range(200)]) == 64
    forms.was_served(1, None)
    forms.was_in_vain(1)
    assert not forms.passes(1) and not forms.passes(2)


def test_some_calls_pass_by_chance_where_many_were_looked_at_in_vain():
    forms = _ways.Forms()
    assert not any([forms.unseen(n) for n in range(4)])
    found = [forms.unseen(1000) for _ in range(100)]
    assert max(found) < 64 and 20 < sum(found) / 100 < 44


class Net(Base):
    @chainer.static_graph
    def forward(self, x):
        return F.sum(self.b(F.tanh(self.a(x))))


class Other(np.ndarray):
    """Arrays of another class than NumPy's own."""


def with_other_arrays(net):
    net(np.ones((3, 4), "f").view(Other)).backward()


def with_errors(net):
    with contextlib.suppress(chainer.utils.type_check.InvalidType):
        net(np.ones((3, 5), "f"))


def with_the_graph(net):
    """No program computes what somebody asks for the graph of."""
    loss = net(np.ones((3, 4), "f"))
    assert loss.creator is not None
    loss.backward()


@pytest.mark.parametrize("step", [with_other_arrays, with_errors, with_the_graph])
def test_what_no_program_serves_is_left_alone(step, monkeypatch):
    """However often it comes: to look at each call takes as long as a small method."""
    net, runs = Net(), []
    run = _site.Site._run

    def counted(self, *args):
        runs.append(1)
        return run(self, *args)

    monkeypatch.setattr(_site.Site, "_run", counted)
    for _ in range(600):
        step(net)
    del runs[:]
    for _ in range(600):
        step(net)
    assert len(runs) < 120


def test_arrays_that_are_not_taken_are_told_of():
    net = Net()
    for _ in range(60):
        with_other_arrays(net)
    report, = net.schedule_manager.report()
    assert "an input of LinearFunction is no NumPy array" in str(report)
    assert len([e for e in report.events if "is no NumPy array" in e.reason]) == 1
    assert ["numpy.asarray(x)" in what for what in report.advice] == [True]
