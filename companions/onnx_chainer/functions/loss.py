"""Losses."""
import numpy

from onnx_chainer.functions.converter import converts


@converts('SoftmaxCrossEntropy')
def softmax_cross_entropy(b):
    b.need(11, 'softmax_cross_entropy')
    func, (x, t) = b.func, b.inputs
    t = b.cast(t, numpy.int64)
    kept = b.op('Not', b.op('Equal', t, b.const(func.ignore_label)))
    t = b.op('Where', kept, t, b.const(0))
    log_p = b.softmax('LogSoftmax', x, 1, b.arrays[0].ndim)
    picked = b.op('GatherElements', log_p, b.unsqueeze(t, [1]), axis=1)
    loss = b.op('Neg', b.squeeze(picked, [1]))
    if func.class_weight is not None:
        weight = b.context.get_name(func.class_weight)
        loss = b.op('Mul', loss, b.op('Gather', weight, t, axis=0))
    loss = b.op('Where', kept, loss, b.scalar(0))
    if func.reduce == 'no':
        return loss
    total = b.reduce('ReduceSum', loss, None, keepdims=False)
    if func.normalize:
        count = b.reduce('ReduceSum', b.cast(kept, b.dtype), None, keepdims=False)
    else:
        batch = b.slice(b.op('Shape', x), [0], [1], [0])
        count = b.squeeze(b.cast(batch, b.dtype), [0])
    return b.op('Div', total, b.op('Max', count, b.scalar(1)))


@converts('MeanSquaredError')
def mean_squared_error(b):
    difference = b.op('Sub', *b.inputs)
    return b.reduce('ReduceMean', b.op('Mul', difference, difference), None, keepdims=False)


@converts('MeanAbsoluteError')
def mean_absolute_error(b):
    difference = b.op('Abs', b.op('Sub', *b.inputs))
    return b.reduce('ReduceMean', difference, None, keepdims=False)
