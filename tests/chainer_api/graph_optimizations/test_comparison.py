import itertools
import math
import random

import pytest

from chainer.graph_optimizations import _comparison


def _closed_after(monkeypatch, ratio, spent=0.0, others=0.0, behind=0.0, each=1):
    """The comparisons after which loops are closed, where a call takes so many times as long.

    What takes ``behind`` comes behind one in so many calls.
    """
    lengths, now, told = random.Random(0), 0.0, []
    monkeypatch.setattr(_comparison, "clock", lambda: now)
    steps, turns, all_spent = _comparison.Comparison(), 0, 0.0
    for call in itertools.count(1):
        plainly = steps.comes() and steps.begins([1 + call, turns], all_spent)
        ends = steps._starts + steps._window.steps
        told += [steps.ends([2.0, 1.0])] if call == ends else []
        if told and told[-1] or len(told) == 4:
            return len(told) if told[-1] else None
        length = lengths.randrange(1, 40)
        turns += length
        now += (2.0 + length) * (1.0 if plainly else ratio) + others
        now += 0.0 if call % each else behind
        if not plainly:
            now += spent
            all_spent += spent


@pytest.mark.parametrize("ratio, closed_after", [(1.3, 2), (1.06, 4), (1.03, None), (0.5, None)])
def test_steps_of_any_lengths_are_compared(monkeypatch, ratio, closed_after):
    """By the first comparison, not all programs are there."""
    assert _closed_after(monkeypatch, ratio) == closed_after


def test_what_is_spent_does_not_count(monkeypatch):
    assert _closed_after(monkeypatch, 1.0, spent=50.0) is None


def test_what_matters_is_how_long_all_takes(monkeypatch):
    assert _closed_after(monkeypatch, 1.3, others=1000.0) is None


def test_steps_of_other_threads_do_not_count(monkeypatch):
    monkeypatch.setattr(_comparison, "get_ident", itertools.count().__next__)
    assert _closed_after(monkeypatch, 5.0) is None


@pytest.mark.parametrize("each", [2, 3, 4, 5, 6, 8, 12])
def test_backward_may_come_behind_some_calls_only(monkeypatch, each):
    assert _closed_after(monkeypatch, 1.0, behind=20.0 * each, each=each) is None
    assert _closed_after(monkeypatch, 1.4, behind=20.0 * each, each=each) == 2


def test_what_gets_slower_later_is_compared_again_soon(monkeypatch):
    steps, now = _comparison.Comparison(), 0.0
    monkeypatch.setattr(_comparison, "clock", lambda: now)
    for call in itertools.count(1):
        plainly = steps.comes() and steps.begins([call], 0.0)
        if steps.ends([1.0]):
            break
        now += 1.0 if plainly or call < 3000 else 1.08
    assert 3000 < call < 3000 + 1024 + 2 * 288


def _compared(monkeypatch, ratio, calls, interrupted=(), gain_until=math.inf):
    """The calls at which it turned out that steps are slower which seem to gain, and plain ones."""
    steps, now, found, plain = _comparison.Comparison(), 0.0, [], []
    monkeypatch.setattr(_comparison, "clock", lambda: now)
    for call in range(1, calls):
        if call in interrupted:
            steps.is_interrupted()
        plainly = False
        if steps.comes():
            if call < gain_until:
                steps.glances()
            plainly = steps.is_near and steps.begins([call], 0.0)
            if steps.ends([1.0]):
                found.append(call)
        now += 1.0 if plainly else ratio
        plain += [call] if plainly else []
    return found, plain


def test_where_programs_seem_to_gain_few_calls_are_compared(monkeypatch):
    found, plain = _compared(monkeypatch, 0.5, 20000)
    assert not found and plain[0] > 288 and len(plain) <= 6 * 7


def test_and_more_where_these_are_slower(monkeypatch):
    found, plain = _compared(monkeypatch, 1.3, 4000)
    assert found[0] < 1200 and len(plain) > 24


def test_what_seems_to_gain_at_first_only_is_compared_like_others(monkeypatch):
    found, plain = _compared(monkeypatch, 1.3, 1200, gain_until=300)
    assert len([call for call in plain if call < 500]) == 24 and found[0] < 800


def test_what_was_interrupted_tells_nothing(monkeypatch):
    found, plain = _compared(monkeypatch, 1.3, 4000, range(4000))
    assert not found and plain


def test_what_has_rested_is_compared_again_at_once(monkeypatch):
    found, _ = _compared(monkeypatch, 1.3, 4000)
    assert {b - a for a, b in itertools.pairwise(found)} == {128}
