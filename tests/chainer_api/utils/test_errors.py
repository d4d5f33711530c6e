"""Errors that are what Chainer raises, and say more."""
import os

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import dataset, testing
from chainer.gradient_check import numerical_grad

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


@pytest.mark.parametrize(('call', 'original', 'ours'), [  # what 5.4 and 7.8.1 raise, and we
    (lambda: F.get_item(h, (..., 0, ...)), IndexError, ValueError),
    (lambda: chainer.Variable(h)[..., ...], IndexError, ValueError),
    (lambda: L.Linear(2, 2).copyparams(L.Scale(1, (2,))), KeyError, AttributeError),
    (lambda: numerical_grad(lambda: (h,), (h,), (h[0],)), AssertionError, ValueError),
    (lambda: numerical_grad(lambda: (h,), (h,), (h, h)), AssertionError, ValueError),
    (lambda: chainer.training.get_trigger((1, 'minute')), AssertionError, ValueError),
    (lambda: dataset.cache_or_load_file(os.path.join(__file__, 'a', 'b'), None, None),
     RuntimeError, OSError),
])
def test_errors_of_two_kinds(call, original, ours):
    for exception in original, ours:
        with pytest.raises(exception, match=r'^[^\'"].*'):  # no repr of a message
            call()


def test_parameters_that_a_link_does_not_have():
    class Case(testing.LinkTestCase):
        param_names = ('W', 'no_such')

        def generate_params(self):
            return None, None

        def generate_inputs(self):
            return h,

        def create_link(self, initializers):
            return L.Linear(3, 2)

    with pytest.raises(AssertionError, match="^the link has no parameter 'no_such'"):
        Case('test_backward').test_backward(testing.BackendConfig({}))


@pytest.mark.parametrize('base', [chainer.Function, chainer.FunctionNode])
def test_numbers_from_forward_in_debug_mode(base):
    class Number(base):

        def forward(self, xs):
            return 1.5,

    node = Number()
    with chainer.using_config('debug', True):
        with pytest.raises(TypeError, match='must be a tuple of ndarrays'):
            node(h) if base is chainer.Function else node.apply((h,))


def test_singular_values_are_real():
    with pytest.raises(TypeError, match='singular_values are not real'):
        testing.generate_matrix((2, 2), singular_values=[1j, 1])
