"""Rates from another machine count by how long Python takes here; what is measured here stays."""

import pytest

from chainwright.runtime import rate as module
from chainwright.runtime.rate import Rate, measure_pace, pace


def test_the_pace_is_that_of_late():
    for _ in range(3):
        measure_pace()
    assert 0.01 < pace() < 100 and len(module._measured) <= 5


def test_one_slow_moment_does_not_count(monkeypatch):
    monkeypatch.setattr(module, "_measured", module.deque([70e-6, 9.0, 70e-6], maxlen=5))
    assert pace() == pytest.approx(1.0)


@pytest.fixture
def here(monkeypatch):
    """How many times as long Python takes: to be set."""
    found = [2.0]
    monkeypatch.setattr(module, "pace", lambda: found[0])
    return found


def test_rates_of_another_machine(here):
    rate = Rate.elsewhere(1.0, 10.0)
    assert rate.of(5) == 30.0
    here[0] = 0.5
    assert rate.of(5) == 7.5


def test_what_is_measured_here_is_what_is_expected_here(here):
    rate = Rate.elsewhere(1.0, 10.0)
    for _ in range(100):
        rate.learn(64.0, 16)
    assert rate.of(16) == pytest.approx(64.0)
    here[0] = 4.0  # the machine has become slower
    assert rate.of(16) == pytest.approx(128.0)


def test_rates_of_this_machine_do_not_depend_on_it(here):
    assert Rate(1.0, 10.0).of(5) == 15.0
