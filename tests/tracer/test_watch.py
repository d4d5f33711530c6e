"""Arrays that tell what is done with them."""

import operator
import weakref

import numpy as np
import pytest

from chainwright.tracer import FreshArray, WatchedArray, fresh, holds_watched, unwatch, watch


class Log:
    """A watcher that writes everything down, and computes operations as they are."""

    def __init__(self):
        self.lines = []

    def looked(self, how):
        self.lines.append(("looked", how))

    def operate(self, how, fn, args, kwargs):
        self.lines.append(("operate", how))
        plain = [[unwatch(v) for v in a] if type(a) is list else unwatch(a) for a in args]
        return fn(*plain, **kwargs)

    def made(self, array):
        return fresh(array, self)

    def changing(self, how, array, values):
        self.lines.append(("changing", how, holds_watched(values)))


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def z(log):
    return fresh(np.arange(6.0).reshape(2, 3), log)


@pytest.fixture
def x(log):
    return watch(np.array([1.0, 2.0, 0.0]), log)


def test_fresh_arrays_are_views_of_the_real_one(z, log):
    real = unwatch(z)
    assert type(z) is FreshArray and type(real) is np.ndarray and unwatch(z) is real
    z[0] = 7
    assert (real[0] == 7).all()
    assert type(unwatch(z[1])) is np.ndarray and np.shares_memory(unwatch(z[1]), real)
    assert fresh(np.float64(3), log) == 3 and type(fresh(real, None)) is np.ndarray


def test_fresh_arrays_compute_as_they_like(z, log):
    results = [
        z + 1, -z, z.T, z[0], z[z > 2], z.reshape(3, 2), np.sin(z), np.add(z, z), np.stack([z, z]),
        *np.split(z, 3, axis=1), *np.modf(z), z.copy(), z.astype("f"), z @ z.T,
        np.where(z > 1, z, 0), z.take([0, 1]), z.clip(0, 1),
    ]  # fmt: skip
    plain = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(results[0], plain + 1)
    np.testing.assert_array_equal(results[16], plain @ plain.T)
    assert all(type(r) is FreshArray for r in results)
    assert (z.sum(), float(z[1, 1]), len(z), z.tolist()[0]) == (15, 4, 2, [0, 1, 2])
    assert z.max() == 5 and np.isclose(z, plain).all() and 3.0 in z
    assert log.lines == []


CHANGES = {
    "setitem": lambda z, v: operator.setitem(z, 0, v),
    "setitem of a view": lambda z, v: operator.setitem(z.T, (slice(None), 0), v),
    "setitem of a row": lambda z, v: operator.setitem(z[1], slice(None), v),
    "iadd": lambda z, v: operator.iadd(z, v),
    "imul": lambda z, v: operator.imul(z, v),
    "put": lambda z, v: z.put([0, 1, 2], v),
    "copyto": lambda z, v: np.copyto(z, v),
    "np.put": lambda z, v: np.put(z, [0, 1, 2], v),
    "out": lambda z, v: np.add(z, v, out=z),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_told(name, z, log):
    expected = np.arange(6.0).reshape(2, 3)
    CHANGES[name](expected, np.array([1.0, 2.0, 0.0]))
    CHANGES[name](z, np.array([1.0, 2.0, 0.0]))
    np.testing.assert_array_equal(unwatch(z), expected)
    assert [line[0] for line in log.lines] == ["changing"]
    assert log.lines[0][2:] == (False,)


@pytest.mark.parametrize("name", CHANGES)
def test_watched_values_are_told(name, z, x, log):
    expected = np.arange(6.0).reshape(2, 3)
    CHANGES[name](expected, np.array([1.0, 2.0, 0.0]))
    CHANGES[name](z, x)
    np.testing.assert_array_equal(unwatch(z), expected)
    assert any(line[0] in ("looked", "operate") or line[2:] == (True,) for line in log.lines)


@pytest.mark.parametrize("change", [lambda z: z.sort(), lambda z: z.fill(1), lambda z: z.flat])
def test_other_changes_are_told(change, z, log):
    change(z)
    assert len(log.lines) == 1


@pytest.mark.parametrize(
    "take",
    [
        lambda z, i: z[:, i],
        lambda z, i: z.take(i),
        lambda z, i: z.T.dot(np.ones(2))[i],
        lambda z, i: np.take(z, i),
        lambda z, i: z[:, i > 0],
    ],
)
def test_watched_indexes_are_operations(take, z, log):
    index = watch(np.array([0, 2, 1]), log)
    expected = take(np.arange(6.0).reshape(2, 3), np.array([0, 2, 1]))
    np.testing.assert_array_equal(take(z, index), expected)
    assert log.lines and {line[0] for line in log.lines} == {"operate"}


def test_arithmetic_of_both_is_an_operation(z, x, log):
    for result in (z + x, x + z, np.maximum(z, x), np.concatenate([z[0], x])):
        assert type(result) is np.ndarray
    assert {line[0] for line in log.lines} == {"operate"}


def test_watched_arrays_tell_facts_without_a_word(x, log):
    assert type(x) is WatchedArray
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((3,), np.dtype("d"), 1, 3, 3)
    assert log.lines == []
    float(x[0])
    assert log.lines


@pytest.mark.parametrize("make", [fresh, watch])
def test_arrays_do_not_keep_their_watcher(make):
    log = Log()
    array = make(np.arange(3.0), log)
    ref = weakref.ref(log)
    del log
    assert ref() is None
    array[0] = 5
    assert (array + 1).tolist() == [6, 2, 3] and float(array[0]) == 5
