"""Functions of another library, as pairs of forward and backward."""
import numpy as np

import chainer
from chainer.functions.theano import theano_function


def forward(x, y):
    return [x * y, x + y]


def backward(x, y, gp, gs):
    return [gp * y + gs, gp * x + gs]


def test_outputs_and_gradients():
    x, y = chainer.Variable(np.array([1., 2.])), chainer.Variable(np.array([3., 5.]))
    product, total = theano_function.theano_function(forward, backward, x, y)
    np.testing.assert_array_equal(product.array, [3, 10])
    np.testing.assert_array_equal(total.array, [4, 7])
    gx, gy = chainer.grad(
        [product, total], [x, y],
        [chainer.Variable(np.array([1., 1.])), chainer.Variable(np.array([10., 20.]))])
    np.testing.assert_array_equal(gx.array, [13, 25])
    np.testing.assert_array_equal(gy.array, [11, 22])


def test_integers_have_no_gradient():
    x = chainer.Variable(np.array([1., 2.]))
    y = theano_function.theano_function(
        lambda x, i: x * i, lambda x, i, gy: [gy * i, gy * x], x, np.array([2, 3]))
    y.grad = np.ones(2)
    y.backward()
    np.testing.assert_array_equal(x.grad, [2, 3])
