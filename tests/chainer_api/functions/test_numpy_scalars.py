"""Settings that are scalars of NumPy: those of float64 make no float64 of float32 arrays.

Under NumPy 1 no scalar did, so models read their settings from arrays and NumPy's functions.
"""

import numpy as np
import pytest

import chainer
import chainer.functions as F

SCALAR = np.float64(0.5)
IMAGES = chainer.Variable(np.ones((1, 3, 8, 8), 'f'))
ONES, ZEROS = np.ones(3, 'f'), np.zeros(3, 'f')

CALLS = {
    'mul': lambda x, c: c * x, 'add': lambda x, c: x + c, 'sub': lambda x, c: c - x,
    'div': lambda x, c: x / c, 'rdiv': lambda x, c: c / x, 'pow': lambda x, c: x ** c,
    'rpow': lambda x, c: c ** x, 'of a sum': lambda x, c: F.sum(x) * c,
    'leaky_relu': F.leaky_relu, 'elu': F.elu, 'softplus': F.softplus,
    'clip': lambda x, c: F.clip(x, -c, c), 'clipped_relu': F.clipped_relu,
    'selu': lambda x, c: F.selu(x, alpha=c, scale=c), 'rrelu': lambda x, c: F.rrelu(x, c / 2, c),
    'dropout': F.dropout, 'zoneout': lambda x, c: F.zoneout(x, x, c),
    'huber_loss': lambda x, c: F.huber_loss(x, x, c),
    'contrastive': lambda x, c: F.contrastive(x, x, np.array([0, 1]), margin=c),
    'triplet': lambda x, c: F.triplet(x, x, x, margin=c),
    'normalize': lambda x, c: F.normalize(x, eps=c),
    'layer_normalization': lambda x, c: F.layer_normalization(x, ONES, ZEROS, eps=c),
    'batch_normalization': lambda x, c: F.batch_normalization(x, ONES, ZEROS, eps=c),
    'fixed_batch_normalization': lambda x, c: F.fixed_batch_normalization(
        x, ONES, ZEROS, ZEROS, ONES, eps=c),
    'group_normalization': lambda x, c: F.group_normalization(x, 1, ONES, ZEROS, eps=c),
    'pad': lambda x, c: F.pad(x, 1, 'constant', constant_values=c),
    'focal': lambda x, c: F.sigmoid(x) ** c * F.log(1 + x * c),
    'local_response_normalization': lambda x, c: F.local_response_normalization(
        IMAGES, k=c, alpha=c, beta=c),
    'roi_pooling_2d': lambda x, c: F.roi_pooling_2d(
        IMAGES, np.array([[0, 0, 0, 4, 4]], 'f'), 2, 2, c),
    'roi_average_align_2d': lambda x, c: F.roi_average_align_2d(
        IMAGES, np.array([[0, 0, 4, 4]], 'f'), np.array([0], 'i'), 2, c),
}


@pytest.mark.parametrize('name', CALLS)
@pytest.mark.parametrize('scalar', [SCALAR, np.float32(0.5), np.float16(0.5), np.array(0.5)[()]])
def test_dtypes_stay(name, scalar):
    if name == 'clipped_relu' and not isinstance(scalar, float):
        pytest.skip('it takes floats alone, as the original does')
    x = chainer.Variable(np.full((2, 3), 0.75, 'f'))
    y = CALLS[name](x, scalar)
    assert y.dtype == np.float32
    F.sum(y).backward()
    for v in (x, IMAGES):
        assert v.grad is None or v.grad.dtype == np.float32
    IMAGES.cleargrad()
    plain = CALLS[name](x, 0.5)
    if name not in ('dropout', 'zoneout', 'rrelu'):
        np.testing.assert_allclose(y.array, plain.array, rtol=1e-6)
