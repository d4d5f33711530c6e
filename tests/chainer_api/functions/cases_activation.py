"""Activation functions."""
from function_case import away, case, distinct, error, integers, normal, uniform

SHAPES = (away(4, 3), away(2, 3, 4), away(0, 3), away())


def _with_slopes(F, x):
    y, r = F.rrelu(x, return_r=True)
    return y, r


CASES = [
    case('clipped_relu', lambda F, x: F.clipped_relu(x, z=1.0),
         *(away(*shape, points=(0, 1)) for shape in ((4, 3), (2, 3, 4), (0, 3), ()))),
    case('clipped_relu_default', lambda F, x: F.clipped_relu(x), away(4, 3)),
    case('crelu', lambda F, x: F.crelu(x), away(4, 3), away(2, 3, 4), away(0, 3)),
    case('crelu_axis', lambda F, x: F.crelu(x, axis=-2), away(4, 3), away(2, 3, 4)),
    case('elu', lambda F, x: F.elu(x), *SHAPES),
    case('elu_alpha', lambda F, x: F.elu(x, alpha=0.3), away(4, 3)),
    case('hard_sigmoid', lambda F, x: F.hard_sigmoid(x), *(
        away(*shape, points=(-2.5, 2.5)) for shape in ((4, 3), (2, 3, 4), (0, 3), ()))),
    case('leaky_relu', lambda F, x: F.leaky_relu(x), *SHAPES),
    case('leaky_relu_slope', lambda F, x: F.leaky_relu(x, slope=0.7), away(4, 3)),
    case('log_softmax', lambda F, x: F.log_softmax(x),
         normal(4, 3), normal(2, 3, 2, 3), normal(0, 3), uniform(-300, 300, 2, 4)),
    case('log_softmax_axis', lambda F, x: F.log_softmax(x, axis=-3), normal(2, 3, 4)),
    case('log_softmax_vector', lambda F, x: F.log_softmax(x, axis=0), normal(5)),
    case('maxout', lambda F, x: F.maxout(x, 3), distinct(2, 6), distinct(2, 3, 4)),
    case('maxout_axis', lambda F, x: F.maxout(x, 2, axis=2), distinct(2, 3, 4)),
    case('maxout_first_axis', lambda F, x: F.maxout(x, 2, axis=0), distinct(4, 3)),
    case('prelu', lambda F, x, W: F.prelu(x, W),
         (away(4, 3), normal(3)), (away(2, 3, 4), normal(3)), (away(2, 3, 4), normal(3, 4)),
         (away(3, 2), normal()), (away(0, 3), normal(3))),
    case('relu', lambda F, x: F.relu(x), *SHAPES),
    case('relu6', lambda F, x: F.relu6(3 * x), away(4, 3, points=(0, 2))),
    case('rrelu', lambda F, x: F.rrelu(x), *SHAPES, random=True),
    case('rrelu_bounds', lambda F, x: F.rrelu(x, 0.2, 0.9), away(4, 3), random=True),
    case('rrelu_return_r', _with_slopes, away(4, 3), random=True),
    case('rrelu_given_r', lambda F, x, r: F.rrelu(x, r=r),
         (away(4, 3), uniform(0, 1, 4, 3)), grads=(0,)),
    case('rrelu_test', lambda F, x: F.rrelu(x), away(4, 3), config={'train': False}),
    case('selu', lambda F, x: F.selu(x), *SHAPES),
    case('selu_parameters', lambda F, x: F.selu(x, alpha=0.7, scale=1.3), away(4, 3)),
    case('sigmoid', lambda F, x: F.sigmoid(x),
         normal(4, 3), normal(2, 3, 4), normal(0, 3), normal(), uniform(-200, 200, 6)),
    case('softmax', lambda F, x: F.softmax(x),
         normal(4, 3), normal(2, 3, 2, 3), normal(0, 3), uniform(-300, 300, 2, 4)),
    case('softmax_axis', lambda F, x: F.softmax(x, axis=-3), normal(2, 3, 4)),
    case('softmax_vector', lambda F, x: F.softmax(x, axis=0), normal(5)),
    case('softplus', lambda F, x: F.softplus(x),
         normal(4, 3), normal(2, 3, 4), normal(0, 3), normal(), normal(6, scale=100.)),
    case('softplus_beta', lambda F, x: F.softplus(x, beta=2.5), normal(4, 3)),
    case('swish', lambda F, x, beta: F.swish(x, beta),
         (normal(4, 3), normal(3)), (normal(2, 3, 4), normal(3)), (normal(2, 3, 4), normal(3, 4)),
         (normal(3, 2), normal()), (normal(0, 3), normal(3))),
    case('tanh', lambda F, x: F.tanh(x), normal(4, 3), normal(2, 3, 4), normal(0, 3), normal()),
]

INTS = integers(0, 5, 2, 3)

ERRORS = [
    error(name, lambda F, x, name=name: getattr(F, name)(x), INTS, text=label)
    for name, label in [
        ('clipped_relu', 'ClippedReLU'), ('crelu', 'CReLU'), ('elu', 'ELU'),
        ('hard_sigmoid', 'HardSigmoid'), ('leaky_relu', 'LeakyReLU'), ('relu', 'ReLU'),
        ('rrelu', 'RReLU'), ('selu', 'ELU'), ('sigmoid', 'Sigmoid'), ('softplus', 'Softplus'),
        ('tanh', 'Tanh')]
] + [
    error(name + '_axis', lambda F, x, name=name: getattr(F, name)(x, axis=2), normal(2, 3),
          text=label, record=False,
          why='the original fails on its own check (RuntimeError)')
    for name, label in [('softmax', 'Softmax'), ('log_softmax', 'LogSoftmax')]
] + [
    error('clipped_relu_z', lambda F, x: F.clipped_relu(x, 3), normal(2), 'TypeError', 'z must be'),
    error('crelu_axis', lambda F, x: F.crelu(x, axis=3), normal(2, 3)),
    error('crelu_axis_type', lambda F, x: F.crelu(x, axis=1.), normal(2, 3), 'TypeError', 'axis'),
    error('maxout_size', lambda F, x: F.maxout(x, 2), normal(2, 3), text='axis dimension'),
    error('maxout_zero', lambda F, x: F.maxout(x, 0), normal(2, 3), 'ValueError', 'pool_size'),
    error('prelu_shape', lambda F, x, W: F.prelu(x, W), (normal(2, 3), normal(2))),
    error('prelu_dtype', lambda F, x, W: F.prelu(x, W), (normal(2, 3), normal(3, dtype='d'))),
    error('prelu_ndim', lambda F, x, W: F.prelu(x, W), (normal(2), normal(2, 3))),
    error('rrelu_order', lambda F, x: F.rrelu(x, .4, .2), normal(2), 'ValueError', 'less than'),
    error('rrelu_range', lambda F, x: F.rrelu(x, -.4, .2), normal(2), 'ValueError', 'range'),
    error('rrelu_range_u', lambda F, x: F.rrelu(x, .4, 2), normal(2), 'ValueError', 'range'),
    error('rrelu_train', lambda F, x: F.rrelu(x, train=True), normal(2), 'ValueError',
          'using_config'),
    error('rrelu_keyword', lambda F, x: F.rrelu(x, foo=1), normal(2), 'TypeError', 'foo'),
    error('rrelu_r_shape', lambda F, x, r: F.rrelu(x, r=r), (normal(2, 3), normal(3))),
    error('rrelu_r_dtype', lambda F, x, r: F.rrelu(x, r=r), (normal(3), normal(3, dtype='d'))),
    error('softmax_empty', lambda F, x: F.softmax(x), normal(3, 0), 'ValueError'),
    error('swish_shape', lambda F, x, b: F.swish(x, b), (normal(2, 3), normal(2))),
    error('softmax_vector', lambda F, x: F.softmax(x), normal(3), record=False,
          why='the original fails on its own check (RuntimeError)'),
    error('softmax_integer', lambda F, x: F.softmax(x), INTS, record=False,
          why='the original fails on its own check (RuntimeError)'),
]
