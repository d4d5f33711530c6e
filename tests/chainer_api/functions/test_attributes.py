"""Attributes of function nodes that exporters and counters of operations read.

The values are those of 5.4 and 7.8.1.
"""
import numpy as np
import pytest

import chainer
import chainer.functions as F

x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3))
image = chainer.Variable(np.ones((1, 2, 4, 4), 'f'))
W = np.ones((2, 3, 3, 3), 'f')
condition = np.array([[True, False, True]] * 2)
permutation = np.array([1, 0], 'i')


@pytest.mark.parametrize(('call', 'attribute', 'value'), [
    (lambda: F.pad(x, 1, 'constant'), 'pad_bw', [1, 1]),
    (lambda: F.pad(x, (1,), 'constant'), 'pad_bw', [1, 1]),
    (lambda: F.pad(x, (1, 2), 'constant'), 'pad_bw', [1, 2]),
    (lambda: F.pad(x, ((1, 2), (0, 1)), 'constant'), 'pad_bw', [[1, 2], [0, 1]]),
    (lambda: F.permutate(x, permutation), 'indices', [1, 0]),
    (lambda: F.permutate(x, chainer.Variable(permutation)), 'indices', [1, 0]),
    (lambda: F.split_axis(x, 3, 1)[0], 'indices', None),
    (lambda: F.split_axis(x, 3, 1)[0], 'sections', 3),
    (lambda: F.split_axis(x, 3, 1)[0], 'indices_or_sections', 3),
    (lambda: F.split_axis(x, (1, 2), 1)[0], 'indices', [1, 2]),
    (lambda: F.split_axis(x, (1, 2), 1)[0], 'sections', None),
    (lambda: F.split_axis(x, range(1, 3), 1)[0], 'indices', [1, 2]),
    (lambda: F.split_axis(x, np.array([1, 2]), 1)[0], 'indices', [1, 2]),
    (lambda: F.deconvolution_2d(image, W), 'outh', 6),
    (lambda: F.deconvolution_2d(image, W), 'outw', 6),
    (lambda: F.deconvolution_2d(image, W, stride=2, pad=1, outsize=(7, 8)), 'outw', 8),
    (lambda: F.deconvolution_nd(image, W), 'outs', (6, 6)),
    (lambda: F.unpooling_2d(image, 2), 'outh', 7),
    (lambda: F.unpooling_2d(image, 2), 'outw', 7),
    (lambda: F.unpooling_2d(image, 2, outsize=(8, 8)), 'outh', 8),
    (lambda: F.upsampling_2d(image, np.zeros((1, 2, 4, 4), 'i'), 2), 'outh', 7),
    (lambda: F.where(condition, x, x), 'condition', condition.tolist()),
    (lambda: F.where(chainer.Variable(condition), x, x), 'condition', condition.tolist()),
])
def test_attribute(call, attribute, value):
    found = getattr(call().creator_node, attribute)
    if isinstance(found, np.ndarray):
        found = found.tolist()
    assert found == value and type(found) is type(value)


def test_repeat_retains_its_input():
    y = F.repeat(x, 2)
    retained, = y.creator_node.get_retained_inputs()
    assert retained is x


def test_rsqrt_is_two_functions():
    divide = F.rsqrt(x).creator_node
    assert (divide.label, divide.inputs[0].creator_node.label) == ('1.0 / _', 'sqrt')
    assert divide.inputs[0].creator_node.inputs[0] is x.node
