"""The state of NumPy's global generator."""

import numpy as np
import pytest

from chainer.graph_optimizations import _random


@pytest.fixture(autouse=True)
def same_afterwards():
    before = np.random.get_state()
    yield
    np.random.set_state(before)


def facts():
    name, key, *rest = np.random.get_state()
    return name, key.tobytes(), *rest


@pytest.fixture(params=["as it lies", "as NumPy tells it"])
def place(request, monkeypatch):
    if request.param == "as NumPy tells it":
        monkeypatch.setattr(_random, "_place_of_held", lambda: None)
    else:
        assert _random._place_of_held() is not None


def test_the_whole_state_comes_back(place):
    for seed in range(20):
        np.random.seed(seed)
        np.random.randn(seed)  # of an odd number one is held back
        before, state = facts(), _random.whole_generator_state()
        drawn = np.random.randn(seed % 7), np.random.rand(700), np.random.randn(3)
        assert facts() != before
        _random.set_generator_state(state)
        assert facts() == before
        again = np.random.randn(seed % 7), np.random.rand(700), np.random.randn(3)
        assert all(map(np.array_equal, drawn, again))


def test_what_normal_draws_hold_back_is_part_of_it(place):
    np.random.seed(0)
    np.random.randn(1)
    state, plain = _random.whole_generator_state(), _random.generator_state()
    np.random.randn(1)  # takes what is held, and draws nothing
    assert _random.generator_state() == plain
    held = np.random.randn(1)
    _random.set_generator_state(state)
    np.random.randn(1)
    assert np.random.randn(1) == held
    _random.set_generator_state(state)
    assert facts()[3] == 1


def test_another_bit_generator(place):
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(0))
    try:
        state = _random.whole_generator_state()
        drawn = np.random.rand(3)
        _random.set_generator_state(state)
        assert np.array_equal(np.random.rand(3), drawn)
    finally:
        np.random.set_bit_generator(before)
