"""Schedules: two programs and their buffers; the ledger."""

import gc
import logging
import sys

import numpy as np
import pytest
from schedules import schedule_of_tanh

from chainwright.runtime import Kept, Ledger
from chainwright.runtime.arenas import Pool


def test_forward_and_backward():
    schedule = schedule_of_tanh()
    for seed in range(3):
        x = np.random.RandomState(seed).randn(2, 3)
        (y,), kept = schedule.forward((x,))
        (gx,) = schedule.backwards["all"](kept.values, (np.full((2, 3), 2.0),))
        assert (y == np.tanh(x * 3)).all() and (gx == 2.0 * (1 - y * y) * 3).all()
    assert "def tanh" in schedule.source and schedule.seconds > 0


def test_calls_in_flight_do_not_share_buffers():
    schedule = schedule_of_tanh()
    xs = [np.random.RandomState(k).randn(2, 3) for k in range(6)]
    runs = [schedule.forward((x,)) for x in xs]
    for x, (_, kept) in zip(xs, runs, strict=True):
        (gx,) = schedule.backwards["all"](kept.values, (np.ones((2, 3)),))
        y = np.tanh(x * 3)
        assert (gx == (1 - y * y) * 3).all()


def test_buffers_come_back_and_few_are_kept():
    schedule = schedule_of_tanh("numpy")
    runs = [schedule.forward((np.ones((2, 3)),)) for _ in range(10)]
    assert not schedule._runner.kept.idle
    del runs
    gc.collect()
    schedule._runner.kept.put_away()
    assert len(schedule._runner.kept.idle) == 4
    schedule.trim()
    assert not schedule._runner.kept.idle and not schedule._runner.scratch.idle


def test_what_was_lent_comes_back_once_its_holder_is_gone():
    pool, holder = Pool(lambda: (np.empty(3),)), Kept(())
    lent = pool.take()
    pool.lend(lent, holder)
    assert pool.take() is not lent
    del holder
    assert pool.take() is lent
    assert pool.take() is not lent


@pytest.mark.parametrize("rows", [2, 1 << 18])  # memory of its own, and shared
def test_no_python_runs_as_buffers_come_back(rows):
    """It would be where the exception of a signal handler comes, and nobody hears of it."""
    schedule = schedule_of_tanh("numpy", rows)
    _, kept = schedule.forward((np.ones((rows, 3)),))
    happened = []
    sys.setprofile(lambda frame, event, arg: happened.append((event, frame.f_code.co_name)))
    del kept
    sys.setprofile(None)
    assert "call" not in [event for event, _ in happened]


def test_the_ledger_is_bounded_and_logs(caplog):
    ledger = Ledger("Net.forward", size=3)
    with caplog.at_level(logging.INFO, "chainwright"):
        for k in range(5):
            ledger.add("trace", f"reason {k}", "net.py:3", 0.25)
        for _ in range(3):  # said once
            ledger.add("define-by-run", "values were read", "net.py:4")
        ledger.add("distrusted", "another value", "net.py:5")
    report = ledger.report()
    assert [e.reason for e in report.events] == ["values were read"] * 2 + ["another value"]
    assert "[net.py:4]" in str(report) and " 0.00 ms" not in str(report)
    assert "250.00 ms" in caplog.text
    assert [r.levelname for r in caplog.records] == ["INFO"] * 6 + ["WARNING"]
