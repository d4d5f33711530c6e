"""What users see who give a function the wrong thing: which one, which input, what to do."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer.utils import type_check

X = np.zeros((4, 5), np.float32)
LABELS = [0, 1, 2, 3]


@pytest.mark.parametrize(('call', 'label', 'which'), [
    (lambda: F.softmax_cross_entropy(X, LABELS), 'SoftmaxCrossEntropy', 'input 2 of 2'),
    (lambda: F.softmax_cross_entropy(X.tolist(), np.zeros(4, np.int32)), 'SoftmaxCrossEntropy',
     'input 1 of 2'),
    (lambda: F.sigmoid_cross_entropy(X, LABELS), 'SigmoidCrossEntropy', 'input 2 of 2'),
    (lambda: F.accuracy(X, tuple(LABELS)), 'Accuracy', 'input 2 of 2'),
    (lambda: F.mean_squared_error(X, LABELS), 'MeanSquaredError', 'input 2 of 2'),
    (lambda: F.relu([1., 2.]), 'ReLU', 'the input'),
    (lambda: F.relu(1.), 'ReLU', 'the input'),
])
def test_lists_for_arrays(call, label, which):
    with pytest.raises(TypeError, match=(
            rf'^{which} of {label} cannot be used: .*not <class .*convert it with numpy.asarray')):
        call()


@pytest.mark.parametrize('shape', [(4,), (4, 1), (5, 4), (4, 5, 1), (1, 5)])
@pytest.mark.parametrize('char', 'efd')
def test_labels_that_are_no_probabilities(shape, char):
    for t in np.zeros(shape, char), chainer.Variable(np.zeros(shape, char)):
        with pytest.raises(type_check.InvalidType, match=(
                'the labels t must be int32, or have the shape of x, to be probabilities.*'
                f'{np.dtype(char)} of shape')):
            F.softmax_cross_entropy(X, t)


def test_labels_that_are_probabilities():
    t = np.full((4, 5), .2, np.float32)
    np.testing.assert_allclose(F.softmax_cross_entropy(X, t).array, np.log(5), rtol=1e-6)


@pytest.mark.parametrize('function', [
    lambda x: x * 2, F.relu, lambda x: F.reshape(x, (3, 1)), lambda x: x[:2], F.exp])
def test_backward_of_what_is_no_number(function):
    x = chainer.Variable(np.ones(3, np.float32))
    y = function(x)
    with pytest.raises(ValueError, match=(
            rf'backward\(\) starts at a variable of shape \({y.shape[0]},.*no single number.*'
            r'F\.sum.*ones_like')):
        y.backward()
    y.grad = np.ones_like(y.array)
    y.backward()
    assert x.grad is not None


def test_backward_that_fails_for_another_reason():
    class Bad(chainer.FunctionNode):
        def forward(self, inputs):
            return inputs

        def backward(self, indexes, grads):
            raise ValueError('another reason')

    y, = Bad().apply((chainer.Variable(np.ones(3, np.float32)),))
    y.grad = np.ones(3, np.float32)
    with pytest.raises(ValueError, match='^another reason'):
        y.backward()
