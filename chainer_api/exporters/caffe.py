"""Writing models as files of Caffe."""
import collections
import os

import numpy

import chainer
from chainer import function_hook, utils
from chainer.backends import _cpu
from chainer.exporters._caffe_writer import Layer, caffemodel, prototxt
from chainer.functions.activation import leaky_relu, relu, sigmoid, softmax
from chainer.functions.array import concat, reshape
from chainer.functions.connection import convolution_2d, deconvolution_2d, linear
from chainer.functions.math import basic_math
from chainer.functions.normalization import batch_normalization, local_response_normalization
from chainer.functions.pooling import average_pooling_2d, max_pooling_2d


def export(model, args, directory=None, export_params=True, graph_name='Graph'):
    """Writes the computation of a model as files of Caffe (experimental).

    The model runs once, with ``chainer.config.train`` off, and its functions become layers of
    ``chainer_model.prototxt``; their parameters go to ``chainer_model.caffemodel``. These
    functions can be written: ``linear``, ``convolution_2d``, ``deconvolution_2d``,
    ``max_pooling_2d``, ``average_pooling_2d``, ``batch_normalization`` (two layers),
    ``local_response_normalization``, ``relu``, ``leaky_relu``, ``sigmoid``, ``softmax``,
    ``concat``, ``reshape`` and the addition of two variables.

    Args:
        model (Chain or callable): What computes one or several variables.
        args (list or tuple of Variables): Its arguments, of which there may be only one.
        directory (str): Folder for the files, which must be there; ``None`` writes nothing, but
            tells whether the model can be written.
        export_params (bool): Whether to write the parameters, too.
        graph_name (str): Name of the network.

    Raises:
        TypeError: The arguments or results are no variables.
        NotImplementedError: There are several arguments.
        ValueError: A function cannot be written.

    Example:
        >>> from chainer.exporters import caffe
        >>> x = chainer.Variable(np.zeros((1, 3, 8, 8), np.float32))
        >>> model = chainer.Sequential(L.Convolution2D(3, 4, 3), F.relu, L.Linear(None, 2))
        >>> caffe.export(model, [x])
    """
    utils.experimental('chainer.exporters.caffe.export')
    x = _only_argument(args)
    with _Calls() as calls, chainer.using_config('train', False), \
            chainer.force_backprop_mode():
        outputs = model(x)
    layers = _layers(x, _variables(outputs), calls.inputs)
    if directory is None:
        return
    with open(os.path.join(directory, 'chainer_model.prototxt'), 'w', encoding='utf-8') as f:
        f.write(prototxt(graph_name, x.shape, layers))
    if export_params:
        with open(os.path.join(directory, 'chainer_model.caffemodel'), 'wb') as f:
            f.write(caffemodel(graph_name, layers))


def _only_argument(args):
    """A leaf with the array of the only argument."""
    if not isinstance(args, (list, tuple)) or not all(
            isinstance(arg, chainer.Variable) for arg in args):
        raise TypeError('args must be a list or tuple of Variables, for example [x]')
    if len(args) != 1:
        raise NotImplementedError(
            f'only models of one argument can be written for Caffe, not of {len(args)}')
    return chainer.Variable(args[0].array)


def _variables(outputs):
    if not isinstance(outputs, (list, tuple)):
        outputs = outputs,
    for output in outputs:
        if not isinstance(output, chainer.Variable):
            raise TypeError(
                f'the model must return a Variable or a list of Variables, not {type(output)}')
    return outputs


class _Calls(function_hook.FunctionHook):
    """Keeps the arrays that go into functions, by the ids of the functions."""

    name = 'chainer.exporters.caffe'

    def __init__(self):
        self.inputs = {}
        self._alive = []  # an id may come again for a new function

    def forward_postprocess(self, function, in_data):
        self.inputs[id(function)] = in_data
        self._alive.append(function)


def _in_order(outputs):
    """The functions behind some variables, after those behind their inputs, short ways first."""
    ordered, done = [], set()
    stack = [(f, False) for f in _latest_first([y.node for y in outputs])]
    while stack:
        function, finished = stack.pop()
        if finished:
            ordered.append(function)
        elif id(function) not in done:
            done.add(id(function))
            stack.append((function, True))
            stack += [(f, False) for f in _latest_first(function.inputs)]
    return ordered


def _latest_first(nodes):
    """The functions of nodes for a stack: those of the lowest rank, then the first, on top."""
    functions = [n.creator_node for n in nodes if n.creator_node is not None]
    return sorted(functions, key=lambda f: f.rank)[::-1]


def _layers(x, outputs, inputs):
    """The layers of the functions between ``x`` and ``outputs``."""
    names = {id(x.node): 'data'}
    counts = collections.Counter()
    layers = []
    for function in _in_order(outputs):
        kind = function.label, function.rank
        counts[kind] += 1
        name = f'{function.label}-{function.rank}-{counts[kind]}'
        make = _WRITERS.get(type(function))
        if make is None:
            raise ValueError(
                f'{name}, a function {type(function).__name__}, cannot be written for Caffe; '
                f'what can is {", ".join(sorted(t.__name__ for t in _WRITERS))}')
        bottoms = [names[id(n)] for n in function.inputs if id(n) in names]
        if isinstance(function, (concat.Concat, basic_math.Add)):
            if len(bottoms) != len(function.inputs):
                raise ValueError(
                    f'{name} cannot be written for Caffe: some of its inputs do not depend on '
                    'the argument of the model')
        arrays = [_cpu.array_to_cpu(a) for a in inputs[id(function)]]
        layers += make(function, name, bottoms, *arrays)
        for output in function.outputs:
            names[id(output())] = name
    return layers


def _linear(function, name, bottoms, x, W, b=None):
    return [Layer('InnerProduct', name, bottoms, 'inner_product_param', {
        'num_output': W.shape[0], 'bias_term': b is not None}, _given(W, b))]


def _given(*arrays):
    return tuple(a for a in arrays if a is not None)


def _windows(function, kernel):
    return {
        'pad_w': function.pw, 'pad_h': function.ph,
        'stride_w': function.sx, 'stride_h': function.sy,
        'kernel_w': kernel[1], 'kernel_h': kernel[0]}


def _convolution(kind, outputs_of):
    def write(function, name, bottoms, x, W, b=None):
        settings = {
            'num_output': outputs_of(function, W), 'bias_term': b is not None,
            **_windows(function, W.shape[2:]), 'group': function.groups}
        if (function.dy, function.dx) != (1, 1):
            settings['dilation'] = (function.dy, function.dx)
        return [Layer(kind, name, bottoms, 'convolution_param', settings, _given(W, b))]
    return write


def _pooling(method):
    def write(function, name, bottoms, x):
        settings = {'pool': method, **_windows(function, (function.kh, function.kw))}
        return [Layer('Pooling', name, bottoms, 'pooling_param', settings)]
    return write


def _batch_normalization(function, name, bottoms, x, gamma, beta, mean, var):
    if tuple(function.key_axis) != (1,):
        raise ValueError(
            f'{name} cannot be written for Caffe: it normalizes over the axes {function.axis}, '
            'and Caffe over all but the second one')
    statistics = f'{name}_bn'
    return [
        Layer('BatchNorm', statistics, bottoms, 'batch_norm_param',
              {'use_global_stats': True, 'eps': float(function.eps)},
              (mean, var, numpy.ones(1, mean.dtype))),
        Layer('Scale', name, [statistics], 'scale_param', {'axis': 1, 'bias_term': True},
              (gamma, beta))]


def _local_response_normalization(function, name, bottoms, x):
    # Caffe divides alpha by the size.
    return [Layer('LRN', name, bottoms, 'lrn_param', {
        'norm_region': 0, 'local_size': function.n, 'k': function.k,
        'alpha': function.alpha * function.n, 'beta': function.beta})]


def _leaky_relu(function, name, bottoms, x):
    return [Layer('ReLU', name, bottoms, 'relu_param', {'negative_slope': function.slope})]


def _concat(function, name, bottoms, *xs):
    return [Layer('Concat', name, bottoms, 'concat_param', {'axis': function.axis})]


def _softmax(function, name, bottoms, x):
    settings = {} if function.axis == 1 else {'axis': function.axis}
    return [Layer('Softmax', name, bottoms, 'softmax_param', settings)]


def _reshape(function, name, bottoms, x):
    return [Layer('Reshape', name, bottoms, 'reshape_param', {
        'shape': {'dim': tuple(function.shape)}})]


def _plain(kind):
    def write(function, name, bottoms, *xs):
        return [Layer(kind, name, bottoms)]
    return write


_WRITERS = {
    linear.LinearFunction: _linear,
    convolution_2d.Convolution2DFunction: _convolution(
        'Convolution', lambda function, W: W.shape[0]),
    deconvolution_2d.Deconvolution2DFunction: _convolution(
        'Deconvolution', lambda function, W: W.shape[1] * function.groups),
    max_pooling_2d.MaxPooling2D: _pooling(0),
    average_pooling_2d.AveragePooling2D: _pooling(1),
    batch_normalization.FixedBatchNormalization: _batch_normalization,
    local_response_normalization.LocalResponseNormalization: _local_response_normalization,
    relu.ReLU: _plain('ReLU'),
    leaky_relu.LeakyReLU: _leaky_relu,
    sigmoid.Sigmoid: _plain('Sigmoid'),
    softmax.Softmax: _softmax,
    concat.Concat: _concat,
    reshape.Reshape: _reshape,
    basic_math.Add: _plain('Eltwise'),
}
