"""Masks that native code draws are those of NumPy's calls, and so is the state that it leaves."""

import threading

import numpy as np
import pytest

from chainwright.runtime import eager, options
from chainwright.runtime.kernels import random
from chainwright.runtime.native import draws, native_target

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")


@pytest.fixture(autouse=True)
def target(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "native")
    state = np.random.get_state(legacy=False)
    yield
    np.random.set_state(state)


def state():
    return [part.tobytes() if hasattr(part, "tobytes") else part for part in np.random.get_state()]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("skipped", [0, 1, 310, 311, 312, 623, 624])
def test_masks_and_states(dtype, skipped):
    scale = dtype(1 / 0.7)
    found = []
    for draw in (random.keep_mask, lambda *a: random.plain_mask(np.random, *a)):
        np.random.seed(skipped)
        np.random.randint(0, 2**32, skipped, np.uint32)  # one word each
        masks = [draw(shape, 0.3, scale) for shape in ((1,), (3, 5), (313,), (2, 0, 3), (40, 41))]
        found.append([*[(m.dtype, m.shape, m.tobytes()) for m in masks], state()])
    assert found[0] == found[1]


def test_native_code_draws(monkeypatch):
    monkeypatch.setattr(random, "plain_mask", None)
    assert random.keep_mask((3, 4), 0.5, np.float32(2)).shape == (3, 4)


@pytest.mark.parametrize("ratio, scale", [(0.5, np.float16(2)), (np.float32(0.5), np.float32(2))])
def test_what_stays_with_numpy(ratio, scale):
    np.random.seed(1)
    mask = random.keep_mask((7,), ratio, scale)
    np.random.seed(1)
    assert mask.tobytes() == random.plain_mask(np.random, (7,), ratio, scale).tobytes()


def test_another_generator(monkeypatch):
    other = np.random.RandomState(np.random.PCG64(0))
    monkeypatch.setattr(random, "generator", lambda: other._bit_generator)
    assert not draws.takes(random.generator(), (3,), 0.5, np.float32(2))
    np.random.seed(1)
    mask = random.keep_mask((7,), 0.5, np.float32(2))
    np.random.seed(1)
    assert mask.tobytes() == random.plain_mask(np.random, (7,), 0.5, np.float32(2)).tobytes()


def test_native_code_that_draws_other_numbers_is_not_used(monkeypatch, caplog):
    monkeypatch.setattr(draws, "same_bits", lambda a, b: False)
    draws.keep.cache_clear()
    try:
        assert draws.keep() is None and "draws other numbers" in caplog.text
    finally:
        draws.keep.cache_clear()


def test_nobody_waits(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "auto")
    masks = eager._Masks()
    scale = np.float32(2)
    assert [masks((2,), 0.5, scale) for _ in range(2)] == [None] * 2
    masks((2,), 0.5, scale)
    assert eager.BACKGROUND.wait(60) and masks((2,), 0.5, scale).shape == (2,)


def test_threads_draw_each_number_once():
    np.random.seed(3)
    scale = np.float32(1)
    wanted = random.plain_mask(np.random, (4 * 20 * 700,), 0.5, scale).sum()
    np.random.seed(3)
    sums = []

    def work():
        for _ in range(20):
            sums.append(random.keep_mask((700,), 0.5, scale).sum())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(sums) == wanted


def test_another_function_in_the_place_of_rand_is_heeded(monkeypatch):
    """As by ``unittest.mock``, in a test of the user's."""
    monkeypatch.setattr(random, "native_mask", lambda *_: 1 / 0)
    monkeypatch.setattr(np.random, "rand", lambda *shape: np.full(shape, 0.5))
    assert random.keep_mask((3,), 0.3, np.float32(2)).tolist() == [2, 2, 2]
