"""Activation functions."""
from onnx_chainer.functions.converter import converts


@converts('ReLU')
def relu(b):
    return b.op('Relu', *b.inputs)


@converts('ClippedReLU')
def clipped_relu(b):
    return b.clip(b.inputs[0], 0., b.func.cap)


@converts('ELU')
def elu(b):
    return b.op('Elu', *b.inputs, alpha=float(b.func.alpha))


@converts('HardSigmoid')
def hard_sigmoid(b):
    return b.op('HardSigmoid', *b.inputs, alpha=0.2, beta=0.5)


@converts('LeakyReLU')
def leaky_relu(b):
    return b.op('LeakyRelu', *b.inputs, alpha=float(b.func.slope))


@converts('Softmax', 'LogSoftmax')
def softmax(b):
    return b.softmax(type(b.func).__name__, b.inputs[0], b.func.axis, b.arrays[0].ndim)


@converts('PReLUFunction')
def prelu(b):
    x, W = b.arrays
    # A slope stands for the first axes after that of the batch; ONNX aligns the last ones.
    axes = range(W.ndim, x.ndim - 1)
    return b.op('PRelu', b.inputs[0], b.unsqueeze(b.inputs[1], axes))


@converts('Sigmoid')
def sigmoid(b):
    return b.op('Sigmoid', *b.inputs)


@converts('Softplus')
def softplus(b):
    beta = b.func.beta
    y = b.op('Softplus', b.op('Mul', b.inputs[0], b.scalar(beta)))
    return b.op('Mul', y, b.scalar(1 / beta))


@converts('Tanh')
def tanh(b):
    return b.op('Tanh', *b.inputs)


@converts('Swish')
def swish(b):
    x, beta = b.arrays
    axes = range(beta.ndim, x.ndim - 1)
    beta = b.unsqueeze(b.inputs[1], axes)
    return b.op('Mul', b.inputs[0], b.op('Sigmoid', b.op('Mul', b.inputs[0], beta)))
