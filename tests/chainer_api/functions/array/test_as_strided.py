"""F.as_strided; what is not plain indexing is what 7.8.1 gives for the same lines."""
import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import gradient_check

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize('shape, strides, offset, expected', [
    ((2, 2), (1, 1), None, [[0, 1], [1, 2]]), ((2, 2), (4, 1), 3, [[3, 4], [7, 8]]),
    ((2, 2), (-4, 1), 8, [[8, 9], [4, 5]]), ((2, 2), (0, 1), 8, [[8, 9], [8, 9]]),
    ((0, 2), (100, 1), None, []), ((), (), 5, 5)])
def test_values(shape, strides, offset, expected):
    y = F.as_strided(X, shape, strides, offset)
    np.testing.assert_array_equal(y.array, np.reshape(expected, shape))
    assert y.dtype == X.dtype
    assert np.shares_memory(y.array, X) == (y.size > 0)


@pytest.mark.parametrize('x, strides, offset, expected', [
    (X.T, (1, 4), None, [[0, 4], [1, 5]]), (X[:, 1:], (4, 1), None, [[1, 2], [5, 6]]),
    (X[:, 1:], (4, 1), 0, [[0, 1], [4, 5]]), (X[:, 1:], (4, 1), 1, [[1, 2], [5, 6]]),
    (X[::-1, ::-1], (-4, -1), None, [[11, 10], [7, 6]]),
    (np.asfortranarray(X), (3, 1), 0, [[0, 4], [1, 5]]),
    (X.view(np.int32).view(np.float32), (4, 1), None, [[0, 1], [4, 5]])])
def test_inputs_that_are_views(x, strides, offset, expected):
    y = F.as_strided(x, (2, 2), strides, offset)
    np.testing.assert_array_equal(y.array, expected)


def test_integers_and_attributes():
    y = F.as_strided(np.arange(4), [2], [2])
    assert y.array.tolist() == [0, 2]
    f = F.as_strided(chainer.Variable(X), (2, 2), (1, 1)).creator
    assert (f.label, f.shape, f.strides, f.storage_offset) == ('AsStrided', (2, 2), (1, 1), 0)


@pytest.mark.parametrize('shape, strides, offset, error', [
    ((4, 4), (4, 1), 1, 'too large'), ((2, 2), (-4, 1), None, 'too small'),
    ((2,), (1,), 12, 'too large'), ((1,), (1,), -1, 'too small'), ((2, 2), (4,), None, 'length')])
def test_errors(shape, strides, offset, error):
    with pytest.raises(ValueError, match=error):
        F.as_strided(X, shape, strides, offset)


def gradient(x, *args):
    x = chainer.Variable(x)
    y = F.as_strided(x, *args)
    y.grad = np.arange(1, y.size + 1, dtype=y.dtype).reshape(y.shape)
    y.backward()
    return x.grad


# 7.8.1 fails for an empty view and for a single number.
@pytest.mark.parametrize('args, expected', [
    (((2, 2), (1, 1)), [1, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    (((2, 2), (4, 1), 3), [0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0]),
    (((2, 2), (-4, 1), 8), [0, 0, 0, 0, 3, 4, 0, 0, 1, 2, 0, 0]),
    (((2, 2), (0, 1), 8), [0, 0, 0, 0, 0, 0, 0, 0, 4, 6, 0, 0]),
    (((3, 3), (1, 1), 2), [0, 0, 1, 6, 15, 14, 9, 0, 0, 0, 0, 0]),
    (((0, 2), (4, 1)), [0] * 12), (((), (), 5), [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])])
def test_gradients_of_overlapping_views_add_up(args, expected):
    gx = gradient(X, *args)
    assert gx.dtype == X.dtype
    np.testing.assert_array_equal(gx.ravel(), expected)


@pytest.mark.parametrize('x, strides, expected', [
    (X.T, (1, 4), [[1, 2, 0], [3, 4, 0], [0, 0, 0], [0, 0, 0]]),
    (X[:, 1:], (4, 1), [[1, 2, 0], [3, 4, 0], [0, 0, 0]]),
    (X[::2], (4, 1), [[1, 2, 0, 0], [0, 0, 0, 0]])])
def test_gradients_of_inputs_that_are_views(x, strides, expected):
    np.testing.assert_array_equal(gradient(x, (2, 2), strides), expected)


def test_inputs_that_overlap_themselves():
    # Both elements are the same number, and share what is its gradient.
    x = np.broadcast_to(np.float32(3), (2,))
    assert gradient(x, (2,), (0,)).tolist() == [1.5, 1.5]


@pytest.mark.parametrize('args', [((3, 3), (1, 1), 2), ((2, 2), (-4, 1), 8), ((2, 4), (0, 2), 1)])
def test_derivatives(args):
    x = np.random.RandomState(0).randn(3, 4)
    gy = np.random.RandomState(1).randn(*args[0])

    def f(x):
        return F.as_strided(x, *args) ** 3

    gradient_check.check_backward(f, x, gy)
    gradient_check.check_double_backward(f, x, gy, x)


def test_in_a_static_graph():
    class Model(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return F.sum(F.as_strided(F.tanh(x * 2), (3, 3), (1, 1), 2) ** 2)

    model = Model()
    for seed in range(3):
        x = chainer.Variable(np.random.RandomState(seed).randn(3, 4))
        model(x).backward()
        expected = chainer.Variable(x.array)
        F.sum(F.as_strided(F.tanh(expected * 2), (3, 3), (1, 1), 2) ** 2).backward()
        np.testing.assert_array_equal(x.grad, expected.grad)
