"""Normalization."""
from onnx_chainer.functions.converter import converts


def _wide(b, name):
    """A parameter of channels, with axes of length one for those that are reduced over."""
    return b.unsqueeze(name, [k for k in range(b.arrays[0].ndim) if k in b.func.axis])


@converts('FixedBatchNormalization')
def fixed_batch_normalization(b):
    func = b.func
    if func.key_axis == (1,):
        return b.op('BatchNormalization', *b.inputs, epsilon=float(func.eps), momentum=0.)
    x, *parameters = b.inputs
    gamma, beta, mean, var = (_wide(b, name) for name in parameters)
    return _normalized(b, b.op('Sub', x, mean), var, gamma, beta)


@converts('BatchNormalization')
def batch_normalization(b):
    # With the statistics of the batch, as the model has run: the operator of this name infers.
    x, gamma, beta = b.inputs
    axes = b.func.axis
    centred = b.op('Sub', x, b.reduce('ReduceMean', x, axes, keepdims=True))
    var = b.reduce('ReduceMean', b.op('Mul', centred, centred), axes, keepdims=True)
    return _normalized(b, centred, var, _wide(b, gamma), _wide(b, beta))


def _normalized(b, centred, var, gamma, beta):
    std = b.op('Sqrt', b.op('Add', var, b.scalar(b.func.eps)))
    return b.op('Add', b.op('Mul', b.op('Div', centred, std), gamma), beta)


@converts('GroupNormalization')
def group_normalization(b):
    x, gamma, beta = b.inputs
    groups, ndim = b.func.groups, b.arrays[0].ndim
    y = b.op('InstanceNormalization', b.reshape(x, [0, groups, -1]), b.scalar([1] * groups),
             b.scalar([0] * groups), epsilon=float(b.func.eps))
    y = b.op('Reshape', y, b.op('Shape', x))
    after = range(1, ndim - 1)
    return b.op('Add', b.op('Mul', y, b.unsqueeze(gamma, after)), b.unsqueeze(beta, after))


@converts('LayerNormalization')
def layer_normalization(b):
    x, gamma, beta = b.inputs
    if b.opset >= 17:
        return b.op('LayerNormalization', x, gamma, beta, axis=1, epsilon=float(b.func.eps))
    centred = b.op('Sub', x, b.reduce('ReduceMean', x, (1,), keepdims=True))
    var = b.reduce('ReduceMean', b.op('Mul', centred, centred), (1,), keepdims=True)
    return _normalized(b, centred, var, gamma, beta)


@converts('LocalResponseNormalization')
def local_response_normalization(b):
    func = b.func
    size = 2 * (func.n // 2) + 1  # so many neighbours on both sides
    return b.op('LRN', *b.inputs, size=size, bias=float(func.k), alpha=float(func.alpha * size),
                beta=float(func.beta))


@converts('NormalizeL2')
def normalize_l2(b):
    norm = b.reduce('ReduceL2', b.inputs[0], b.func.axis, keepdims=True)
    return b.op('Div', b.inputs[0], b.op('Add', norm, b.scalar(b.func.eps)))
