"""Rows of tables as parameters of tests: the first of each function or link is for each commit."""
import numpy as np
import pytest


def marked(rows, name=lambda row: row.name):
    """Parameters; those whose name is another row's and more are variations, marked as slow."""
    names = {name(row) for row in rows}
    return [
        pytest.param(row, id=name(row), marks=[pytest.mark.slow] * any(
            name(row).startswith(f'{other}_') for other in names))
        for row in rows]


def assert_close(found, expected, rtol, atol):
    """The same gaps, types and shapes, and close numbers; integers are equal."""
    assert len(found) == len(expected)
    for a, e in zip(found, expected, strict=True):
        if e is None or a is None:
            assert a is e
            continue
        assert (a.dtype, a.shape) == (e.dtype, e.shape)
        if e.dtype.kind == 'f':
            np.testing.assert_allclose(a, e, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(a, e)
