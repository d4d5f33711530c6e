"""Whether steps are slower with programs: what is compared, how soon, and what that takes."""

import itertools
import random
import threading

import pytest

from chainer.graph_optimizations import _comparison
from chainer.graph_optimizations._comparison import Comparison


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    """What comes by chance does not depend on the tests before."""
    monkeypatch.setattr(Comparison, "_made", 0)


class Steps:
    """A training of which the steps take ``ratio(call)`` times as long as plain ones.

    ``plain(call)`` is what these take; ``spent`` goes into programs in each of the others.
    """

    def __init__(
            self, monkeypatch, ratio, plain=lambda call: 1e-4, spent=0.0, gains=False,
            other=lambda call: 0.0):
        self.other = other  # seconds of what comes in between
        self.now = self.spent = 0.0
        monkeypatch.setattr(_comparison, "clock", lambda: self.now)
        self.steps = Comparison()
        self.ratio, self.plain, self.each, self.gains = ratio, plain, spent, gains
        self.plainly, self.slower, self.saved = [], [], []

    def go(self, calls, passes=lambda call: 0):
        left = unseen = 0
        for call in range(calls):
            if left == 0 and unseen == 0:
                if call >= self.steps.due:
                    left = self.steps.comes(call, self.spent, self.plain(call), self.gains)
                    if self.steps.saves_each:
                        self.saved.append(self.steps.saves_each)
                        self.steps.saves_each = 0.0
                    if self.steps.slower_by:
                        self.slower.append(call)
                        self.steps.begins_anew(call + 64)
                unseen = 0 if left else passes(call)
            else:
                unseen = max(unseen - 1, 0)
            self.now += self.other(call)
            if left:
                self.plainly.append(call)
                left -= 1
                self.now += self.plain(call)
            else:
                self.now += self.plain(call) * self.ratio(call) + self.each
                self.spent += self.each
        return self


@pytest.mark.parametrize("ratio, within", [(1.5, 480), (1.2, 480), (1.08, 480), (1.04, 1200)])
def test_what_is_slower_is_found_soon(monkeypatch, ratio, within):
    assert Steps(monkeypatch, lambda call: ratio).go(1500).slower[0] < within


@pytest.mark.parametrize("ratio", [1.02, 1.0, 0.9, 0.3])
def test_what_is_not_is_not_found(monkeypatch, ratio):
    assert not Steps(monkeypatch, lambda call: ratio).go(20000).slower


@pytest.mark.parametrize("ratio", [0.3, 0.7, 1.1])
def test_it_tells_what_a_call_saves(monkeypatch, ratio):
    saved = Steps(monkeypatch, lambda call: ratio).go(500).saved
    assert saved == [pytest.approx((1.0 - ratio) * 1e-4) for _ in saved]
    assert bool(saved) is (ratio < 1.0)


@pytest.mark.parametrize("ratio", [0.25, 0.5, 0.8, 0.9, 0.97])
def test_plain_steps_take_little_where_programs_gain(monkeypatch, ratio):
    steps = Steps(monkeypatch, lambda call: ratio).go(20000)
    more = len(steps.plainly) * (1.0 - ratio) / (20000 * ratio)
    assert steps.plainly and more < 0.04
    few = Steps(monkeypatch, lambda call: ratio, gains=True).go(20000)
    assert len(few.plainly) <= 1.2 * len(steps.plainly)


def test_what_gets_slower_later_is_found_too(monkeypatch):
    steps = Steps(monkeypatch, lambda call: 0.95 if call < 5000 else 1.1).go(8000)
    assert 5000 < steps.slower[0] < 6500


@pytest.mark.parametrize("ratio", [0.85, 1.2])
@pytest.mark.parametrize("seed", range(4))
def test_steps_that_take_any_time_are_told_from_noise(monkeypatch, seed, ratio):
    """Sentences of any lengths, and now and then an evaluation."""
    lengths = random.Random(seed)
    plain = [lengths.randrange(5, 20) * 1e-4 + 0.1 * (k % 500 == 499) for k in range(6000)]
    found = Steps(monkeypatch, lambda call: ratio, plain.__getitem__).go(6000)
    assert bool(found.slower) is (ratio > 1.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("every", [30, 50, 70])
@pytest.mark.parametrize("ratio", [1.25, 0.8])
def test_other_work_every_now_and_then_does_not_hide_what_is_slower(
        monkeypatch, ratio, every, seed):
    """It is as long as two windows: some pairs have it in the plain one, as if programs gained."""
    monkeypatch.setattr(Comparison, "_made", seed)
    found = Steps(
        monkeypatch, lambda call: ratio, other=lambda call: 5e-3 * (call % every == every - 1)
    ).go(8000)
    if ratio > 1.0:
        assert found.slower
    else:
        assert len(found.slower) < 2 and len(found.plainly) < 8000 / 3


@pytest.mark.parametrize("each", [2, 3, 4, 5, 6, 8, 12])
def test_backward_may_come_behind_some_calls_only(monkeypatch, each):
    def plain(call):
        return 1e-4 + 1e-3 * (call % each == each - 1)

    assert not Steps(monkeypatch, lambda call: 1.0, plain).go(6000).slower
    assert Steps(monkeypatch, lambda call: 1.4, plain).go(3000).slower


def test_what_is_spent_on_programs_does_not_count(monkeypatch):
    """It has a budget, and is to come back."""
    assert not Steps(monkeypatch, lambda call: 1.0, spent=5e-5).go(6000).slower


def test_calls_at_which_nobody_looks_are_compared_as_well(monkeypatch):
    passed = random.Random(0)
    steps = Steps(monkeypatch, lambda call: 1.2)
    assert steps.go(2000, lambda call: passed.randrange(64)).slower


def test_steps_of_other_threads_do_not_count(monkeypatch):
    monkeypatch.setattr(_comparison, "get_ident", itertools.count().__next__)
    assert not Steps(monkeypatch, lambda call: 5.0).go(4000).slower


@pytest.mark.parametrize("ratio", [0.8, 1.2])
def test_threads_that_take_turns_are_compared_too(monkeypatch, ratio):
    """Each has a clock of its own; the calls of one are counted."""
    chance, thread, clocks = random.Random(0), 0, [0.0, 5.0, 9.0]
    monkeypatch.setattr(_comparison, "clock", lambda: clocks[thread])
    monkeypatch.setattr(_comparison, "get_ident", lambda: thread)
    steps, slower, plainly = Comparison(), 0, 0
    for call in range(8000):
        thread = chance.randrange(3)
        plain = steps.comes(call, 0.0, 1e-4, False) if call >= steps.due else 0
        assert plain in (0, 1) or call < 300  # until the first of another one comes
        if steps.slower_by:
            slower += 1
            steps.begins_anew(call + 64)
        clocks[thread] += 1e-4 * (1.0 if plain else ratio)
        plainly += plain
    assert bool(slower) is (ratio > 1.0) and plainly >= 96


def test_a_thread_that_has_gone_in_the_middle_is_not_waited_for(monkeypatch):
    thread = 0
    monkeypatch.setattr(_comparison, "get_ident", lambda: thread)
    steps = Comparison()
    for call in range(200, 300):
        steps.comes(call, 0.0, 1e-4, False)
        thread = call % 2
    thread, ends = 2, 300 + 2 * _comparison._GONE
    for call in range(300, ends):
        steps.comes(call, 0.0, 1e-4, False)
    assert steps._window.thread == 2


@pytest.mark.parametrize("slower", [0, 1])
def test_methods_are_compared_at_the_same_time(monkeypatch, slower):
    """Two methods in each step, of which one has become slower."""
    now, found = [0.0], []
    monkeypatch.setattr(_comparison, "clock", lambda: now[0])
    both, left = [Comparison(), Comparison()], [0, 0]
    for call in range(4000):
        for k, steps in enumerate(both):
            if left[k] == 0 and call >= steps.due:
                left[k] = steps.comes(call, 0.0, 1e-4, False)
                if steps.slower_by:
                    found.append(k)
                    steps.begins_anew(call + 64)
            now[0] += 1e-4 * (1.0 if left[k] or k != slower else 1.3)
            left[k] = max(left[k] - 1, 0)
    assert found.count(slower) > 4 * found.count(1 - slower)


def test_threads_may_come_at_the_same_time():
    steps, calls, failed = Comparison(), itertools.count(200), []

    def go():
        try:
            for call in itertools.islice(calls, 2000):
                if call >= steps.due:
                    steps.comes(call, 0.0, 1e-4, False)
                    if steps.slower_by:
                        steps.begins_anew(call + 64)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_what_has_rested_is_compared_after_some_calls(monkeypatch):
    steps = Comparison()
    assert steps.comes(5000, 0.0, 1e-4, False) == 0 and steps._window is None
    assert steps.due == 5000 + _comparison._WARM
