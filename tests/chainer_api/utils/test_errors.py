"""Errors that are what Chainer raises, and say more."""
import numpy as np
import pytest

import chainer.functions as F
import chainer.links as L
from chainer import testing

x = np.ones((1, 1, 3, 3), 'f')
large = np.ones((1, 1, 5, 5), 'f')
small = np.ones((1, 1, 1, 1), 'f')
h = np.ones((2, 3), 'f')


@pytest.mark.parametrize(('call', 'original'), [  # what 5.4 and 7.8.1 raise
    (lambda: F.convolution_2d(x, large), AssertionError),
    (lambda: F.convolution_nd(x, large), AssertionError),
    (lambda: F.convolution_nd(x, small, stride=(1, 1, 1)), AssertionError),
    (lambda: F.deconvolution_2d(x, small, pad=3), RuntimeError),
    (lambda: F.deconvolution_nd(x, small, pad=3), AssertionError),
    (lambda: F.max_pooling_2d(x, 5, cover_all=False), AssertionError),
    (lambda: F.average_pooling_2d(x, 5), AssertionError),
    (lambda: F.max_pooling_nd(x, 5, cover_all=False), AssertionError),
    (lambda: F.average_pooling_nd(x, 5), AssertionError),
    (lambda: F.max_pooling_nd(x, (1, 1, 1)), AssertionError),
    (lambda: F.im2col(x, 5), AssertionError),
    (lambda: L.NaryTreeLSTM(3, 2, 0), AssertionError),
    (lambda: L.NaryTreeLSTM(3, 2)(h), AssertionError),
    (lambda: L.ChildSumTreeLSTM(3, 2)(h, h), AssertionError),
    (lambda: F.connectionist_temporal_classification(
        [h, h], np.zeros((2, 1), 'i'), blank_symbol=7), AssertionError),
])
def test_errors_are_both(call, original):
    for exception in original, ValueError:
        with pytest.raises(exception, match='.'):
            call()


def test_singular_values_are_real():
    with pytest.raises(TypeError, match='singular_values are not real'):
        testing.generate_matrix((2, 2), singular_values=[1j, 1])
