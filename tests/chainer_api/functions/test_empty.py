"""Batches of no examples: losses are what NumPy says (not a number), gradients are empty."""
import numpy as np
import pytest

import chainer
import chainer.functions as F

LABELS = np.zeros(0, np.int32)
FILTERS = np.ones((2, 3, 4), np.float32)


@pytest.mark.parametrize(('call', 'shapes', 'result'), [
    (lambda x: F.hinge(x, LABELS), [(0, 3)], ()),
    (lambda x, y: F.contrastive(x, y, LABELS), [(0, 3)] * 2, ()),
    (F.triplet, [(0, 3)] * 3, ()),
    (lambda x, y: F.connectionist_temporal_classification(
        [x, y], np.zeros((0, 1), np.int32), 0), [(0, 3)] * 2, ()),
    (lambda x, y: F.bilinear(x, y, FILTERS), [(0, 2), (0, 3)], (0, 4)),
    (lambda x: F.local_convolution_2d(x, np.ones((3, 3, 3, 2, 2, 2), np.float32)),
     [(0, 2, 4, 4)], (0, 3, 3, 3))],
    ids=['hinge', 'contrastive', 'triplet', 'ctc', 'bilinear', 'local'])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')  # of means of nothing
def test_no_examples(call, shapes, result):
    xs = [chainer.Variable(np.zeros(shape, np.float32)) for shape in shapes]
    y = call(*xs)
    assert y.shape == result and np.isnan(y.array).all()
    y.grad = np.ones_like(y.array)
    y.backward()
    assert [x.grad.shape for x in xs] == shapes
