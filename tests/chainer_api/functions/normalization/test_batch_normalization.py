"""Running statistics of batch normalization, which are state outside of the function."""
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F


class Net(chainer.Chain):

    def __init__(self):
        super().__init__()
        self.mean = np.zeros(3, np.float32)
        self.var = np.ones(3, np.float32)
        self.gamma = np.full(3, 2, np.float32)
        self.beta = np.ones(3, np.float32)

    def forward(self, x):
        return F.batch_normalization(
            x, self.gamma, self.beta, running_mean=self.mean, running_var=self.var, decay=.8)


class StaticNet(Net):

    @chainer.static_graph
    def forward(self, x):
        return super().forward(x)


def batches():
    rng = np.random.RandomState(0)
    return [rng.standard_normal((6, 3, 2)).astype(np.float32) for _ in range(4)]


def test_running_statistics_are_written_in_place():
    net = Net()
    mean, var = net.mean, net.var
    x = batches()[0]
    net(x)
    assert net.mean is mean and net.var is var
    np.testing.assert_allclose(mean, .2 * x.mean(axis=(0, 2)), rtol=1e-5)
    # Twelve values: the unbiased variance is 12 / 11 of that of the batch.
    np.testing.assert_allclose(var, .8 + .2 * 12 / 11 * x.var(axis=(0, 2)), rtol=1e-5)


def test_running_statistics_of_a_static_graph():
    plain, static = Net(), StaticNet()
    for x in batches():
        y, z = plain(x), static(x)
        assert y.array.tobytes() == z.array.tobytes()
        assert plain.mean.tobytes() == static.mean.tobytes()
        assert plain.var.tobytes() == static.var.tobytes()


def test_one_value_has_the_variance_zero():
    mean, var = np.zeros(2), np.ones(2)
    F.batch_normalization(
        np.array([[3., 4.]]), np.ones(2), np.zeros(2), running_mean=mean, running_var=var)
    np.testing.assert_allclose(mean, [.3, .4])
    np.testing.assert_allclose(var, [.9, .9])


def test_running_statistics_keep_their_dtype():
    mean, var = np.zeros(3, np.float16), np.ones(3, np.float64)
    x = batches()[0]
    F.batch_normalization(
        x, np.ones(3, np.float32), np.zeros(3, np.float32), running_mean=mean, running_var=var)
    assert mean.dtype == np.float16 and var.dtype == np.float64
    np.testing.assert_allclose(mean, .1 * x.mean(axis=(0, 2)), rtol=2e-3, atol=1e-4)


def test_moments_of_the_batch_are_left_on_the_function():
    x = chainer.Variable(batches()[0])
    function = F.batch_normalization(
        x, np.ones(3, np.float32), np.zeros(3, np.float32)).creator
    np.testing.assert_allclose(function.mean, x.array.mean(axis=(0, 2)), rtol=1e-5)
    np.testing.assert_allclose(
        function.inv_std, (x.array.var(axis=(0, 2)) + 2e-5) ** -.5, rtol=1e-5)
    assert function.axis == (0, 2) and function.key_axis == (1,)


@pytest.mark.parametrize(('shape', 'warned'), [
    ((1, 3), True), ((1, 3, 1, 1), True), ((2, 3), False), ((1, 3, 2, 2), False), ((0, 3), False)])
def test_batch_of_one_is_warned_of(shape, warned):
    # As in 5.4 and 7.8.1.
    x, ones = np.ones(shape, 'f'), np.ones(3, 'f')
    for call in (lambda: F.batch_normalization(x, ones, ones),
                 lambda: chainer.links.BatchNormalization(3)(x)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            call()
        assert [w.category for w in caught if 'batch of one' in str(w.message)] == [
            UserWarning] * warned


def test_gradient_of_fixed_statistics_that_are_updated_before_backward():
    """A layer is called in test mode, then in training mode, then backward comes."""
    x = chainer.Variable(np.random.RandomState(0).randn(6, 3).astype('f'))
    gamma, beta, mean = (np.full(3, v, 'f') for v in (2, 0, .5))
    var = np.full(3, 4, 'f')
    y = F.fixed_batch_normalization(x, gamma, beta, mean, var)
    var[...] = 9
    F.sum(y).backward()
    np.testing.assert_allclose(x.grad, np.ones((6, 3), 'f'), rtol=1e-4)
