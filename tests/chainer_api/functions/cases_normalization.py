"""Normalization functions."""
import numpy as np
from function_case import away, case, constant, error, integers, normal, positive

N = normal
HALF = {'e': (1e-2, 1e-2), 'f': (5e-5, 5e-6)}
WHY = 'moments are summed in another order, in half precision by other steps'
PARAMS = (positive(3), N(3))


def _case(name, call, *variants, **settings):
    settings.setdefault('tolerance', HALF)
    settings.setdefault('why', WHY)
    return case(name, call, *variants, **settings)


def _running(F, x, gamma, beta, mean, var):
    mean, var = mean.copy(), var.copy()
    y = F.batch_normalization(x, gamma, beta, running_mean=mean, running_var=var, decay=.7)
    return y, mean, var


def _renormalization(update):
    def call(F, x, gamma, beta, mean, var):
        mean, var = mean.copy(), var.copy()
        y = F.batch_renormalization(
            x, gamma, beta, 1.5, .3, running_mean=mean, running_var=var, decay=.7,
            update_statistics=update)
        return y, mean, var
    return call


def _decorrelated_running(F, x):
    dtype = x.dtype
    mean, projection = np.zeros((2, 2), dtype), np.stack([np.eye(2, dtype=dtype)] * 2)
    y = F.decorrelated_batch_normalization(
        x, groups=2, running_mean=mean, running_projection=projection, decay=.6)
    return y, mean, projection


CASES = [
    _case('batch_normalization', lambda F, *xs: F.batch_normalization(*xs),
          (N(5, 3), *PARAMS), (N(4, 3, 2, 3), *PARAMS), (N(6, 3, 2), positive(3, 2), N(3, 2)),
          (N(2, 3, 2, 2, 2), *PARAMS)),
    _case('batch_normalization_eps', lambda F, *xs: F.batch_normalization(*xs, eps=.1),
          (N(5, 3), *PARAMS)),
    _case('batch_normalization_axis', lambda F, *xs: F.batch_normalization(*xs, axis=(0, 2)),
          (N(4, 3, 3), *PARAMS), (N(4, 3, 3, 2), positive(3, 2), N(3, 2))),
    _case('batch_normalization_last_axis', lambda F, *xs: F.batch_normalization(*xs, axis=(0, 1)),
          (N(4, 3, 3), *PARAMS)),
    _case('batch_normalization_one_axis', lambda F, *xs: F.batch_normalization(*xs, axis=1),
          (N(3, 5), *PARAMS)),
    _case('batch_normalization_running', _running,
          (N(5, 3), *PARAMS, N(3), positive(3)), (N(4, 3, 2, 3), *PARAMS, N(3), positive(3)),
          grads=(0, 1, 2)),
    _case('batch_normalization_one', lambda F, *xs: F.batch_normalization(*xs), (N(1, 3), *PARAMS),
          numeric=False, why='a step of 1e-5 is large against the eps of one constant sample'),
    _case('batch_normalization_mixed', lambda F, *xs: F.batch_normalization(*xs),
          (N(5, 3), positive(3, dtype='f'), normal(3, dtype='f')), dtypes='ed',
          tolerance={'e': (1e-2, 1e-2), 'd': (2e-5, 2e-6)}, why='the parameters are single'),
    _case('fixed_batch_normalization', lambda F, *xs: F.fixed_batch_normalization(*xs),
          (N(5, 3), *PARAMS, N(3), positive(3)), (N(4, 3, 2, 3), *PARAMS, N(3), positive(3)),
          (N(6, 3, 2), positive(3, 2), N(3, 2), N(3, 2), positive(3, 2)),
          (N(0, 3), *PARAMS, N(3), positive(3))),
    _case('fixed_batch_normalization_axis',
          lambda F, *xs: F.fixed_batch_normalization(*xs, eps=.1, axis=(0, 1)),
          (N(4, 2, 3), *PARAMS, N(3), positive(3))),
    _case('fixed_batch_normalization_mixed', lambda F, *xs: F.fixed_batch_normalization(*xs),
          (N(5, 3), positive(3, dtype='f'), normal(3, dtype='f'), normal(3, dtype='f'),
           positive(3, dtype='f')), dtypes='e'),
    _case('batch_renormalization', _renormalization(False),
          (N(5, 3), *PARAMS, normal(3, scale=.2), positive(3)),
          (N(4, 3, 2, 3), *PARAMS, normal(3, scale=.2), positive(3)), grads=(0, 1, 2),
          numeric=False, twice=False,
          why='the corrections, which depend on the input, count as constants'),
    _case('batch_renormalization_update', _renormalization(True),
          (N(5, 3), *PARAMS, normal(3, scale=.2), positive(3)), grads=(0, 1, 2),
          numeric=False, twice=False,
          why='the corrections, which depend on the input, count as constants'),
    _case('fixed_batch_renormalization', lambda F, *xs: F.fixed_batch_renormalization(*xs),
          (N(5, 3), *PARAMS, N(3), positive(3))),
    _case('decorrelated_batch_normalization',
          lambda F, x: F.decorrelated_batch_normalization(x, groups=2),
          N(8, 4), N(4, 6, 2, 3), dtypes='fd', twice=False,
          tolerance={'f': (2e-3, 2e-4), 'd': (1e-9, 1e-9)},
          why='eigenvalues amplify rounding; eigenvectors come from another LAPACK'),
    _case('decorrelated_batch_normalization_settings',
          lambda F, x: F.decorrelated_batch_normalization(x, groups=1, eps=.1), N(8, 4, 2),
          dtypes='fd', twice=False, tolerance={'f': (1e-3, 1e-4), 'd': (1e-9, 1e-9)},
          why='eigenvalues amplify rounding; eigenvectors come from another LAPACK'),
    _case('decorrelated_batch_normalization_running', _decorrelated_running, N(8, 4, 2, 2),
          dtypes='fd', twice=False, tolerance={'f': (1e-3, 1e-4), 'd': (1e-9, 1e-9)},
          why='eigenvalues amplify rounding; eigenvectors come from another LAPACK'),
    _case('fixed_decorrelated_batch_normalization',
          lambda F, *xs: F.fixed_decorrelated_batch_normalization(*xs, groups=2),
          (N(5, 4), N(2, 2), N(2, 2, 2)), (N(3, 6, 2), N(2, 3), N(2, 3, 3)), record=False,
          why='the original gives wrong gradients of the mean and the projection'),
    _case('fixed_decorrelated_batch_normalization_x',
          lambda F, *xs: F.fixed_decorrelated_batch_normalization(*xs, groups=2),
          (N(5, 4), N(2, 2), N(2, 2, 2)), (N(3, 6, 2), N(2, 3), N(2, 3, 3)), grads=(0,)),
    _case('group_normalization', lambda F, *xs: F.group_normalization(xs[0], 2, *xs[1:]),
          (N(3, 4, 3), positive(4), N(4)), (N(2, 6, 2, 3), positive(6), N(6)),
          (N(3, 6), positive(6), N(6))),
    _case('group_normalization_eps',
          lambda F, *xs: F.group_normalization(xs[0], 1, *xs[1:], eps=.1),
          (N(3, 4, 3), positive(4), N(4))),
    _case('group_normalization_all', lambda F, *xs: F.group_normalization(xs[0], 4, *xs[1:]),
          (N(3, 4, 5), positive(4), N(4))),
    _case('group_normalization_mixed', lambda F, *xs: F.group_normalization(xs[0], 2, *xs[1:]),
          (N(3, 4, 3), positive(4, dtype='f'), normal(4, dtype='f')), dtypes='e'),
    _case('layer_normalization', lambda F, *xs: F.layer_normalization(*xs),
          (N(4, 5), positive(5), N(5)), (N(1, 3), positive(3), N(3)), (N(0, 3), positive(3), N(3))),
    _case('layer_normalization_eps', lambda F, *xs: F.layer_normalization(*xs, eps=.1),
          (N(4, 5), positive(5), N(5))),
    _case('local_response_normalization', lambda F, x: F.local_response_normalization(x),
          N(2, 7, 3, 2), N(2, 3), N(2, 7, 4)),
    _case('local_response_normalization_settings',
          lambda F, x: F.local_response_normalization(x, n=3, k=1, alpha=.5, beta=1.3),
          N(2, 7, 3, 2), N(2, 1, 2)),
    _case('local_response_normalization_even',
          lambda F, x: F.local_response_normalization(x, n=4, alpha=.5), N(2, 7, 3)),
    _case('normalize', lambda F, x: F.normalize(x), away(4, 3), away(2, 3, 4), N(0, 3)),
    _case('normalize_axis', lambda F, x: F.normalize(x, eps=.1, axis=0), away(4), away(4, 3)),
    _case('normalize_no_axis', lambda F, x: F.normalize(x, axis=()), away(4, 3), away()),
    _case('normalize_axes', lambda F, x: F.normalize(x, axis=(0, 2)), away(2, 3, 4)),
    _case('normalize_zero', lambda F, x: F.normalize(x), constant([[0, 0], [1, 2]]),
          dtypes='fd', numeric=False,
          why='there is a kink at zero; 1 / eps has no place in half precision'),
]

bn = lambda F, *xs, **settings: F.batch_normalization(*xs, **settings)  # noqa: E731
INT = integers(0, 5, 4, 3)

ERRORS = [
    error('batch_normalization_dtype', bn, (INT, *PARAMS)),
    error('batch_normalization_beta_dtype', bn, (N(4, 3), positive(3), normal(3, dtype='d'))),
    error('batch_normalization_beta_shape', bn, (N(4, 3), positive(3), N(2))),
    error('batch_normalization_channels', bn, (N(4, 3), positive(4), N(4))),
    error('batch_normalization_ndim', bn, (N(3), *PARAMS)),
    error('batch_normalization_axis', lambda F, *xs: F.batch_normalization(*xs, axis=(0, 2)),
          (N(4, 3, 2, 2), *PARAMS)),
    error('batch_normalization_axis_size', lambda F, *xs: F.batch_normalization(*xs, axis=(0, 1)),
          (N(4, 3, 2), *PARAMS)),
    error('batch_normalization_axis_order',
          lambda F, *xs: F.batch_normalization(*xs, axis=(2, 0)), (N(4, 3, 2), *PARAMS),
          'RuntimeError', 'ascending'),
    error('batch_normalization_axis_twice',
          lambda F, *xs: F.batch_normalization(*xs, axis=(0, 0)), (N(4, 3, 2), *PARAMS),
          'RuntimeError', 'ascending'),
    error('batch_normalization_axis_type', lambda F, *xs: F.batch_normalization(*xs, axis='a'),
          (N(4, 3), *PARAMS), 'TypeError'),
    error('batch_normalization_train', lambda F, *xs: F.batch_normalization(*xs, train=True),
          (N(4, 3), *PARAMS), 'ValueError', 'using_config'),
    error('batch_normalization_keyword', lambda F, *xs: F.batch_normalization(*xs, foo=True),
          (N(4, 3), *PARAMS), 'TypeError', 'foo'),
    error('batch_normalization_running_mean',
          lambda F, x, g, b, m: F.batch_normalization(x, g, b, running_mean=m),
          (N(4, 3), *PARAMS, N(3)), 'TypeError'),
    error('batch_normalization_running_var',
          lambda F, x, g, b, v: F.batch_normalization(x, g, b, running_var=v),
          (N(4, 3), *PARAMS, N(3)), 'TypeError', 'both', record=False,
          why='the original leaves it as it is'),
    error('fixed_batch_normalization_mean', lambda F, *xs: F.fixed_batch_normalization(*xs),
          (N(4, 3), *PARAMS, N(4), positive(3))),
    error('fixed_batch_normalization_var', lambda F, *xs: F.fixed_batch_normalization(*xs),
          (N(4, 3), *PARAMS, N(3), positive(4))),
    error('fixed_batch_normalization_var_dtype', lambda F, *xs: F.fixed_batch_normalization(*xs),
          (N(4, 3), *PARAMS, N(3), positive(3, dtype='d'))),
    error('batch_renormalization_mean',
          lambda F, *xs: F.batch_renormalization(*xs, 1.5, .5), (N(4, 3), *PARAMS), 'TypeError',
          'running_mean is required'),
    error('batch_renormalization_var',
          lambda F, x, g, b: F.batch_renormalization(x, g, b, 1.5, .5, running_mean=b),
          (N(4, 3), *PARAMS), 'TypeError', 'running_var is required'),
    error('batch_renormalization_channels',
          lambda F, x, g, b: F.batch_renormalization(
              x, g, b, 1.5, .5, running_mean=b, running_var=b),
          (N(4, 3), positive(2), N(2))),
    error('batch_renormalization_dtype',
          lambda F, x, g, b: F.batch_renormalization(
              x, g, b, 1.5, .5, running_mean=b, running_var=b),
          (INT, *PARAMS)),
    error('decorrelated_batch_normalization_groups',
          lambda F, x: F.decorrelated_batch_normalization(x, groups=4), N(8, 6)),
    error('decorrelated_batch_normalization_dtype',
          lambda F, x: F.decorrelated_batch_normalization(x, groups=1), INT),
    error('decorrelated_batch_normalization_keyword',
          lambda F, x: F.decorrelated_batch_normalization(x, foo=1), N(8, 6), 'TypeError', 'foo'),
    error('fixed_decorrelated_batch_normalization_dtype',
          lambda F, *xs: F.fixed_decorrelated_batch_normalization(*xs, groups=2),
          (N(5, 4), normal(2, 2, dtype='d'), N(2, 2, 2))),
    error('fixed_decorrelated_batch_normalization_mean',
          lambda F, *xs: F.fixed_decorrelated_batch_normalization(*xs, groups=2),
          (N(5, 4), N(1, 2), N(2, 2, 2)), record=False, why='the original broadcasts it'),
    error('group_normalization_groups',
          lambda F, *xs: F.group_normalization(xs[0], 4, *xs[1:]),
          (N(2, 6, 3), positive(6), N(6)), 'ValueError', 'not divisible'),
    error('group_normalization_groups_type',
          lambda F, *xs: F.group_normalization(xs[0], 2., *xs[1:]),
          (N(2, 6, 3), positive(6), N(6)), 'TypeError', 'groups'),
    error('group_normalization_no_groups',
          lambda F, *xs: F.group_normalization(xs[0], 0, *xs[1:]),
          (N(2, 6, 3), positive(6), N(6)), 'ValueError', 'not divisible', record=False,
          why='the original divides by zero'),
    error('group_normalization_gamma',
          lambda F, *xs: F.group_normalization(xs[0], 3, *xs[1:]),
          (N(2, 6, 3), positive(5), N(6))),
    error('group_normalization_beta',
          lambda F, *xs: F.group_normalization(xs[0], 3, *xs[1:]),
          (N(2, 6, 3), positive(6), N(5))),
    error('group_normalization_beta_dtype',
          lambda F, *xs: F.group_normalization(xs[0], 3, *xs[1:]),
          (N(2, 6, 3), positive(6), normal(6, dtype='d'))),
    error('group_normalization_dtype',
          lambda F, *xs: F.group_normalization(xs[0], 3, *xs[1:]),
          (INT, *PARAMS)),
    error('layer_normalization_ndim', lambda F, *xs: F.layer_normalization(*xs),
          (N(2, 3, 4), *PARAMS)),
    error('layer_normalization_beta', lambda F, *xs: F.layer_normalization(*xs),
          (N(2, 3), positive(3), N(4))),
    error('layer_normalization_units', lambda F, *xs: F.layer_normalization(*xs),
          (N(2, 4), *PARAMS), record=False, why='the original fails in arithmetic (ValueError)'),
    error('layer_normalization_dtype', lambda F, *xs: F.layer_normalization(*xs), (INT, *PARAMS)),
    error('layer_normalization_gamma_dtype', lambda F, *xs: F.layer_normalization(*xs),
          (normal(2, 3, dtype='d'), *PARAMS)),
    error('layer_normalization_gamma_ndim', lambda F, *xs: F.layer_normalization(*xs),
          (N(2, 3), positive(3, 1), N(3))),
    error('local_response_normalization_dtype',
          lambda F, x: F.local_response_normalization(x), INT),
    error('local_response_normalization_ndim',
          lambda F, x: F.local_response_normalization(x), N(3)),
    error('normalize_dtype', lambda F, x: F.normalize(x), INT),
    error('normalize_axis', lambda F, x: F.normalize(x, axis=2), N(2, 3), 'ValueError'),
    error('normalize_axis_type', lambda F, x: F.normalize(x, axis='a'), N(2, 3), 'TypeError'),
]
