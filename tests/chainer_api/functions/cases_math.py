"""Mathematical functions."""
from function_case import (
    away,
    case,
    constant,
    distinct,
    error,
    integers,
    normal,
    positive,
    spd,
    uniform,
)


def shapes(make, *args):
    """One generator for each of the usual shapes: two, three, no elements, no dimensions."""
    return [make(*args, *shape) for shape in ((2, 3), (2, 3, 4), (0, 3), ())]


def unary(name, *variants, **settings):
    return case(name, lambda F, x: getattr(F, name)(x), *variants, **settings)


def reduction(name, make):
    """Cases of a reduction with all kinds of ``axis`` and ``keepdims``."""
    rows = [
        case(name, lambda F, x: getattr(F, name)(x), make(2, 3), make(2, 3, 4), make()),
        case(name + '_axis', lambda F, x: getattr(F, name)(x, axis=1),
             make(2, 3), make(2, 3, 4), make(0, 3)),
        case(name + '_last_axis', lambda F, x: getattr(F, name)(x, axis=-1), make(2, 3)),
        case(name + '_axes', lambda F, x: getattr(F, name)(x, axis=(2, 0)), make(2, 3, 4)),
        case(name + '_negative_axes', lambda F, x: getattr(F, name)(x, axis=(-1, 0)),
             make(2, 3, 4)),
        case(name + '_no_axes', lambda F, x: getattr(F, name)(x, axis=()), make(2, 3)),
    ]
    if name != 'logsumexp':
        rows += [
            case(name + '_keepdims', lambda F, x: getattr(F, name)(x, keepdims=True), make(2, 3)),
            case(name + '_axes_keepdims',
                 lambda F, x: getattr(F, name)(x, axis=(0, 2), keepdims=True), make(2, 3, 4)),
        ]
    return rows


def coo(F, dense, grad=True):
    """A sparse matrix with the values of a dense one, and those values as an input."""
    import chainer
    return chainer.utils.to_coo(dense, requires_grad=grad)


def _coo_of(F, data):
    """A sparse matrix of the given values at fixed places."""
    import numpy as np

    import chainer
    row = np.array([0, 0, 1, 2, 2], 'i')
    col = np.array([0, 3, 1, 0, 2], 'i')
    return _with_data(chainer.utils.CooMatrix(data.array, row, col, (3, 4)), data)


def _coo_batch_of(F, data):
    import numpy as np

    import chainer
    row = np.array([[0, 0, 1], [2, 1, 0]], 'i')
    col = np.array([[0, 3, 1], [0, 2, 1]], 'i')
    return _with_data(chainer.utils.CooMatrix(data.array, row, col, (3, 4)), data)


def _with_data(sp, data):
    sp.data = data
    return sp


def sparse(name, of, data, left, *dense, **kwargs):
    if left:
        return case(name, lambda F, x, y: F.sparse_matmul(of(F, _variable(x)), y, **kwargs),
                    *[(data, d) for d in dense])
    return case(name, lambda F, x, y: F.sparse_matmul(y, of(F, _variable(x)), **kwargs),
                *[(data, d) for d in dense])


def _variable(x):
    import chainer
    return chainer.as_variable(x)


STEP = dict(grads=())  # constant between steps: no gradient goes back

CASES = [
    unary('absolute', *shapes(away)),
    unary('arccos', *shapes(uniform, -.9, .9)),
    unary('arcsin', *shapes(uniform, -.9, .9)),
    unary('arctan', *shapes(normal)),
    case('arctan2', lambda F, x, y: F.arctan2(x, y),
         (away(2, 3), away(2, 3)), (away(), away()), (away(0, 3), away(0, 3))),
    case('arctan2_broadcast', lambda F, x, y: F.arctan2(x, y), (away(2, 3), away(3)),
         record=False,
         why="the original's gradients have the wrong shape"),
    unary('arctanh', *shapes(uniform, -.9, .9)),
    case('argmax', lambda F, x: F.argmax(x), distinct(2, 3), distinct(2, 3, 4), distinct(),
         **STEP),
    case('argmax_axis', lambda F, x: F.argmax(x, axis=1), distinct(2, 3), distinct(2, 3, 4),
         distinct(0, 3), **STEP),
    case('argmax_tie', lambda F, x: F.argmax(x, axis=-1), constant([[1, 2, 2], [3, 3, 1]]), **STEP),
    case('argmin', lambda F, x: F.argmin(x), distinct(2, 3), distinct(), **STEP),
    case('argmin_axis', lambda F, x: F.argmin(x, axis=-2), distinct(2, 3), **STEP),
    case('average_weights', lambda F, x, w: F.average(x, weights=w),
         (normal(2, 3), positive(2, 3)), (normal(2, 3), positive(3)), (normal(), positive())),
    case('average_axis_weights', lambda F, x, w: F.average(x, axis=1, weights=w),
         (normal(2, 3), positive(3)), (normal(2, 3, 4), positive(3))),
    case('average_last_axis_weights_keepdims',
         lambda F, x, w: F.average(x, axis=(-1,), weights=w, keepdims=True),
         (normal(2, 3), positive(3))),
    unary('batch_det', spd(2, 3, 3), normal(1, 2, 2), normal(3, 1, 1)),
    unary('batch_inv', spd(2, 3, 3), spd(3, 1, 1)),
    unary('batch_l2_norm_squared', normal(2, 3), normal(2, 3, 4), normal(2, 0)),
    case('bias', lambda F, x, y: F.bias(x, y),
         (normal(2, 3), normal(3)), (normal(2, 3, 4), normal(3)), (normal(2, 3, 4), normal(3, 4)),
         (normal(2, 3), normal())),
    case('bias_axis', lambda F, x, y: F.bias(x, y, axis=0),
         (normal(2, 3), normal(2)), (normal(2, 3), normal(2, 3))),
    unary('ceil', *shapes(away), **STEP),
    unary('cholesky', spd(3, 3), spd(1, 1), dtypes='fd', numeric=False,
          why='its gradient is that of symmetric changes'),
    case('clip', lambda F, x: F.clip(x, -1, 1.), *[
        away(*shape, points=(-1, 1)) for shape in ((2, 3), (2, 3, 4), (0, 3), ())]),
    case('clip_below', lambda F, x: F.clip(x, 0.5, None), away(2, 3, points=(.5,))),
    case('clip_above', lambda F, x: F.clip(x, None, 0.5), away(2, 3, points=(.5,))),
    case('clip_bounds', lambda F, x: F.clip(x, -1., 1.), constant([-2, -1, 0, 1, 2]),
         numeric=False, why='kinks at the bounds'),
    unary('cos', *shapes(normal)),
    unary('cosh', *shapes(normal)),
    unary('cumprod', normal(2, 3), normal(2, 3, 2), normal(0, 3), normal(),
          constant([2, 0, 3, 0, 1, 5])),
    case('cumprod_axis', lambda F, x: F.cumprod(x, axis=1), normal(2, 3), normal(2, 3, 2),
         normal(0, 3), normal(3, 1)),
    case('cumprod_last_axis', lambda F, x: F.cumprod(x, axis=-1), normal(2, 3)),
    unary('cumsum', normal(2, 3), normal(2, 3, 2), normal(0, 3), normal()),
    case('cumsum_axis', lambda F, x: F.cumsum(x, axis=1), normal(2, 3), normal(2, 3, 2),
         normal(0, 3)),
    case('cumsum_last_axis', lambda F, x: F.cumsum(x, axis=-1), normal(2, 3)),
    unary('det', spd(3, 3), normal(1, 1)),
    unary('digamma', *shapes(positive)),
    case('einsum_matmul', lambda F, a, b: F.einsum('ij,jk->ik', a, b),
         (normal(2, 3), normal(3, 4))),
    case('einsum_implicit', lambda F, a, b: F.einsum('ba, ac', a, b), (normal(2, 3), normal(3, 4))),
    case('einsum_transpose', lambda F, a: F.einsum('ba', a), normal(2, 3)),
    case('einsum_diagonal', lambda F, a: F.einsum('ii->i', a), normal(3, 3)),
    case('einsum_trace', lambda F, a: F.einsum('ii', a), normal(3, 3)),
    case('einsum_sum', lambda F, a: F.einsum('ij->j', a), normal(2, 3)),
    case('einsum_sum_all', lambda F, a: F.einsum('ijk->', a), normal(2, 3, 2)),
    case('einsum_outer', lambda F, a, b: F.einsum('i,j->ji', a, b), (normal(2), normal(3))),
    case('einsum_three', lambda F, a, b, c: F.einsum('ij,jk,kl->il', a, b, c),
         (normal(2, 3), normal(3, 2), normal(2, 4))),
    case('einsum_batch', lambda F, a, b: F.einsum('...ij,...jk->...ik', a, b),
         (normal(2, 3, 2), normal(2, 2, 3)), (normal(2, 3), normal(3, 2))),
    case('einsum_one_ellipsis', lambda F, a, b: F.einsum('...j,j->...', a, b),
         (normal(2, 4, 3), normal(3))),
    case('einsum_implicit_ellipsis', lambda F, a, b: F.einsum('b...a,a', a, b),
         (normal(2, 4, 3), normal(3))),
    case('einsum_diagonal_sum', lambda F, a, b: F.einsum('iij,jk->ik', a, b),
         (normal(2, 2, 3), normal(3, 2))),
    case('einsum_lists', lambda F, a, b: F.einsum(a, [0, 1], b, [1, 2], [0, 2]),
         (normal(2, 3), normal(3, 4))),
    case('einsum_lists_ellipsis',
         lambda F, a, b: F.einsum(a, [Ellipsis, 1], b, [1], [Ellipsis]),
         (normal(2, 4, 3), normal(3))),
    case('einsum_mixed', lambda F, a, b: F.einsum('ij,jk->ik', a, b),
         (normal(2, 3, dtype='d'), normal(3, 4)), record=False,
         why="the original's backward fails on it"),
    case('einsum_scalar', lambda F, a, b: F.einsum(',i->i', a, b), (normal(), normal(3))),
    unary('erf', *shapes(normal)),
    unary('erfc', *shapes(normal)),
    unary('erfcinv', *shapes(uniform, .2, 1.8)),
    unary('erfcx', *shapes(uniform, -1, 3)),
    unary('erfinv', *shapes(uniform, -.8, .8)),
    unary('exp', *shapes(normal)),
    unary('expm1', *shapes(normal)),
    case('fft', lambda F, x, y: F.fft((x, y)),
         (normal(4), normal(4)), (normal(2, 3), normal(2, 3)), (normal(2, 2, 5), normal(2, 2, 5))),
    case('fft_real', lambda F, x, y: F.fft((x, y))[0], (normal(2, 3), normal(2, 3))),
    unary('fix', *shapes(away), **STEP),
    unary('floor', *shapes(away), **STEP),
    case('floor_integers', lambda F, x: F.floor(x), integers(-3, 3, 4), dtypes='f', **STEP),
    case('fmod', lambda F, x, y: F.fmod(x, y),
         (uniform(1.1, 1.9, 2, 3), uniform(.8, 1, 2, 3)), (uniform(2.1, 2.9), uniform(.95, 1.)),
         (normal(0, 3), normal(0, 3))),
    case('fmod_broadcast', lambda F, x, y: F.fmod(x, y),
         (uniform(-5.9, -5.1, 2, 3), uniform(.99, 1., 3)),
         record=False,
         why="the original's gradients have the wrong shape"),
    case('ifft', lambda F, x, y: F.ifft((x, y)),
         (normal(4), normal(4)), (normal(2, 3), normal(2, 3))),
    unary('inv', spd(3, 3), spd(1, 1)),
    unary('lgamma', *shapes(positive)),
    case('linear_interpolate', lambda F, p, x, y: F.linear_interpolate(p, x, y), *[
        [normal(*shape) for _ in range(3)] for shape in ((2, 3), (2, 3, 4), (0, 3), ())]),
    unary('log', *shapes(positive)),
    unary('log10', *shapes(positive)),
    unary('log1p', *shapes(uniform, -.7, 2)),
    unary('log2', *shapes(positive)),
    unary('log_ndtr', *shapes(normal), uniform(-9, -7, 3)),
    case('logsumexp_large', lambda F, x: F.logsumexp(x), uniform(-400, 400, 5)),
    case('maximum', lambda F, x, y: F.maximum(x, y),
         (uniform(0, 1, 2, 3), distinct(2, 3)), (uniform(0, .02, 2, 3), distinct(3)),
         (uniform(0, .02), distinct(2, 3)), (normal(0, 3), normal(0, 3)), (normal(), normal())),
    case('maximum_tie', lambda F, x, y: F.maximum(x, y), (constant([1, 2]), constant([1, 1])),
         numeric=False, why='a kink'),
    case('max_tie', lambda F, x: F.max(x, axis=1), constant([[1, 2, 2], [3, 3, 3]]),
         numeric=False, why='a kink'),
    case('minimum', lambda F, x, y: F.minimum(x, y),
         (uniform(0, 1, 2, 3), distinct(2, 3)), (uniform(0, .02, 2, 3), distinct(3)),
         (uniform(0, .02), distinct(2, 3)), (normal(0, 3), normal(0, 3)), (normal(), normal())),
    case('minimum_tie', lambda F, x, y: F.minimum(x, y), (constant([1, 2]), constant([1, 1])),
         numeric=False, why='a kink'),
    unary('ndtr', *shapes(normal)),
    unary('ndtri', *shapes(uniform, .2, .8)),
    case('polygamma', lambda F, n, x: F.polygamma(n, x),
         (integers(0, 4, 2, 3), positive(2, 3)), (integers(0, 4, 3), positive(2, 3)),
         (integers(1, 2), positive())),
    case('polygamma_broadcast', lambda F, n, x: F.polygamma(n, x),
         (integers(0, 4, 2, 3), positive(3)), record=False,
         why="the original's gradients have the wrong shape"),
    case('prod_zeros', lambda F, x: F.prod(x, axis=1), constant([[0, 2, 3], [0, 2, 0], [1, 2, 3]])),
    unary('rsqrt', *shapes(positive)),
    case('scale', lambda F, x, y: F.scale(x, y),
         (normal(2, 3), normal(3)), (normal(2, 3, 4), normal(3)), (normal(2, 3, 4), normal(3, 4)),
         (normal(2, 3), normal())),
    case('scale_axis', lambda F, x, y: F.scale(x, y, axis=0),
         (normal(2, 3), normal(2)), (normal(2, 3), normal(2, 3))),
    unary('sign', *shapes(away), **STEP),
    unary('sin', *shapes(normal)),
    unary('sinh', *shapes(normal)),
    sparse('sparse_matmul', _coo_of, normal(5), True, normal(4, 2), normal(4, 1)),
    sparse('sparse_matmul_transposed', _coo_of, normal(5), True, normal(2, 3),
           transa=True, transb=True),
    sparse('sparse_matmul_right', _coo_of, normal(5), False, normal(2, 3)),
    sparse('sparse_matmul_right_transposed', _coo_of, normal(5), False, normal(4, 2),
           transa=True, transb=True),
    sparse('sparse_matmul_mixed', _coo_of, normal(5), True, normal(4, 2, dtype='d')),
    sparse('sparse_matmul_mixed_right', _coo_of, normal(5, dtype='d'), False, normal(2, 3)),
    sparse('sparse_matmul_batch', _coo_batch_of, normal(2, 3), True, normal(2, 4, 2)),
    sparse('sparse_matmul_batch_right', _coo_batch_of, normal(2, 3), False, normal(2, 2, 3)),
    unary('sqrt', *shapes(positive)),
    unary('square', *shapes(normal)),
    unary('tan', *shapes(uniform, -1.2, 1.2)),
    case('tensordot', lambda F, a, b: F.tensordot(a, b),
         (normal(2, 3, 4), normal(3, 4, 2)), (normal(3, 4), normal(3, 4))),
    case('tensordot_one', lambda F, a, b: F.tensordot(a, b, axes=1),
         (normal(2, 3), normal(3, 4)), (normal(3), normal(3))),
    case('tensordot_mixed', lambda F, a, b: F.tensordot(a, b, axes=1),
         (normal(2, 3), normal(3, 4, dtype='d')), (normal(2, 3, dtype='d'), normal(3))),
    case('tensordot_outer', lambda F, a, b: F.tensordot(a, b, axes=0), (normal(2, 3), normal(2))),
    case('tensordot_axes', lambda F, a, b: F.tensordot(a, b, axes=([2, 0], [0, 2])),
         (normal(2, 3, 4), normal(4, 3, 2))),
    case('tensordot_crossed', lambda F, a, b: F.tensordot(a, b, axes=([1, 3, 0], [2, 0, 1])),
         (normal(2, 3, 2, 4), normal(4, 2, 3, 5))),
    case('tensordot_negative', lambda F, a, b: F.tensordot(a, b, axes=(-1, 0)),
         (normal(2, 3), normal(3, 4)), record=False, why="the original's backward fails on it"),
    case('zeta', lambda F, q: F.zeta(2., q), positive(2, 3), positive()),
]
for name in 'average', 'logsumexp', 'mean', 'prod', 'sum':
    CASES += reduction(name, normal)
for name in 'max', 'min':
    CASES += reduction(name, distinct)

INTS = integers(1, 5, 2, 3)

ERRORS = [
    error(name, lambda F, x, name=name: getattr(F, name)(x), INTS, text=label or name)
    for name, label in [
        ('absolute', '|_|'), ('arccos', ''), ('arcsin', ''), ('arctan', ''),
        ('arctanh', 'Arctanh'), ('argmax', 'ArgMax'), ('argmin', 'ArgMin'),
        ('average', 'Mean'), ('batch_det', 'det'), ('batch_inv', 'BatchInv'),
        ('batch_l2_norm_squared', 'BatchL2NormSquared'), ('cos', ''), ('cosh', ''),
        ('cumprod', 'Cumprod'), ('cumsum', 'Cumsum'), ('det', ''), ('digamma', ''),
        ('erf', ''), ('erfc', ''), ('erfinv', ''), ('expm1', ''), ('inv', 'Inv'), ('lgamma', ''),
        ('log', ''), ('log10', ''), ('log1p', ''), ('log2', ''), ('logsumexp', 'LogSumExp'),
        ('max', 'Max'), ('min', 'Min'), ('prod', 'Prod'), ('sin', ''), ('sinh', ''), ('sqrt', ''),
        ('square', ''), ('sum', 'Sum'), ('tan', '')]
] + [
    error(name, lambda F, x, name=name: getattr(F, name)(x), INTS, text=name, record=False,
          why='the original calls the argument in_types[0]')
    for name in ('erfcinv', 'erfcx', 'exp', 'log_ndtr', 'ndtr', 'ndtri')
] + [
    error(f'{name}_axis_{i}', lambda F, x, name=name, axis=axis: getattr(F, name)(x, axis=axis),
          normal(2, 3), exception, text)
    for name in ('average', 'logsumexp', 'max', 'min', 'prod', 'sum')
    for i, (axis, exception, text) in enumerate([
        (2, 'InvalidType', 'x.ndim > 2'), (-3, 'InvalidType', 'x.ndim > 2'),
        ((0, 2), 'InvalidType', 'x.ndim > 2'), ((0, 0), 'ValueError', 'duplicate'),
        ('a', 'TypeError', 'None, int or tuple'), ([0, 1], 'TypeError', 'None, int or tuple'),
        ((0, 1.), 'TypeError', 'None, int or tuple')])
] + [
    error(f'{name}_axis_{i}', lambda F, x, name=name, axis=axis: getattr(F, name)(x, axis=axis),
          normal(2, 3), exception, text)
    for name in ('argmax', 'argmin', 'cumprod', 'cumsum')
    for i, (axis, exception, text) in enumerate([
        (2, 'InvalidType', 'ndim > 2'), (-3, 'InvalidType', 'ndim > 2'), ('a', 'TypeError', 'int'),
        ((0,), 'TypeError', 'int')])
] + [
    error(f'{name}_empty', lambda F, x, name=name: getattr(F, name)(x, axis=0), normal(0, 3),
          'ValueError')
    for name in ('argmax', 'argmin', 'logsumexp', 'max', 'min')
] + [
    error('average_empty', lambda F, x: F.average(x, axis=0), normal(0, 3), 'ZeroDivisionError'),
    error('average_axes_weights', lambda F, x: F.average(x, axis=(0, 1), weights=x), normal(2, 3),
          'ValueError', 'tuple axis'),
    error('average_weights_shape', lambda F, x, w: F.average(x, axis=0, weights=w),
          (normal(2, 3), normal(3)), record=False, why='a list stands where we have a tuple'),
    error('clip_order', lambda F, x: F.clip(x, 1, 0), normal(2), 'ValueError', 'x_min'),
    error('clip_none', lambda F, x: F.clip(x, None, None), normal(2), 'ValueError', 'must set'),
    error('clip', lambda F, x: F.clip(x, 0, 1), INTS, text='Clip'),
    error('bias_shape', lambda F, x, y: F.bias(x, y), (normal(2, 3), normal(2)), record=False,
          why='BroadcastTo words it differently'),
    error('scale_ndim', lambda F, x, y: F.scale(x, y), (normal(2, 3), normal(3, 2)), record=False,
          why='BroadcastTo words it differently'),
    error('cholesky', lambda F, x: F.cholesky(x), integers(1, 2, 2, 2), text='cholesky'),
    error('cholesky_indefinite', lambda F, x: F.cholesky(x), constant([[-1, 0], [0, 1]], 'd'),
          'LinAlgError'),
    error('batch_inv_ndim', lambda F, x: F.batch_inv(x), normal(2, 2)),
    error('batch_inv_singular', lambda F, x: F.batch_inv(x), constant([[[1, 1], [1, 1]]]),
          'ValueError', 'singular'),
    error('inv_ndim', lambda F, x: F.inv(x), normal(1, 2, 2)),
    error('inv_square', lambda F, x: F.inv(x), normal(2, 3)),
    error('inv_singular', lambda F, x: F.inv(x), constant([[1, 1], [1, 1]]), 'ValueError',
          'singular'),
    error('batch_det_square', lambda F, x: F.batch_det(x), normal(1, 2, 3)),
    error('batch_det_ndim', lambda F, x: F.batch_det(x), normal(2, 2)),
    error('batch_l2_norm_squared_ndim', lambda F, x: F.batch_l2_norm_squared(x), normal(2)),
    error('einsum_lengths', lambda F, x: F.einsum('ij,jk->ik', x, x), normal(2, 3)),
    error('einsum_ellipses', lambda F, x, y: F.einsum('...i,...i', x, y),
          (normal(2), normal(1, 2))),
    error('einsum_ellipses_implicit', lambda F, x, y: F.einsum('...i,j...->...ij', x, y),
          (normal(3, 2), normal(2, 1, 3))),
    error('einsum_diagonal', lambda F, x: F.einsum('ii->i', x), normal(2, 3)),
    error('einsum_integers', lambda F, x: F.einsum('ij->i', x), INTS),
    error('einsum_output', lambda F, x: F.einsum('ij->k', x), normal(2, 3), 'ValueError',
          'Output character k'),
    error('einsum_twice', lambda F, x: F.einsum('ij->ii', x), normal(2, 3), 'ValueError',
          'multiple times'),
    error('einsum_operands', lambda F, x: F.einsum('ij,jk', x), normal(2, 3), 'ValueError',
          'number of operands'),
    error('einsum_dimensions', lambda F, x: F.einsum('i->i', x), normal(2, 3), 'ValueError',
          'more dimensions'),
    error('einsum_symbol', lambda F, x: F.einsum('i$->i', x), normal(2, 3), 'ValueError', '$'),
    error('einsum_ellipsis_sum', lambda F, x: F.einsum('...i->i', x), normal(2, 3), 'ValueError',
          'ellipsis', record=False, why='the original says Ellipsis'),
    error('einsum_ellipsis_output', lambda F, x: F.einsum('i->i...', x), normal(2), 'ValueError',
          'did not appear'),
    error('fft_dtype', lambda F, x, y: F.fft((x, y)), (normal(2), normal(2, dtype='d'))),
    error('fft_shape', lambda F, x, y: F.fft((x, y)), (normal(2), normal(3))),
    error('fft_integers', lambda F, x: F.fft((x, x)), INTS),
    error('fft_ndim', lambda F, x: F.fft((x, x)), normal()),
    error('fmod', lambda F, x: F.fmod(x, x), INTS),
    error('fmod_dtype', lambda F, x, y: F.fmod(x, y), (normal(2), normal(2, dtype='d'))),
    error('fmod_shape', lambda F, x, y: F.fmod(x, y), (normal(2), normal(3)), 'ValueError'),
    error('arctan2', lambda F, x: F.arctan2(x, x), INTS),
    error('linear_interpolate', lambda F, x: F.linear_interpolate(x, x, x), INTS),
    error('linear_interpolate_shape', lambda F, x, y: F.linear_interpolate(x, x, y),
          (normal(2), normal(3))),
    error('linear_interpolate_dtype', lambda F, x, y: F.linear_interpolate(x, y, x),
          (normal(2), normal(2, dtype='d'))),
    error('maximum', lambda F, x: F.maximum(x, x), INTS),
    error('maximum_dtype', lambda F, x, y: F.maximum(x, y), (normal(2), normal(2, dtype='d'))),
    error('maximum_shape', lambda F, x, y: F.maximum(x, y), (normal(2), normal(3)), record=False,
          text='cannot broadcast', why='the original does not name the function'),
    error('minimum', lambda F, x: F.minimum(x, x), INTS),
    error('minimum_dtype', lambda F, x, y: F.minimum(x, y), (normal(2), normal(2, dtype='d'))),
    error('minimum_shape', lambda F, x, y: F.minimum(x, y), (normal(2), normal(3)), record=False,
          text='cannot broadcast', why='the original does not name the function'),
    error('polygamma_n', lambda F, x: F.polygamma(x, x), normal(2)),
    error('polygamma_x', lambda F, x: F.polygamma(x, x), INTS),
    error('sparse_matmul_dense', lambda F, x: F.sparse_matmul(x, x), normal(2, 2), 'ValueError',
          'combination'),
    error('sparse_matmul_sparse', lambda F, x: F.sparse_matmul(coo(F, x), coo(F, x)), normal(2, 2),
          'ValueError', 'combination'),
    error('sparse_matmul_shape', lambda F, x, y: F.sparse_matmul(coo(F, x), y),
          (normal(2, 3), normal(2, 3))),
    error('sparse_matmul_ndim', lambda F, x, y: F.sparse_matmul(coo(F, x), y),
          (normal(2, 3), normal(1, 3, 2))),
    error('tensordot', lambda F, x: F.tensordot(x, x), INTS),
    error('tensordot_shape', lambda F, x: F.tensordot(x, x, axes=1), normal(2, 3), 'ValueError',
          'shape mismatch'),
    error('tensordot_count', lambda F, x: F.tensordot(x, x, axes=([0, 1], [0])), normal(2, 3),
          'ValueError', 'count mismatch'),
    error('tensordot_many', lambda F, x: F.tensordot(x, x, axes=3), normal(2, 3), 'ValueError',
          'dot-axes count'),
    error('tensordot_axes', lambda F, x: F.tensordot(x, x, axes=1.), normal(2, 3), 'TypeError'),
    error('tensordot_three', lambda F, x: F.tensordot(x, x, axes=([0], [0], [0])), normal(2, 3),
          'ValueError', 'pair'),
    error('zeta', lambda F, q: F.zeta(2, q), INTS),
]
