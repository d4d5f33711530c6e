"""Networks of Caffe as links."""
import functools
import operator
import warnings

import numpy

from chainer import configuration, link
from chainer import functions as F
from chainer.links.caffe import _model_file
from chainer.links.connection import convolution_2d, deconvolution_2d, linear, scale
from chainer.links.normalization import batch_normalization


class CaffeFunction(link.Chain):
    """Network of Caffe, read from a model file (``caffemodel``).

    Layers with weights become child links, by their names in the file. Not all of Caffe is
    supported; the reference models of its authors are, but for their data layers. Layers are left
    out of the computation which are not supported, have no outputs, or have inputs that are
    neither given nor computed. ``chainer.config.train`` tells whether dropout works as in the
    training, and batch normalization too, if the file does not forbid it.

    Args:
        model_path (str): The file, in the binary format of protocol buffers.

    Attributes:
        forwards (dict): Functions by the names of the layers.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no model file.

    .. code-block:: python

        func = L.caffe.CaffeFunction('bvlc_reference_caffenet.caffemodel')
        y, = func(inputs={'data': x}, outputs=['fc8'])
    """

    def __init__(self, model_path):
        super().__init__()
        self.forwards = {}
        self.layers = []  # (name, names of the inputs, names of the outputs)
        for layer in _model_file.read(model_path):
            self._add_layer(layer)

    def _add_layer(self, layer):
        if layer.type == 'Data':
            return
        set_up = _SET_UP.get(layer.type)
        if set_up is None:
            warnings.warn(
                f'Skip the layer "{layer.name}", since CaffeFunction does not support '
                f'{layer.type} layer', stacklevel=4)
            return
        function = set_up(layer)
        if isinstance(function, link.Link):
            self.add_link(layer.name, function)
            # By its name: a copy of this chain calls its own child.
            trained = layer.type == 'BatchNorm' and layer.batch_norm_param.use_global_stats
            function = _CallChild(layer.name, trained)
        self.forwards[layer.name] = function
        self.layers.append((layer.name, layer.bottom, layer.top))

    def forward(self, inputs, outputs, disable=()):
        """Computes some blobs.

        Args:
            inputs (dict): Input blobs, Variables or arrays, by their names.
            outputs (iterable of str): Names of the blobs to compute.
            disable (container of str): Names of layers to leave out.

        Returns:
            tuple of Variables: The blobs, in the order of ``outputs``.

        Raises:
            KeyError: A blob is neither given nor computed.
        """
        blobs = dict(inputs)
        for name, bottom, top in self.layers:
            if name in disable or not top or any(blob not in blobs for blob in bottom):
                continue
            function = self.forwards[name]
            xs = [blobs[blob] for blob in bottom]
            ys = function(self, *xs) if isinstance(function, _CallChild) else function(*xs)
            blobs.update(zip(top, ys if isinstance(ys, (tuple, list)) else (ys,), strict=False))
        missing = [blob for blob in outputs if blob not in blobs]
        if missing:
            raise KeyError(
                f'blobs {missing} are not computed from the inputs {sorted(inputs)}; computed are '
                f'{sorted(set(blobs) - set(inputs))}')
        return tuple([blobs[blob] for blob in outputs])


class _CallChild:
    """Calls a child of a chain, always as after the training if it is ``trained``."""

    def __init__(self, name, trained):
        self.name = name
        self.trained = trained

    def __call__(self, chain, *xs):
        if not self.trained:
            return chain[self.name](*xs)
        with configuration.using_config('train', False):
            return chain[self.name](*xs)


def _concat(*xs, axis):
    return F.concat(xs, axis=axis)


def _split(x, n):
    return (x,) * n


def _slice(x, points, axis):
    return F.split_axis(x, points, axis)


def _eltwise(*xs, operation, coeff):
    if operation == 'SUM':
        if coeff:
            xs = [x * c for x, c in zip(xs, coeff, strict=True)]
        return functools.reduce(operator.add, xs)
    return functools.reduce(operator.mul if operation == 'PROD' else F.maximum, xs)


def _global_pooling(x, pool):
    return pool(x, x.shape[2:])


def _size(param, name, default):
    """Height and width of a setting that may be given once or twice."""
    short = {'kernel_size': 'kernel'}.get(name, name)
    height, width = getattr(param, short + '_h'), getattr(param, short + '_w')
    both = getattr(param, name)
    if isinstance(both, list):
        both = both[0] if both else None
    if both is None:
        both = default
    return both if height is None else height, both if width is None else width


def _set_up_convolution(layer):
    param = layer.convolution_param
    W = _model_file.array(layer.blobs[0])
    n_out, n_in = param.num_output, W.shape[1] * param.group
    conv = convolution_2d.Convolution2D(
        n_in, n_out, _size(param, 'kernel_size', None), _size(param, 'stride', 1),
        _size(param, 'pad', 0), nobias=not param.bias_term, initialW=0,
        dilate=param.dilation[0] if param.dilation else 1)
    # Groups are blocks on the diagonal of the weights.
    rows, columns = n_out // param.group, n_in // param.group
    for g in range(param.group):
        conv.W.array[g * rows:(g + 1) * rows, g * columns:(g + 1) * columns] = (
            W[g * rows:(g + 1) * rows])
    if param.bias_term:
        conv.b.array[...] = _model_file.array(layer.blobs[1]).ravel()
    return conv


def _set_up_deconvolution(layer):
    param = layer.convolution_param
    W = _model_file.array(layer.blobs[0])
    n_in, n_out = len(W), param.num_output
    deconv = deconvolution_2d.Deconvolution2D(
        n_in, n_out, _size(param, 'kernel_size', None), _size(param, 'stride', 1),
        _size(param, 'pad', 0), nobias=not param.bias_term, initialW=0)
    rows, columns = n_in // param.group, n_out // param.group
    for g in range(param.group):
        deconv.W.array[g * rows:(g + 1) * rows, g * columns:(g + 1) * columns] = (
            W[g * rows:(g + 1) * rows])
    if param.bias_term:
        deconv.b.array[...] = _model_file.array(layer.blobs[1]).ravel()
    return deconv


def _set_up_inner_product(layer):
    param = layer.inner_product_param
    if param.axis != 1:
        raise RuntimeError(
            f'layer {layer.name}: Non-default axis in InnerProduct is not supported')
    W = _model_file.array(layer.blobs[0])
    n_out, n_in = W.shape[-2:]
    return linear.Linear(
        n_in, n_out, nobias=not param.bias_term, initialW=W.reshape(n_out, n_in),
        initial_bias=_model_file.array(layer.blobs[1]).ravel() if param.bias_term else None)


def _set_up_batch_norm(layer):
    param = layer.batch_norm_param
    mean, var, factor = (_model_file.array(blob).ravel() for blob in layer.blobs)
    # Caffe keeps sums, and by what they are to be divided.
    factor = numpy.float32(1 / factor[0] if factor[0] else 0)
    norm = batch_normalization.BatchNormalization(
        len(mean), decay=param.moving_average_fraction, eps=param.eps, use_gamma=False,
        use_beta=False)
    norm.avg_mean[...] = mean * factor
    norm.avg_var[...] = var * factor
    return norm


def _set_up_scale(layer):
    param = layer.scale_param
    if not layer.blobs:
        return scale.Scale(param.axis, bias_term=False)
    W = _model_file.array(layer.blobs[0])
    scale_link = scale.Scale(param.axis, W.shape, bias_term=param.bias_term)
    scale_link.W.array[...] = W
    if param.bias_term:
        scale_link.bias.b.array[...] = _model_file.array(layer.blobs[1])
    return scale_link


def _set_up_pooling(layer):
    param = layer.pooling_param
    if param.pool == 'MAX':
        pool = functools.partial(F.max_pooling_2d, cover_all=True)
    elif param.pool == 'AVE':
        pool = F.average_pooling_2d
    else:
        raise ValueError(f'layer {layer.name}: Stochastic pooling is not supported')
    if param.global_pooling:
        return functools.partial(_global_pooling, pool=pool)
    return functools.partial(
        pool, ksize=_size(param, 'kernel_size', None), stride=_size(param, 'stride', 1),
        pad=_size(param, 'pad', 0))


def _set_up_lrn(layer):
    param = layer.lrn_param
    if param.norm_region != 'ACROSS_CHANNELS':
        raise RuntimeError(
            f'layer {layer.name}: Within-channel LRN is not supported')
    return functools.partial(
        F.local_response_normalization, n=param.local_size, k=param.k,
        alpha=param.alpha / param.local_size, beta=param.beta)


def _set_up_relu(layer):
    slope = layer.relu_param.negative_slope
    return functools.partial(F.leaky_relu, slope=slope) if slope else F.relu


def _set_up_concat(layer):
    param = layer.concat_param
    axis = param.axis if 'axis' in param.given else param.concat_dim
    return functools.partial(_concat, axis=axis)


def _set_up_slice(layer):
    param = layer.slice_param
    axis = param.axis if 'axis' in param.given else param.slice_dim
    points = list(param.slice_point) or len(layer.top)
    return functools.partial(_slice, points=points, axis=axis)


def _set_up_softmax(layer):
    if layer.softmax_param.axis != 1:
        raise RuntimeError(
            f'layer {layer.name}: Softmax along an axis other than 1 is not supported')
    return F.softmax


def _set_up_reshape(layer):
    return functools.partial(_reshape, dims=tuple(layer.reshape_param.shape.dim))


def _reshape(x, dims):
    # Zero stands for the size of the input.
    return F.reshape(x, tuple([x.shape[i] if dim == 0 else dim for i, dim in enumerate(dims)]))


def _set_up_eltwise(layer):
    param = layer.eltwise_param
    coeff = [float(c) for c in numpy.concatenate(param.coeff)] if param.coeff else []
    return functools.partial(_eltwise, operation=param.operation, coeff=coeff)


# What makes a function of a layer, by the type of the layer.
_SET_UP = {
    'BatchNorm': _set_up_batch_norm,
    'Concat': _set_up_concat,
    'Convolution': _set_up_convolution,
    'Deconvolution': _set_up_deconvolution,
    'Dropout': lambda layer: functools.partial(
        F.dropout, ratio=layer.dropout_param.dropout_ratio),
    'Eltwise': _set_up_eltwise,
    'InnerProduct': _set_up_inner_product,
    'LRN': _set_up_lrn,
    'Pooling': _set_up_pooling,
    'ReLU': _set_up_relu,
    'Reshape': _set_up_reshape,
    'Scale': _set_up_scale,
    'Sigmoid': lambda layer: F.sigmoid,
    'Slice': _set_up_slice,
    'Softmax': _set_up_softmax,
    'SoftmaxWithLoss': lambda layer: F.softmax_cross_entropy,
    'Split': lambda layer: functools.partial(_split, n=len(layer.top)),
}
