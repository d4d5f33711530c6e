"""F.forget beyond what the tables cover."""
import numpy as np

import chainer
import chainer.functions as F


def test_parameters_inside_get_gradients():
    W = chainer.Parameter(np.array([[1., 2.], [3., 4.]]))
    x = chainer.Variable(np.array([[1., 1.]]))
    y = F.forget(lambda x: F.matmul(x, W), x)
    y.grad = np.array([[1., 10.]])
    y.backward()
    np.testing.assert_array_equal(W.grad, [[1, 10], [1, 10]])
    np.testing.assert_array_equal(x.grad, [[21, 43]])


def test_only_inputs_and_outputs_are_kept():
    kept = []

    def function(x):
        y = F.exp(x)
        kept.append(y.creator)
        return y * y

    F.forget(function, chainer.Variable(np.array([1.])))
    assert kept == [None]


def test_forget_updates_statistics_once():
    results = []
    for forget in (False, True):
        bn = chainer.links.BatchNormalization(3)
        bn.cleargrads()
        x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype('f'))
        y = F.forget(bn, x) if forget else bn(x)
        F.sum(y * y * y).backward()
        results.append((bn.avg_mean, bn.avg_var, bn.gamma.grad, x.grad))
    for plain, forgotten in zip(*results):
        np.testing.assert_array_equal(plain, forgotten)
