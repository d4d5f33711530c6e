"""Chains that live for a few calls: their programs would never come back."""

import copy
import gc

import numpy as np
import pytest
from trust import Base

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _account, _lives, _making
from chainwright.runtime import Ledger
from chainwright.runtime.rate import Rate


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """Programs cost nothing, so that only what is expected of lives decides."""
    monkeypatch.setitem(vars(chainer.global_config), "static_budget", 0.1)
    monkeypatch.setattr(_account, "_OF_PROGRAM", 0.0)
    for name in ("COMPILING", "PROVING", "NATIVE", "ANY_SIZE"):
        monkeypatch.setattr(_account, name, Rate(1e-9, 0.0))
    monkeypatch.setattr(_making, "COMPILING", Rate(1e-9, 0.0))


def made():
    class Model(Base):
        @chainer.static_graph
        def forward(self, x):
            return F.sum(F.tanh(self.a(x)) ** 2)

    return Model()


def calls(model, times):
    for _ in range(times):
        model.cleargrads()
        model(np.ones((2, 4), "f")).backward()


def report(model):
    return model.schedule_manager.report()[0]


def test_programs_are_not_made_for_a_few_calls():
    original, traces = made(), []
    calls(original, 30)
    assert report(original).traces
    for _ in range(12):
        brief = copy.deepcopy(original)
        calls(brief, 5)
        traces.append(report(brief).traces)
        del brief
    assert sum(traces[:1]) and not sum(traces[2:])


def test_who_lives_longer_is_compiled(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_budget", 1e9)  # whatever was lost
    original = made()
    for _ in range(4):
        brief = original.copy(mode="copy")
        calls(brief, 5)
        del brief
    calls(original, 8)
    assert not report(original).traces
    (why,) = report(original).plainly
    assert "chains of this kind have lived for a few calls only" in why
    calls(original, 40)
    assert report(original).traces and report(original).hits


def test_what_is_lost_is_remembered():
    """Chains of 60 calls each, of which none has paid: they share one budget."""
    lives = _lives.Lives()
    for _ in range(4):
        lives.ended(60, 30, 0.6, 0.2)
    assert lives.owed == pytest.approx(0.8) and lives.seconds == pytest.approx(2.4)
    lives.ended(60, 30, 0.6, -1.0)
    assert lives.owed == 0.0
    assert lives.to_pass() == 0 and lives.to_come(0) == 60


def test_where_the_last_ones_were_gone_before_any_program_served_them_calls_pass():
    lives = _lives.Lives()
    for _ in range(8):
        assert lives.to_pass() == 0
        lives.ended(60, 0, 0.6, 0.0)
    assert lives.to_pass() == 61
    lives.ended(60, 3, 0.6, 0.0)
    assert lives.to_pass() == 0


def test_what_takes_more_calls_than_are_to_come_waits():
    account = _account.Account(Ledger("forward"))
    account.calls = 150
    assert not account._comes_back_in(100.0, 1.0)  # as many as there were
    account.lives.ended(153, 9, 0.0, 0.0)
    assert account._comes_back_in(100.0, 1.0) > 0
    assert not account._comes_back_in(2.0, 1.0)


def test_chains_are_not_asked_for_their_hash():
    class Model(Base):
        def __eq__(self, other):
            raise AssertionError

        @chainer.static_graph
        def forward(self, x):
            return F.sum(F.tanh(self.a(x)))

    assert Model.__hash__ is None
    first, second = Model(), Model()
    calls(first, 3)
    calls(second, 3)
    del first
    assert report(second).eager_calls + report(second).hits == 3


def test_nothing_grows_with_chains():
    original = made()
    calls(original, 1)
    cell = dict(zip(type(original).forward.__code__.co_freevars,
                    type(original).forward.__closure__, strict=True))
    lives = cell["lives"].cell_contents
    for _ in range(50):
        calls(original.copy(mode="copy"), 1)
    gc.collect()
    assert lives.to_come(0) and not lives._gone
    assert len(lives._there) == 1 and len(lives._calls) <= 8
