"""Rows of tables as parameters of tests: the first of each function or link is for each commit."""
import contextlib
import sys

import numpy as np
import pytest

from chainer.backends import cuda


def marked(rows, name=lambda row: row.name):
    """Parameters; those whose name is another row's and more are variations, marked as slow."""
    names = {name(row) for row in rows}
    return [
        pytest.param(row, id=name(row), marks=[pytest.mark.slow] * any(
            name(row).startswith(f'{other}_') for other in names))
        for row in rows]


SIMULATED = cuda.available and 'simulated' in cuda.cupy.__file__


@contextlib.contextmanager
def draws():
    """Yields a list, which is empty afterwards if nothing was drawn of NumPy's generator."""
    found, seed = [], np.random.seed

    def state():
        _, words, *rest = np.random.get_state()
        return words.tobytes(), *rest

    def look():
        if state() != undrawn[0]:
            found.append(True)

    def seeded(*args):
        look()
        seed(*args)
        undrawn[0] = state()

    undrawn = [state()]
    np.random.seed = seeded
    try:
        yield found
    finally:
        np.random.seed = seed
        look()


def assert_close(found, expected, rtol, atol, drawn=()):
    """The same gaps, types and shapes, and close numbers; integers are equal.

    Numbers that are ``drawn`` are others on a real device, and NumPy's on the simulated one.
    """
    assert len(found) == len(expected)
    for a, e in zip(found, expected, strict=True):
        if e is None or a is None:
            assert a is e
            continue
        assert (a.dtype, a.shape) == (e.dtype, e.shape)
        if drawn and not SIMULATED:
            continue
        if e.dtype.kind == 'f':
            np.testing.assert_allclose(a, e, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(a, e)


def has_same_bits(found, expected, model):
    """Whether arrays on the host are the same; on a GPU nearly, where sums have no order.

    ``model`` has the compiled method that gave the one; define-by-run gave the other.
    """
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if found.tobytes() == expected.tobytes():
        return True
    in_order = SIMULATED and not sys.modules['cupy._ufunc'].settings.shuffled
    if in_order or all(p._schedule.repeatable for p in model.schedule_manager.programs):
        return False
    return np.allclose(found, expected, rtol=1e-4, atol=1e-5)
