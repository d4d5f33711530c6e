"""Arithmetic, elementary functions, reductions."""
import functools

import numpy

from onnx_chainer.functions.converter import CONVERTERS, converts


def _plain(operator):
    """The converter of a function that is one operator, without settings."""
    def convert(b):
        return b.op(operator, *b.inputs)

    return convert


CONVERTERS.update({
    name: _plain(operator) for name, operator in {
        'Absolute': 'Abs', 'Add': 'Add', 'Arccos': 'Acos', 'Arcsin': 'Asin', 'Arctan': 'Atan',
        'Arctanh': 'Atanh', '_Ceil': 'Ceil', 'Cos': 'Cos', 'Cosh': 'Cosh', 'Div': 'Div',
        'Erf': 'Erf', 'Exp': 'Exp', '_Floor': 'Floor', 'Log': 'Log', 'Maximum': 'Max',
        'Minimum': 'Min', 'Mul': 'Mul', 'Neg': 'Neg', 'PowVarVar': 'Pow', '_Sign': 'Sign',
        'Sin': 'Sin', 'Sinh': 'Sinh', 'Sqrt': 'Sqrt', 'Sub': 'Sub', 'Tan': 'Tan'}.items()})


def _with_constant(operator, constant_first=False):
    """The converter of a function of its input and ``func.value``."""
    def convert(b):
        value = b.func.value
        # An array may be a value of the graph; a number takes the dtype of the result.
        known = isinstance(value, numpy.ndarray) and b.context.knows(value)
        value = b.context.get_name(value) if known else b.scalar(value)
        operands = (value, b.inputs[0]) if constant_first else (b.inputs[0], value)
        return b.op(operator, *operands)

    return convert


CONVERTERS.update({
    'AddConstant': _with_constant('Add'), 'MulConstant': _with_constant('Mul'),
    'PowVarConst': _with_constant('Pow'), 'PowConstVar': _with_constant('Pow', True),
    'SubFromConstant': _with_constant('Sub', True), 'DivFromConstant': _with_constant('Div', True)})


@converts('MultiAdd')
def multi_add(b):
    return functools.reduce(lambda x, y: b.op('Add', x, y), b.inputs)


@converts('Square')
def square(b):
    return b.op('Mul', *b.inputs * 2)


@converts('Rsqrt')
def rsqrt(b):
    return b.op('Reciprocal', b.op('Sqrt', *b.inputs))


@converts('Expm1')
def expm1(b):
    return b.op('Sub', b.op('Exp', *b.inputs), b.scalar(1))


@converts('Log1p')
def log1p(b):
    return b.op('Log', b.op('Add', b.inputs[0], b.scalar(1)))


@converts('Clip')
def clip(b):
    return b.clip(b.inputs[0], b.func.x_min, b.func.x_max)


@converts('LinearInterpolate')
def linear_interpolate(b):
    p, x, y = b.inputs
    rest = b.op('Mul', b.op('Sub', b.scalar(1), p), y)
    return b.op('Add', b.op('Mul', p, x), rest)


@converts('MatMul', 'BatchMatMul')
def matmul(b):
    func = b.func
    names = [
        _swapped(b, name, x.ndim) if flag else name
        for name, x, flag in zip(b.inputs, b.arrays, (func.transa, func.transb), strict=True)]
    y = b.op('MatMul', *names)
    return _swapped(b, y, b.outputs[0].ndim) if func.transc else y


def _swapped(b, x, ndim):
    """The last two axes the other way round."""
    if ndim < 2:
        return x
    return b.op('Transpose', x, perm=[*range(ndim - 2), ndim - 1, ndim - 2])


def _axes(axis, ndim):
    """Sorted numbers of axes, ``None`` for all of them."""
    if axis is None:
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in axes))


def _reduction(operator):
    def convert(b):
        axes = _axes(b.func.axis, b.arrays[0].ndim)
        keepdims = getattr(b.func, 'keepdims', False)
        return b.reduce(operator, b.inputs[0], axes, keepdims)

    return convert


CONVERTERS.update({
    'LogSumExp': _reduction('ReduceLogSumExp'), 'Max': _reduction('ReduceMax'),
    'Mean': _reduction('ReduceMean'), 'Min': _reduction('ReduceMin'),
    'Prod': _reduction('ReduceProd'), 'Sum': _reduction('ReduceSum')})


def _place(operator):
    """Of the largest or smallest element."""
    def convert(b):
        x, axis = b.inputs[0], b.func.axis
        if axis is None:
            x, axis = b.reshape(x, [-1]), 0
        place = b.op(operator, x, axis=int(axis) % max(b.arrays[0].ndim, 1), keepdims=0)
        return b.cast(place, b.dtype)

    return convert


CONVERTERS.update({'ArgMax': _place('ArgMax'), 'ArgMin': _place('ArgMin')})


@converts('SumTo')
def sum_to(b):
    x, y = b.arrays[0], b.outputs[0]
    lead = x.ndim - y.ndim
    axes = [k for k in range(x.ndim) if k < lead or y.shape[k - lead] != x.shape[k]]
    total = b.reduce('ReduceSum', b.inputs[0], tuple(axes), keepdims=True)
    return b.squeeze(total, range(lead))


@converts('Cumsum')
def cumsum(b):
    b.need(11, 'cumsum')
    x, axis = b.inputs[0], b.func.axis
    if axis is None:
        x, axis = b.reshape(x, [-1]), 0
    return b.op('CumSum', x, b.const(axis % max(b.arrays[0].ndim, 1)))
