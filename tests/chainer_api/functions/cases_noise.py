"""Noise injections."""
from function_case import booleans, case, constant, error, integers, normal, positive, uniform

N = normal
TEST = {'config': {'train': False}}


def _given_mask(F, x, mask):
    return F.dropout(x, mask=mask)


CASES = [
    case('dropout', lambda F, x: F.dropout(x), N(4, 3), N(2, 3, 4), N(0, 3), random=True),
    case('dropout_scalar', lambda F, x: F.dropout(x), N(), random=True, record=False,
         why='the original fails'),
    case('dropout_ratio', lambda F, x: F.dropout(x, ratio=.2), N(4, 5), random=True),
    case('dropout_none', lambda F, x: F.dropout(x, ratio=0.), N(4, 5), random=True),
    case('dropout_return_mask', lambda F, x: F.dropout(x, .3, return_mask=True), N(4, 5),
         random=True),
    case('dropout_mask', _given_mask, (N(4, 5), uniform(0, 2, 4, 5)), (N(4, 5), booleans(4, 5)),
         grads=(0,)),
    case('dropout_test', lambda F, x: F.dropout(x), N(4, 3), **TEST),
    case('gaussian', lambda F, m, v: F.gaussian(m, v),
         (N(4, 3), N(4, 3)), (N(2, 3, 4), N(2, 3, 4)), (N(0, 3), N(0, 3)), (N(), N()), random=True),
    case('gaussian_return_eps', lambda F, m, v: F.gaussian(m, v, return_eps=True),
         (N(4, 3), N(4, 3)), random=True),
    case('gaussian_eps', lambda F, m, v, e: F.gaussian(m, v, eps=e),
         (N(4, 3), N(4, 3), N(4, 3)), grads=(0, 1)),
    case('gumbel_softmax', lambda F, x: F.gumbel_softmax(x, tau=.7),
         N(4, 3), N(2, 3, 4), random=True),
    case('gumbel_softmax_default', lambda F, x: F.gumbel_softmax(x), N(4, 3), random=True,
         numeric=False, why='so steep that differences of 1e-5 are none'),
    case('gumbel_softmax_axis', lambda F, x: F.gumbel_softmax(x, tau=2., axis=0), N(4), N(2, 3),
         random=True),
    case('gumbel_softmax_tau', lambda F, x, tau: F.gumbel_softmax(x, tau=tau),
         (N(4, 3), positive()), (N(4, 3), positive(4, 3)), random=True),
    case('simplified_dropconnect', lambda F, *xs: F.simplified_dropconnect(*xs),
         (N(4, 3), N(2, 3), N(2)), (N(4, 3), N(2, 3)), (N(4, 3, 2), N(2, 6), N(2)), random=True),
    case('simplified_dropconnect_shared',
         lambda F, *xs: F.simplified_dropconnect(*xs, ratio=.3, use_batchwise_mask=False),
         (N(4, 3), N(2, 3), N(2)), (N(4, 3, 2), N(2, 6)), random=True),
    case('simplified_dropconnect_mask',
         lambda F, x, W, b, m: F.simplified_dropconnect(x, W, b, mask=m),
         (N(4, 3), N(2, 3), N(2), booleans(4, 2, 3)),
         (N(4, 3), N(2, 3), N(2), uniform(0, 2, 4, 2, 3)), grads=(0, 1, 2)),
    case('simplified_dropconnect_matrix_mask',
         lambda F, x, W, b, m: F.simplified_dropconnect(x, W, b, mask=m),
         (N(4, 3), N(2, 3), N(2), booleans(2, 3)), grads=(0, 1, 2), record=False,
         why='documented, but the original rejects it'),
    case('simplified_dropconnect_test',
         lambda F, *xs: F.simplified_dropconnect(*xs, train=False), (N(4, 3), N(2, 3), N(2))),
    case('zoneout', lambda F, h, x: F.zoneout(h, x),
         (N(4, 3), N(4, 3)), (N(2, 3, 4), N(2, 3, 4)), (N(0, 3), N(0, 3)), random=True),
    case('zoneout_ratio', lambda F, h, x: F.zoneout(h, x, ratio=.8), (N(4, 3), N(4, 3)),
         random=True),
    case('zoneout_test', lambda F, h, x: F.zoneout(h, x), (N(4, 3), N(4, 3)), grads=(1,), **TEST),
]

INTS = integers(0, 5, 2, 3)

ERRORS = [
    error('dropout_dtype', lambda F, x: F.dropout(x), INTS),
    error('dropout_ratio', lambda F, x: F.dropout(x, 1.), N(2, 3), 'ValueError', 'range [0, 1)'),
    error('dropout_negative', lambda F, x: F.dropout(x, -.1), N(2, 3), 'ValueError',
          'range [0, 1)'),
    error('dropout_train', lambda F, x: F.dropout(x, train=True), N(2, 3), 'ValueError',
          'using_config'),
    error('dropout_keyword', lambda F, x: F.dropout(x, foo=1), N(2, 3), 'TypeError', 'foo'),
    error('gaussian_shape', lambda F, m, v: F.gaussian(m, v), (N(2, 3), N(1, 3))),
    error('gaussian_dtype', lambda F, m, v: F.gaussian(m, v), (N(2, 3), normal(2, 3, dtype='d'))),
    error('gaussian_integer', lambda F, m, v: F.gaussian(m, v), (INTS, INTS)),
    error('simplified_dropconnect_ratio',
          lambda F, *xs: F.simplified_dropconnect(*xs, ratio=1.2), (N(2, 3), N(4, 3)),
          'ValueError', 'range [0, 1)', record=False, why='the original takes it'),
    error('simplified_dropconnect_size', lambda F, *xs: F.simplified_dropconnect(*xs),
          (N(2, 3), N(4, 2))),
    error('simplified_dropconnect_bias', lambda F, *xs: F.simplified_dropconnect(*xs),
          (N(2, 3), N(4, 3), N(3))),
    error('simplified_dropconnect_dtype', lambda F, *xs: F.simplified_dropconnect(*xs),
          (INTS, N(4, 3))),
    error('simplified_dropconnect_mask_batch',
          lambda F, x, W, m: F.simplified_dropconnect(x, W, mask=m),
          (N(2, 3), N(4, 3), constant([[[1] * 3] * 4] * 3))),
    error('simplified_dropconnect_mask_shape',
          lambda F, x, W, m: F.simplified_dropconnect(x, W, mask=m),
          (N(2, 3), N(4, 3), constant([[1] * 3] * 3)), record=False,
          why='the original rejects every mask of two dimensions'),
    error('zoneout_train', lambda F, h, x: F.zoneout(h, x, train=True), (N(2, 3), N(2, 3)),
          'ValueError', 'using_config'),
    error('zoneout_shape', lambda F, h, x: F.zoneout(h, x), (N(2, 3), N(1, 3)), record=False,
          why='the original broadcasts, and fails in backward'),
    error('zoneout_dtype', lambda F, h, x: F.zoneout(h, x), (INTS, INTS), record=False,
          why='the original takes them'),
]
