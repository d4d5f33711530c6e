"""``cupy.testing``."""
import numpy as np

from ._array import ndarray


def _host(x):
    return x._a if isinstance(x, ndarray) else x


def assert_array_equal(x, y, *args, **kwargs):
    np.testing.assert_array_equal(_host(x), _host(y), *args, **kwargs)


def assert_allclose(actual, desired, *args, **kwargs):
    np.testing.assert_allclose(_host(actual), _host(desired), *args, **kwargs)
