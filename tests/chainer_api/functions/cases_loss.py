"""Loss functions."""
import numpy as np
from function_case import away, case, constant, error, integers, normal, uniform

ONCE = dict(twice=False, why='the original is differentiable only once, too')


def both(name, call, *variants, **settings):
    """Cases of ``reduce='mean'`` (the default) and ``'no'``."""
    return [
        case(name, lambda F, *xs: call(F, *xs), *variants, **settings),
        case(name + '_no', lambda F, *xs: call(F, *xs, reduce='no'), *variants, **settings),
    ]


def pair(name, *variants):
    return case(name, lambda F, x, y: getattr(F, name)(x, y), *variants)


def cross_entropy(name, *variants, **kwargs):
    return both('softmax_cross_entropy' + name, lambda F, x, t, **reduce: F.softmax_cross_entropy(
        x, t, **kwargs, **reduce), *variants, tolerance={'e': (8e-3, 8e-3)},
        why='half precision: the original rounds more often')


def _weighted(F, x, t, w, **kwargs):
    return F.softmax_cross_entropy(x, t, class_weight=w, **kwargs)


def _ctc(lengths=(None, None), blank=0):
    def call(F, x, t, **kwargs):
        lengths_ = [None if n is None else np.array(n, 'i') for n in lengths]
        return F.connectionist_temporal_classification(
            F.separate(x), t, blank, *lengths_, **kwargs)
    return call


def _crf(F, cost, x0, x1, x2, **kwargs):
    ys = [np.array(y, 'i') for y in ([0, 1, 2], [1, 1], [2])]
    return F.crf1d(cost, [x0, x1, x2], ys, **kwargs)


def _crf_equal(F, cost, x, **kwargs):
    ys = [np.array(y, 'i') for y in ([0, 1], [1, 1], [2, 0])]
    return F.crf1d(cost, F.separate(x), ys, **kwargs)


def _sampler(shape):
    return np.arange(int(np.prod(shape))).reshape(shape) % 4


def _negative_sampling(F, x, t, W, **kwargs):
    return F.negative_sampling(x, t, W, _sampler, 3, **kwargs)


def _discriminative(norm):
    return lambda F, x, labels: F.discriminative_margin_based_clustering_loss(
        x, labels, .1, 1.5, 2, norm, 2., .5, .1)


CRF = [normal(3, 3), normal(3, 3), normal(2, 3), normal(1, 3)]

CASES = [
    pair('absolute_error', (normal(2, 3), normal(2, 3)), (normal(), normal()),
         (normal(0, 3), normal(0, 3))),
    *both('bernoulli_nll', lambda F, x, y, **k: F.bernoulli_nll(x, y, **k),
          (uniform(0, 1, 2, 3), normal(2, 3))),
    case('bernoulli_nll_mean', lambda F, x, y: F.bernoulli_nll(x, y, reduce='mean'),
         (uniform(0, 1, 2, 3), normal(2, 3))),
    *both('black_out', lambda F, x, t, W, s, **k: F.black_out(x, t, W, s, **k),
          (normal(2, 3), integers(0, 4, 2), normal(4, 3), integers(0, 4, 2, 3)),
          tolerance={'e': (1e-2, 1e-2)}, why='half precision: 1 - p of p near one'),
    *both('contrastive', lambda F, x, y, t, **k: F.contrastive(x, y, t, **k),
          (normal(6, 3), normal(6, 3), integers(0, 2, 6)),
          (normal(4, 3, scale=.1), normal(4, 3, scale=.1), constant([0, 0, 0, 1], 'i'))),
    case('contrastive_margin', lambda F, x, y, t: F.contrastive(x, y, t, margin=5.),
         (normal(3, 2), normal(3, 2), constant([0, 1, 0], 'i'))),
    case('contrastive_equal', lambda F, x, t: F.contrastive(x, x, t),
         (normal(2, 3), constant([0, 1], 'i')), numeric=False, dtypes='fd',
         why='a kink; half precision stands in the next row'),
    case('contrastive_equal_half', lambda F, x, t: F.contrastive(x, x, t),
         (normal(2, 3), constant([0, 1], 'i')), numeric=False, dtypes='e',
         why='a kink'),
    *both('crf1d', _crf, CRF),
    *both('crf1d_equal', _crf_equal, (normal(3, 3), normal(3, 2, 3))),
    *both('crf1d_labels', lambda F, cost, x, y, **k: F.crf1d(
        cost, F.separate(x), F.separate(y), **k),
        (normal(3, 3), normal(4, 2, 3), integers(0, 3, 4, 2))),
    case('argmax_crf1d', lambda F, cost, *xs: F.argmax_crf1d(cost, list(xs)), CRF,
         static=False, why='it returns arrays, which the caller may look at'),
    *both('cross_covariance', lambda F, y, z, **k: F.cross_covariance(y, z, **k),
          (normal(4, 2), normal(4, 3)), (normal(1, 2), normal(1, 2))),
    *both('ctc', _ctc(), (normal(5, 2, 4), constant([[1, 2], [1, 1]], 'i')),
          (normal(3, 1, 3), constant([[2]], 'i')), (normal(1, 1, 3), constant([[2]], 'i')), **ONCE),
    *both('ctc_lengths', _ctc(([5, 3, 4], [2, 1, 0])),
          (normal(5, 3, 4), constant([[1, 2], [1, 0], [3, 3]], 'i')), **ONCE),
    *both('ctc_labels', _ctc(), (normal(6, 3, 4), integers(1, 4, 3, 2)), **ONCE),
    *both('ctc_blank', _ctc(blank=2), (normal(5, 2, 4), constant([[1, 3, 3], [0, 0, 1]], 'i')),
          **ONCE),
    *both('decov', lambda F, h, **k: F.decov(h, **k), normal(4, 3), normal(1, 2)),
    case('discriminative', _discriminative(1), (normal(2, 2, 3, 3), integers(0, 4, 2, 3, 3))),
    case('discriminative_l2', _discriminative(2), (normal(2, 2, 3, 3), integers(0, 4, 2, 3, 3)),
         grads=(), why='gradients of the original are NaN: next row'),
    case('discriminative_l2_gradient', _discriminative(2),
         (normal(2, 2, 3, 3), integers(0, 4, 2, 3, 3)), record=False,
         why='gradients of the original are NaN'),
    case('discriminative_l2_missing', _discriminative(2),  # no pixel of the second instance
         (normal(2, 2, 3, 3), integers(0, 2, 2, 3, 3)), dtypes='fd', grads=(),
         why='gradients of the original are NaN'),
    *both('gaussian_kl_divergence', lambda F, m, v, **k: F.gaussian_kl_divergence(m, v, **k),
          (normal(2, 3), normal(2, 3))),
    case('gaussian_kl_divergence_mean',
         lambda F, m, v: F.gaussian_kl_divergence(m, v, reduce='mean'),
         (normal(2, 3), normal(2, 3))),
    *both('gaussian_nll', lambda F, x, m, v, **k: F.gaussian_nll(x, m, v, **k),
          (normal(2, 3), normal(2, 3), normal(2, 3))),
    case('gaussian_nll_mean', lambda F, x, m, v: F.gaussian_nll(x, m, v, reduce='mean'),
         (normal(2, 3), normal(2, 3), normal(2, 3))),
    *both('hinge', lambda F, x, t, **k: F.hinge(x, t, **k),
          (away(4, 3, points=(-1, 1)), integers(0, 3, 4))),
    *both('hinge_l2', lambda F, x, t, **k: F.hinge(x, t, norm='L2', **k),
          (away(4, 3, points=(-1, 1)), integers(0, 3, 4))),
    *both('huber_loss', lambda F, x, t, **k: F.huber_loss(x, t, 1., **k),
          (away(4, 3, points=(-1, 1)), constant(np.zeros((4, 3)))),
          (normal(2, 3, 4, scale=3), normal(2, 3, 4)), (normal(0, 3), normal(0, 3))),
    case('huber_loss_0d', lambda F, x, t: F.huber_loss(x, t, 1., reduce='no'),
         (normal(), normal(scale=.1))),
    case('huber_loss_delta', lambda F, x, t: F.huber_loss(x, t, delta=2),
         (normal(2, 3, scale=3), normal(2, 3))),
    pair('mean_absolute_error', (normal(2, 3), normal(2, 3)), (normal(), normal())),
    pair('mean_squared_error', (normal(2, 3), normal(2, 3)), (normal(2, 3, 2), normal(2, 3, 2)),
         (normal(), normal())),
    *both('negative_sampling', _negative_sampling,
          (normal(3, 2), constant([1, -1, 2], 'i'), normal(4, 2)),
          (normal(1, 2), constant([0], 'i'), normal(4, 2)), opaque=True),
    case('negative_sampling_samples',
         lambda F, *xs: _negative_sampling(F, *xs, return_samples=True),
         (normal(2, 2), constant([1, 2], 'i'), normal(4, 2)), opaque=True, static=False,
         why='it returns an array, which the caller may look at'),
    *both('sigmoid_cross_entropy', lambda F, x, t, **k: F.sigmoid_cross_entropy(x, t, **k),
          (normal(4), integers(-1, 2, 4)), (normal(2, 3, scale=9), integers(-1, 2, 2, 3)),
          (normal(2), constant([-1, -1], 'i')), (normal(0, 3), integers(0, 2, 0, 3))),
    case('sigmoid_cross_entropy_sum',
         lambda F, x, t: F.sigmoid_cross_entropy(x, t, normalize=False),
         (normal(4, 3), integers(-1, 2, 4, 3))),
    *cross_entropy('', (normal(4, 3), integers(0, 3, 4)),
                   (normal(4, 3), constant([0, -1, 2, 1], 'i')),
                   (normal(2, 3, 2, 2), integers(-1, 3, 2, 2, 2)),
                   (normal(2, 3, 4, scale=50), integers(0, 3, 2, 4)),
                   (normal(2, 3), constant([-1, -1], 'i'))),
    case('softmax_cross_entropy_empty', lambda F, x, t: F.softmax_cross_entropy(x, t),
         (normal(0, 3), integers(0, 3, 0)), record=False,
         why="the original's backward fails on it"),
    *cross_entropy('_sum', (normal(4, 3), constant([0, -1, 2, 1], 'i')),
                   (normal(2, 3, 2), integers(0, 3, 2, 2)), normalize=False),
    *cross_entropy('_no_cache', (normal(4, 3), constant([0, -1, 2, 1], 'i')), cache_score=False),
    *cross_entropy('_ignore', (normal(4, 3), constant([0, 1, 2, 1], 'i')), ignore_label=1),
    *both('softmax_cross_entropy_weight', _weighted,
          (normal(4, 3), constant([0, -1, 2, 1], 'i'), uniform(.5, 2, 3)),
          (normal(2, 3, 2), integers(0, 3, 2, 2), uniform(.5, 2, 3)), grads=(0,),
          tolerance={'e': (8e-3, 8e-3)}, why='half precision: the original rounds more often'),
    *both('softmax_cross_entropy_soft', lambda F, x, t, **k: F.softmax_cross_entropy(
        x, F.softmax(t), **k), (normal(4, 3), normal(4, 3)), grads=(0,)),
    *both('softmax_cross_entropy_kl', lambda F, x, t, **k: F.softmax_cross_entropy(
        x, F.softmax(t), soft_target_loss='kl-divergence', **k),
        (normal(4, 3), normal(4, 3)), grads=(0,)),
    pair('squared_difference', (normal(2, 3), normal(2, 3))),
    pair('squared_error', (normal(2, 3), normal(2, 3)), (normal(), normal()),
         (normal(0, 3), normal(0, 3))),
    *both('triplet', lambda F, a, p, n, **k: F.triplet(a, p, n, **k),
          (normal(4, 3), normal(4, 3), normal(4, 3))),
    case('triplet_margin', lambda F, a, p, n: F.triplet(a, p, n, margin=9),
         (normal(4, 3), normal(4, 3), normal(4, 3))),
]

INTS = integers(0, 3, 2, 3)


def _pair_errors(name):
    def call(F, x, y):
        return getattr(F, name)(x, y)
    return [
        error(name, call, (INTS, INTS)),
        error(name + '_dtype', call, (normal(2, 3), normal(2, 3, dtype='d'))),
        error(name + '_shape', call, (normal(2, 3), normal(3))),
    ]


def _reduce(name, *inputs, args=()):
    return error(name + '_reduce', lambda F, *xs: getattr(F, name)(*xs, *args, reduce='foo'),
                 inputs, 'ValueError', 'foo')


def _ctc_error(name, exception, text, inputs, **kwargs):
    def call(F, x, t, *lengths):
        blank = kwargs.get('blank', 0)
        x = list(x) if kwargs.get('as_list', True) else x
        return F.connectionist_temporal_classification(x, t, blank, *lengths)
    return error('ctc_' + name, call, inputs, exception, text)


X, T = normal(2, 3), integers(0, 3, 2)

ERRORS = [
    row for name in ('absolute_error', 'mean_absolute_error', 'mean_squared_error',
                     'squared_error') for row in _pair_errors(name)
] + [
    _reduce('bernoulli_nll', X, X), _reduce('gaussian_kl_divergence', X, X),
    _reduce('gaussian_nll', X, X, X), _reduce('contrastive', X, X, T),
    _reduce('cross_covariance', X, X), _reduce('decov', X), _reduce('hinge', X, T),
    _reduce('huber_loss', X, X, args=(1.,)), _reduce('sigmoid_cross_entropy', X, INTS),
    _reduce('softmax_cross_entropy', X, T), _reduce('triplet', X, X, X),
    _reduce('negative_sampling', X, T, X, args=(_sampler, 2)),
    error('crf1d_reduce', lambda F, x: F.crf1d(x, [x], [x], reduce='foo'), X, 'ValueError', 'foo'),
    error('black_out_reduce', lambda F, x, t, s: F.black_out(x, t, x, s, reduce='foo'),
          (X, T, INTS), 'ValueError', 'foo', record=False,
          why='the original does not check it'),
    error('contrastive_margin', lambda F, x, t: F.contrastive(x, x, t, margin=0), (X, T),
          'ValueError', 'positive'),
    error('contrastive', lambda F, x, t: F.contrastive(x, x, t), (INTS, T)),
    error('contrastive_y', lambda F, x, t: F.contrastive(x, x, t), (X, normal(2))),
    error('contrastive_shape', lambda F, x, y, t: F.contrastive(x, y, t), (X, normal(3), T)),
    error('contrastive_length', lambda F, x, t: F.contrastive(x, x, t), (X, integers(0, 2, 3))),
    error('contrastive_ndim', lambda F, x, t: F.contrastive(x, x, t), (normal(2, 3, 1), T)),
    error('cross_covariance', lambda F, x: F.cross_covariance(x, x), INTS),
    error('cross_covariance_ndim', lambda F, x: F.cross_covariance(x, x), normal(2)),
    error('cross_covariance_length', lambda F, x, y: F.cross_covariance(x, y), (X, normal(3, 2))),
    error('cross_covariance_dtype', lambda F, x, y: F.cross_covariance(x, y),
          (X, normal(2, 2, dtype='d'))),
    _ctc_error('list', 'TypeError', 'list', (normal(3, 2, 4), constant([[1], [2]], 'i')),
               as_list=False),
    _ctc_error('blank', 'TypeError', 'blank_symbol', (normal(3, 2, 4), constant([[1], [2]], 'i')),
               blank='a'),
    _ctc_error('labels', 'InvalidType', '', (normal(3, 2, 4), constant([[1], [2]], 'q'))),
    _ctc_error('scores', 'InvalidType', '', (integers(0, 2, 3, 2, 4), constant([[1], [2]], 'i'))),
    _ctc_error('length_dtype', 'InvalidType', '',
               (normal(3, 2, 4), constant([[1], [2]], 'i'), constant([3, 3], 'q'))),
    _ctc_error('length', 'InvalidType', '',
               (normal(3, 2, 4), constant([[1], [2]], 'i'), constant([3, 3, 3], 'i'))),
    error('ctc_blank_value', lambda F, x, t: F.connectionist_temporal_classification(
        list(x), t, 4), (normal(3, 2, 4), constant([[1], [2]], 'i')), 'ValueError', 'blank_symbol',
        record=False, why='the original asserts'),
    error('crf1d_cost', lambda F, cost, x: F.crf1d(cost, [x], [x]), (normal(2, 3), X), record=False,
          why='the original says it for an inner function'),
    error('crf1d_grows', lambda F, cost, x: F.crf1d(cost, [x[:1], x], [x, x]), (normal(3, 3), X),
          record=False, why='the original says it for an inner function'),
    error('decov', lambda F, h: F.decov(h), INTS),
    error('decov_ndim', lambda F, h: F.decov(h), normal(2)),
    error('discriminative_norm', lambda F, x, t: F.discriminative_margin_based_clustering_loss(
        x, t, .5, 1.5, 2, norm=3), (normal(2, 2, 1, 1), integers(0, 2, 2, 1, 1)), 'ValueError',
        'norm'),
    error('hinge_norm', lambda F, x, t: F.hinge(x, t, norm='L3'), (X, T), 'NotImplementedError',
          'norm'),
    error('hinge', lambda F, x, t: F.hinge(x, t), (INTS, T)),
    error('hinge_t', lambda F, x, t: F.hinge(x, t), (X, normal(2))),
    error('hinge_ndim', lambda F, x, t: F.hinge(x, t), (normal(2), T)),
    error('hinge_t_ndim', lambda F, x, t: F.hinge(x, t), (X, INTS)),
    error('hinge_length', lambda F, x, t: F.hinge(x, t), (X, integers(0, 3, 3))),
    error('huber_loss', lambda F, x: F.huber_loss(x, x, 1.), INTS),
    error('huber_loss_dtype', lambda F, x, t: F.huber_loss(x, t, 1.), (X, INTS)),
    error('huber_loss_shape', lambda F, x, t: F.huber_loss(x, t, 1.), (X, normal(3))),
    error('negative_sampling_t', lambda F, x, t: F.negative_sampling(x, t, x, _sampler, 2),
          (X, normal(2))),
    error('negative_sampling_length', lambda F, x, t: F.negative_sampling(x, t, x, _sampler, 2),
          (X, integers(0, 2, 3))),
    error('negative_sampling_ndim', lambda F, x, t: F.negative_sampling(x, t, x, _sampler, 2),
          (normal(2, 3, 1), T)),
    error('negative_sampling_keyword', lambda F, x, t: F.negative_sampling(
        x, t, x, _sampler, 2, foo=1), (X, T), 'TypeError', 'foo'),
    error('sigmoid_cross_entropy', lambda F, x: F.sigmoid_cross_entropy(x, x), INTS),
    error('sigmoid_cross_entropy_t', lambda F, x: F.sigmoid_cross_entropy(x, x), X),
    error('sigmoid_cross_entropy_shape', lambda F, x, t: F.sigmoid_cross_entropy(x, t), (X, T)),
    error('softmax_cross_entropy_weight_ndim', lambda F, x, t, w: F.softmax_cross_entropy(
        x, t, class_weight=w), (X, T, normal(3, 1)), 'ValueError', 'ndim'),
    error('softmax_cross_entropy_weight_dtype', lambda F, x, t, w: F.softmax_cross_entropy(
        x, t, class_weight=w), (X, T, integers(1, 2, 3)), 'ValueError', 'dtype'),
    error('softmax_cross_entropy_weight_variable', lambda F, x, t, w: F.softmax_cross_entropy(
        x, t, class_weight=F.identity(w)), (X, T, normal(3)), 'ValueError', 'Variable'),
    error('softmax_cross_entropy_label', lambda F, x, t: F.softmax_cross_entropy(x, t),
          (X, constant([0, 3], 'i')), 'IndexError'),
    error('softmax_cross_entropy_debug', lambda F, x, t: F.softmax_cross_entropy(x, t),
          (X, constant([0, 3], 'i')), 'ValueError', 'Each label', config={'debug': True}),
    error('softmax_cross_entropy_soft', lambda F, x: F.softmax_cross_entropy(
        x, x, soft_target_loss='foo'), X, 'ValueError', 'soft_target_loss'),
    error('softmax_cross_entropy_hard', lambda F, x, t: F.softmax_cross_entropy(
        x, t, soft_target_loss='kl'), (X, T), 'ValueError', 'soft_target_loss'),
    error('softmax_cross_entropy_integers', lambda F, x, t: F.softmax_cross_entropy(x, t),
          (INTS, T), text='SoftmaxCrossEntropy', record=False,
          why='the original fails on its own check (RuntimeError)'),
    error('softmax_cross_entropy_length', lambda F, x, t: F.softmax_cross_entropy(x, t),
          (X, integers(0, 3, 3)), text='SoftmaxCrossEntropy', record=False,
          why='the original fails on its own check (RuntimeError)'),
    error('triplet_margin', lambda F, x: F.triplet(x, x, x, margin=0), X, 'ValueError', 'positive'),
    error('triplet', lambda F, x: F.triplet(x, x, x), INTS),
    error('triplet_shape', lambda F, x, y: F.triplet(x, x, y), (X, normal(3))),
]
