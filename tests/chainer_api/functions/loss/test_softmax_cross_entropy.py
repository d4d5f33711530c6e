"""Softmax cross entropy beyond what the tables cover."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer.functions.loss.softmax_cross_entropy import SoftmaxCrossEntropy

X = np.array([[0., 1., 2.], [1., 3., 0.]], np.float32)
T = np.array([1, 2], np.int32)


@pytest.mark.parametrize('cache_score', [True, False])
def test_cached_score(cache_score):
    function = SoftmaxCrossEntropy(cache_score=cache_score)
    function.apply((X, T))
    if cache_score:
        np.testing.assert_allclose(function.y, F.softmax(X).array, rtol=1e-6)
    else:
        assert function.y is None


def test_half_precision_does_not_overflow():
    x = np.zeros((2 ** 15, 2), np.float16)
    t = np.zeros(2 ** 15, np.int32)
    loss = F.softmax_cross_entropy(x, t)
    assert loss.dtype == np.float16
    np.testing.assert_allclose(loss.array, np.log(2), rtol=1e-3)


def test_probabilities_get_no_gradient():
    x = chainer.Variable(X)
    t = chainer.Variable(F.softmax(X[::-1]).array)
    F.softmax_cross_entropy(x, t).backward()
    assert t.grad is None
    np.testing.assert_allclose(x.grad, (F.softmax(X).array - t.array) / 2, rtol=1e-5)


@pytest.mark.parametrize('n', [3, 5])
def test_class_weight_of_another_length(n):
    with pytest.raises(ValueError, match=f'class_weight has {n} items, for 4 classes'):
        F.softmax_cross_entropy(
            np.zeros((2, 4), 'f'), np.array([0, 1], 'i'), class_weight=np.ones(n, 'f'))


@pytest.mark.parametrize('dtype', ['i', 'l'])
def test_black_out_with_samples_of_another_dtype(dtype):
    x, w, t = np.zeros((1, 2), 'f'), np.zeros((3, 2), 'f'), np.array([0], dtype)
    for other in ('i', 'l'):
        loss = F.black_out(x, t, w, np.array([[1]], other))
        np.testing.assert_allclose(loss.array, 2 * np.log(2), rtol=1e-6)
