"""Networks of Caffe as links."""
import functools
import operator
import warnings

import numpy

from chainer import configuration, link
from chainer import functions as F
from chainer.links.caffe import _messages, _model_file
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
        ValueError: It is no model file, or its layers do not fit their weights.
        RuntimeError: A layer has settings that are not supported.

    .. code-block:: python

        func = L.caffe.CaffeFunction('bvlc_reference_caffenet.caffemodel')
        y, = func(inputs={'data': x}, outputs=['fc8'])
    """

    def __init__(self, model_path):
        super().__init__()
        self.forwards = {}
        self.layers = []  # (name, names of the inputs, names of the outputs)
        for layer in _model_file.read(model_path):
            method = _type_to_method.get(layer.type)
            if method is None:
                warnings.warn(
                    f'Skip the layer "{layer.name}", since CaffeFunction does not support '
                    f'{layer.type} layer', stacklevel=3)
                continue
            method(self, layer)

    def _add_layer(self, layer):
        self.layers.append((layer.name, layer.bottom, layer.top))

    def _setup_known_layer(self, layer):
        function = _set_up_named(_SET_UP[layer.type], layer)
        if isinstance(function, link.Link):
            self.add_link(layer.name, function)
            # By its name: a copy of this chain calls its own child.
            trained = layer.type == 'BatchNorm' and layer.batch_norm_param.use_global_stats
            function = _CallChild(layer.name, trained)
        self.forwards[layer.name] = function
        self._add_layer(layer)

    def _setup_data(self, layer):
        pass

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
            try:
                ys = function(self, *xs) if isinstance(function, _CallChild) else function(*xs)
            except Exception as error:
                error.add_note(
                    f'This happened in the layer {name} of a Caffe model, whose inputs '
                    f'{", ".join(bottom)} have the shapes {", ".join(str(x.shape) for x in xs)}')
                raise
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


def _set_up_named(set_up, layer):
    try:
        return set_up(layer)
    except (RuntimeError, ValueError) as error:
        kind = RuntimeError if isinstance(error, RuntimeError) else ValueError
        raise kind(f'layer {layer.name}: {error} (a layer of type {layer.type})') from error


def _check(condition, message):
    if not condition:
        raise ValueError(message)


def _blobs(layer, n):
    _check(len(layer.blobs) >= n, f'it needs {n} blobs of weights and has {len(layer.blobs)}')
    return [_model_file.array(blob) for blob in layer.blobs[:n]]


def _weights_and_bias(layer, param):
    """Arrays of the weights and, or ``None``, of the bias, of as many numbers as outputs."""
    W, *b = _blobs(layer, 1 + param.bias_term)
    _check(W.size, f'its weights are empty, of shape {W.shape}')
    if not b:
        return W, None
    _check(b[0].size == param.num_output,
           f'num_output is {param.num_output}, but its bias has {b[0].size} numbers')
    return W, b[0].ravel()


def _window(param, dilation=(1,)):
    """Sizes of the window, of the stride and of the padding."""
    ksize = _size(param, 'kernel_size', None)
    stride = _size(param, 'stride', 1)
    pad = _size(param, 'pad', 0)
    _check(None not in ksize, 'it does not say its kernel_size')
    _check(min(ksize) > 0 and min(stride) > 0 and min(pad) >= 0 and min(dilation) > 0,
           f'kernel_size {ksize}, stride {stride} and dilation {tuple(dilation)} must be '
           f'positive, pad {pad} not negative')
    return ksize, stride, pad


def _check_groups(W, param, ksize, n_given, n_grouped):
    """Checks the weights of a convolution: the channels on either side, in groups, the window."""
    _check(W.ndim == 4 and W.shape[2:] == tuple(ksize),
           f'its weights have shape {W.shape}, but kernel_size is {ksize}')
    _check(param.group > 0 and n_given % param.group == 0,
           f'{n_given} channels cannot be divided into group = {param.group} groups')
    _check(W.shape[1] * param.group == n_grouped or n_grouped is None,
           f'its weights have shape {W.shape}, but num_output is {param.num_output} in '
           f'{param.group} groups')


def _fill_groups(link_W, W, n_groups):
    """Puts the weights of the groups as blocks on the diagonal."""
    rows, columns = len(W) // n_groups, W.shape[1]
    for g in range(n_groups):
        block = slice(g * rows, (g + 1) * rows)
        link_W[block, g * columns:(g + 1) * columns] = W[block]


def _set_up_convolution(layer):
    param = layer.convolution_param
    dilation = param.dilation or [1]
    ksize, stride, pad = _window(param, dilation)
    W, b = _weights_and_bias(layer, param)
    _check(len(W) == param.num_output,
           f'num_output is {param.num_output}, but its weights have shape {W.shape}')
    _check_groups(W, param, ksize, len(W), None)
    conv = convolution_2d.Convolution2D(
        W.shape[1] * param.group, len(W), ksize, stride, pad, nobias=b is None, initialW=0,
        initial_bias=b, dilate=dilation[0])
    _fill_groups(conv.W.array, W, param.group)
    return conv


def _set_up_deconvolution(layer):
    param = layer.convolution_param
    ksize, stride, pad = _window(param)
    W, b = _weights_and_bias(layer, param)
    _check_groups(W, param, ksize, len(W), param.num_output)
    deconv = deconvolution_2d.Deconvolution2D(
        len(W), param.num_output, ksize, stride, pad, nobias=b is None, initialW=0,
        initial_bias=b)
    _fill_groups(deconv.W.array, W, param.group)
    return deconv


def _set_up_inner_product(layer):
    param = layer.inner_product_param
    if param.axis != 1:
        raise RuntimeError('Non-default axis in InnerProduct is not supported')
    W, b = _weights_and_bias(layer, param)
    _check(W.ndim >= 2 and W.size == W.shape[-2] * W.shape[-1]
           and W.shape[-2] == param.num_output,
           f'num_output is {param.num_output}, but its weights have shape {W.shape}')
    n_out, n_in = W.shape[-2:]
    return linear.Linear(
        n_in, n_out, nobias=b is None, initialW=W.reshape(n_out, n_in), initial_bias=b)


def _set_up_batch_norm(layer):
    param = layer.batch_norm_param
    mean, var, factor = (blob.ravel() for blob in _blobs(layer, 3))
    _check(mean.size == var.size > 0 and factor.size == 1,
           f'its blobs have {mean.size}, {var.size} and {factor.size} numbers; a mean and a '
           'variance of as many channels are needed, and one factor')
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
    W, *b = _blobs(layer, 1 + param.bias_term)
    _check(not b or b[0].shape == W.shape,
           f'its weights have shape {W.shape}, but its bias has {b and b[0].shape}')
    scale_link = scale.Scale(param.axis, W.shape, bias_term=param.bias_term)
    scale_link.W.array[...] = W
    if b:
        scale_link.bias.b.array[...] = b[0]
    return scale_link


def _set_up_pooling(layer):
    param = layer.pooling_param
    if param.pool == 'MAX':
        pool = functools.partial(F.max_pooling_2d, cover_all=True)
    elif param.pool == 'AVE':
        pool = F.average_pooling_2d
    else:
        raise ValueError('Stochastic pooling is not supported')
    if param.global_pooling:
        return functools.partial(_global_pooling, pool=pool)
    ksize, stride, pad = _window(param)
    return functools.partial(pool, ksize=ksize, stride=stride, pad=pad)


def _set_up_lrn(layer):
    param = layer.lrn_param
    if param.norm_region != 'ACROSS_CHANNELS':
        raise RuntimeError('Within-channel LRN is not supported')
    _check(param.local_size > 0, f'local_size must be positive, not {param.local_size}')
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
    _check(points, 'it has no outputs')
    _check(isinstance(points, int) or len(points) + 1 == len(layer.top),
           f'slice_point {points} gives other pieces than its {len(layer.top)} outputs')
    return functools.partial(_slice, points=points, axis=axis)


def _set_up_softmax(layer):
    if layer.softmax_param.axis != 1:
        raise RuntimeError('Softmax along an axis other than 1 is not supported')
    return F.softmax


def _set_up_reshape(layer):
    dims = tuple(layer.reshape_param.shape.dim)
    _check(min(dims, default=0) >= -1 and dims.count(-1) <= 1,
           f'it cannot give the shape {dims}')
    return functools.partial(_reshape, dims=dims)


def _reshape(x, dims):
    # Zero stands for the size of the input.
    return F.reshape(x, tuple([x.shape[i] if dim == 0 else dim for i, dim in enumerate(dims)]))


def _set_up_eltwise(layer):
    param = layer.eltwise_param
    coeff = param.coeff.tolist()
    _check(not coeff or len(coeff) == len(layer.bottom),
           f'{len(coeff)} coefficients for {len(layer.bottom)} inputs')
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


# What sets up a layer, by its type and by the number that the type has in old files: methods of
# CaffeFunction, or of classes that derive from it.
_type_to_method = {}
_oldname_to_method = {}
_V1_NUMBERS = {_messages.v1_name(name): number for number, name in _model_file._V1_TYPES.items()}


def _layer(typ, oldname):
    """Returns a decorator of methods that set up layers.

    A method gets the layer of the file. It puts a function into ``self.forwards`` by the name of
    the layer, or adds a link of this name, and calls ``self._add_layer(layer)``.

    Args:
        typ (str): Type of the layers, in new files.
        oldname (str): Type of the layers in old files, such as ``'INNER_PRODUCT'``, or ``None``.

    Raises:
        AttributeError: There is no such type in old files.
    """
    def decorate(method):
        _type_to_method[typ] = method
        if oldname is not None:
            if oldname not in _V1_NUMBERS:
                raise AttributeError(f'old files of Caffe have no type {oldname!r}')
            _oldname_to_method[_V1_NUMBERS[oldname]] = method
        return method
    return decorate


def _install_methods():
    """Gives CaffeFunction a method ``_setup_...`` for each type, for derived classes to call."""
    for name in _SET_UP:
        oldname = _messages.v1_name(name)
        words = oldname.lower().replace('softmax_loss', 'softmax_with_loss').replace(
            'batch_norm', 'batchnorm')
        setattr(CaffeFunction, f'_setup_{words}', CaffeFunction._setup_known_layer)
        _layer(name, oldname if oldname in _V1_NUMBERS else None)(CaffeFunction._setup_known_layer)
    _layer('Data', 'DATA')(CaffeFunction._setup_data)


_install_methods()


def _get_num(blob):
    """Size of the first axis of a blob."""
    return blob.num if blob.num > 0 else blob.shape.dim[0]


def _get_channels(blob):
    """Size of the second axis of a blob."""
    return blob.channels if blob.channels > 0 else blob.shape.dim[1]


def _get_height(blob):
    """Rows of the images, or of the matrix, of a blob."""
    return blob.height if blob.height > 0 else blob.shape.dim[_image_axis(blob)]


def _get_width(blob):
    """Columns of the images, or of the matrix, of a blob."""
    return blob.width if blob.width > 0 else blob.shape.dim[_image_axis(blob) + 1]


def _image_axis(blob):
    ndim = len(blob.shape.dim)
    if ndim not in (2, 4):
        raise RuntimeError(f'{ndim}-dimensional array is not supported')
    return ndim - 2


def _get_ksize(param):
    """Size of a window: a number, or height and width."""
    return _one_or_two(param, 'kernel', 'kernel_size', 0)


def _get_stride(param):
    """Stride of a window: a number, or height and width."""
    return _one_or_two(param, 'stride', 'stride', 1)


def _get_pad(param):
    """Padding: a number, or height and width."""
    return _one_or_two(param, 'pad', 'pad', 0)


def _one_or_two(param, short, name, default):
    height, width = getattr(param, short + '_h') or 0, getattr(param, short + '_w') or 0
    if height:
        return height, width
    both = getattr(param, name)
    if isinstance(both, int) or both is None:
        return both or default
    both = list(both)
    if not both and name != 'kernel_size':
        return default
    return both[0] if len(both) == 1 else both


def __getattr__(name):
    if name == 'caffe_pb':
        return _messages.classes()
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
