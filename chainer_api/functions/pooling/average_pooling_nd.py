"""Average pooling over any number of axes."""
import math

import numpy

from chainer import backend, function_node
from chainer.functions.pooling import pooling_nd
from chainer.utils import _errors, conv_nd
from chainer.variable import Variable
from chainwright.runtime.kernels import pooling as kernels


class _AveragePooling:
    """What average pooling does, whatever the number of axes."""

    pad_value = 0

    def forward(self, inputs):
        x, = inputs
        self._in_shape = x.shape[2:]
        self._outsize = self._get_outsize(x.shape[2:])
        return average(self, x),

    def backward(self, indexes, grad_outputs):
        return AveragePoolingNDGrad(self).apply(grad_outputs)


def average(node, x):
    """Average of the windows of ``x``, with the settings of ``node``."""
    y = kernels.sum_pooling(x, outsize=node._outsize, **node.settings)
    y /= counts(node, y)
    return y.astype(x.dtype, copy=False)


def counts(node, y):
    """By what the sums of windows are divided: a number, or an array like ``y``."""
    if node.pad_value == 0:
        return math.prod(node.ksize)
    ones = numpy.ones((1, 1) + node._in_shape, y.dtype)
    width = kernels.sum_pooling(ones, outsize=node._outsize, **node.settings)
    return backend.get_array_module(y).asarray(width.astype(y.dtype, copy=False))


class AveragePoolingND(_AveragePooling, pooling_nd._PoolingND):
    """Average pooling over ``ndim`` axes (see :func:`average_pooling_nd`)."""

    def __init__(self, ndim, ksize, stride=None, pad=0, cover_all=False, pad_value=0):
        if pad_value is not None and pad_value != 0:
            raise ValueError(f'pad_value must be either 0 or None, not {pad_value}.')
        super().__init__(ndim, ksize, stride, pad, cover_all)
        self.pad_value = pad_value


class AveragePoolingNDGrad(function_node.FunctionNode):
    """Gradient of average pooling: spreads each value evenly over its window."""

    def __init__(self, apoolnd):
        self.func = apoolnd

    def forward(self, inputs):
        gy, = inputs
        node = self.func
        return kernels.sum_pooling_spread(
            gy / counts(node, gy), shape=node._in_shape, **node.settings),

    def backward(self, indexes, grad_outputs):
        return _Average(self.func).apply(grad_outputs)


class _Average(function_node.FunctionNode):
    """Average pooling with the settings and sizes of another node."""

    def __init__(self, func):
        self.func = func

    def forward(self, inputs):
        return average(self.func, inputs[0]),

    def backward(self, indexes, grad_outputs):
        return AveragePoolingNDGrad(self.func).apply(grad_outputs)


def average_pooling_nd(x, ksize, stride=None, pad=0, pad_value=0) -> Variable:
    r"""Average of each patch of images over any number of axes.

    Other than with maximum pooling, patches do not hang over the end.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, d_1, \dots, d_N)`, any floating
            dtype.
        ksize (int or tuple of ints): Size of a patch, one for all axes or one each.
        stride (int, tuple of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or tuple of ints): How much is added on each side of each axis.
        pad_value (0 or None): With 0, what is added counts as zero; with ``None``, it does not
            count.

    Returns:
        Variable: Shape :math:`(n, c, l_1, \dots, l_N)`, the size as
        :func:`chainer.utils.get_conv_outsize` tells.

    Raises:
        InvalidType: If ``x`` has another dtype.
        ValueError: If a patch is larger than the padded image, a setting has not one value for
            each axis, or ``pad_value`` is another.

    .. seealso:: :func:`average_pooling_2d`

    >>> x = np.array([[[1, 2, 3, 4]]], np.float32)
    >>> F.average_pooling_nd(x, 2, pad=1).array
    array([[[0.5, 2.5, 2. ]]], dtype=float32)
    >>> F.average_pooling_nd(x, 2, pad=1, pad_value=None).array
    array([[[1. , 2.5, 4. ]]], dtype=float32)
    """
    _errors.check_arrays('average_pooling_nd', x=x)
    function = AveragePoolingND(
        len(x.shape) - 2, ksize, stride, pad, pad_value=pad_value)
    return function.apply((x,))[0]


def average_pooling_1d(x, ksize, stride=None, pad=0, pad_value=0):
    """:func:`average_pooling_nd` over one axis: ``x`` is (n, c, length).

    >>> F.average_pooling_1d(np.array([[[1, 2, 3, 4]]], np.float32), 2).array
    array([[[1.5, 3.5]]], dtype=float32)
    """
    conv_nd.check_ndim(x, 1)
    return average_pooling_nd(x, ksize, stride, pad, pad_value)


def average_pooling_3d(x, ksize, stride=None, pad=0, pad_value=0):
    """:func:`average_pooling_nd` over three axes: ``x`` is (n, c, depth, height, width).

    >>> F.average_pooling_3d(np.ones((1, 2, 4, 4, 5), np.float32), 2).shape
    (1, 2, 2, 2, 2)
    """
    conv_nd.check_ndim(x, 3)
    return average_pooling_nd(x, ksize, stride, pad, pad_value)
