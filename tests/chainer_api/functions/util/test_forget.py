"""F.forget beyond what the tables cover."""
import numpy as np
import pytest

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


def batch_renormalization(forget):
    """Gradients and statistics of three batches; each sees the statistics of those before."""
    link = chainer.links.BatchRenormalization(3, rmax=1.5, dmax=.5, decay=.5)
    rng = np.random.RandomState(0)
    results = []
    for _ in range(3):
        x = chainer.Variable(rng.randn(5, 3).astype('f') * 2 + 1)
        link.cleargrads()
        y = forget(link, x)
        F.sum(y * y * y).backward()
        results += [x.grad, link.gamma.grad, link.beta.grad]
    return [*results, link.avg_mean, link.avg_var]


@pytest.mark.parametrize('forget', [
    F.forget,
    lambda link, x: F.forget(lambda x: F.forget(link, x), x),
    lambda link, x: F.forget(lambda x: link(x) + 0, x),
])
def test_statistics_are_as_in_the_first_call(forget):
    expected = batch_renormalization(lambda link, x: link(x))
    # Sums of 7.8.1, with F.forget, too; in 5.4 that gives 59.4, 45.7 and 31.7.
    sums = [abs(expected[i]).sum() for i in (0, 3, 6)]
    np.testing.assert_allclose(sums, [56.79674, 43.740112, 23.54249], 1e-5)
    for plain, forgotten in zip(expected, batch_renormalization(forget), strict=True):
        np.testing.assert_array_equal(plain, forgotten)


def test_two_calls_of_a_link_keep_their_order():
    def twice(link, x):
        return link(x) + link(2 * x)

    expected = batch_renormalization(twice)
    actual = batch_renormalization(lambda link, x: F.forget(lambda x: twice(link, x), x))
    for plain, forgotten in zip(expected, actual, strict=True):
        np.testing.assert_allclose(plain, forgotten, 1e-5, 1e-6)


def test_a_function_that_does_something_else_the_second_time():
    link = chainer.links.BatchRenormalization(3, rmax=1.5, dmax=.5)
    x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype('f'))
    y = F.forget(lambda x: link(link(x)) if chainer.config.in_recomputing else link(x), x)
    F.sum(y * y).backward()
    assert np.isfinite(x.grad).all()
