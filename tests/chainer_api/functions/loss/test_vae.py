"""Losses of variational autoencoders."""
import numpy as np
import pytest

import chainer
import chainer.functions as F


@pytest.mark.parametrize('dtype', [np.int32, bool, np.float64])
def test_observations_may_be_of_any_dtype(dtype):
    y = np.float32([1, -2, .5])
    expected = F.bernoulli_nll(np.float32([0, 1, 1]), y)
    got = F.bernoulli_nll(np.array([0, 1, 1], dtype), chainer.Variable(y))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.array, expected.array)
