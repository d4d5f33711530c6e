"""Classes of functions under chainer.functions, as Chainer 1 to 4 had them."""
import importlib

import numpy as np
import pytest

import chainer.functions as F

CLASSES = {
    'activation.relu': 'ReLU', 'activation.sigmoid': 'Sigmoid', 'activation.tanh': 'Tanh',
    'activation.lstm': 'LSTM', 'array.concat': 'Concat', 'array.reshape': 'Reshape',
    'pooling.max_pooling_2d': 'MaxPooling2D', 'pooling.average_pooling_2d': 'AveragePooling2D',
    'loss.softmax_cross_entropy': 'SoftmaxCrossEntropy', 'noise.dropout': 'Dropout',
    'connection.linear': 'LinearFunction',
}


@pytest.mark.parametrize('module', CLASSES)
def test_aliases(module):
    name = CLASSES[module]
    try:
        there = importlib.import_module(f'chainer.functions.{module}')
    except ModuleNotFoundError:
        pytest.skip('the module has another place')
    assert getattr(F, name) is getattr(there, name)


def test_an_alias_computes():
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    y, = F.MaxPooling2D(2).apply((x,))
    assert y.array.tolist() == [[[[5, 7], [13, 15]]]]


@pytest.mark.parametrize('name', ['Nothing', 'FunctionNode', 'nothing', '__nothing__', '_Hidden'])
def test_other_names_are_missing(name):
    with pytest.raises(AttributeError, match=f"'chainer.functions' has no attribute '{name}'"):
        getattr(F, name)
