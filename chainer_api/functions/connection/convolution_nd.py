"""Convolution over any number of axes."""
from chainer import function_node
from chainer import functions as F
from chainer.utils import _errors, conv_nd, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import convolution as kernels


class ConvolutionND(function_node.FunctionNode):
    """Convolution over ``ndim`` axes (see :func:`convolution_nd`)."""

    _weight = function_node._SEVERAL
    outsize = None  # shape of the result where the caller knows it

    def __init__(self, ndim, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
        self.ndim = ndim
        self.stride = conv_nd.as_tuple(stride, ndim)
        self.pad = conv_nd.as_tuple(pad, ndim)
        self.cover_all = cover_all
        self.dilate = conv_nd.dilation(dilate, ndim)
        self.groups = groups

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x_type, w_type = in_types[:2]
        type_check.expect(
            x_type.dtype.kind == 'f',
            w_type.dtype.kind == 'f',
            x_type.ndim == self.ndim + 2,
            w_type.ndim == self.ndim + 2,
            x_type.shape[1] == w_type.shape[1] * self.groups,
            w_type.shape[0] % self.groups == 0,
        )
        if type_check.eval(n_in) == 3:
            self._check_type_bias(x_type, w_type, in_types[2])

    def _check_type_bias(self, x_type, w_type, b_type):
        type_check.expect(
            b_type.dtype.kind == 'f',
            b_type.ndim == 1,
            b_type.shape[0] == w_type.shape[0],
        )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, W = inputs[:2]
        y = kernels.convolution(
            x, W, outsize=self._get_outsize(x.shape[2:], W.shape[2:]), stride=self.stride,
            pad=self.pad, dilate=self.dilate, groups=self.groups)
        if len(inputs) == 3:
            self._b_dtype = inputs[2].dtype
            y += inputs[2].astype(y.dtype, copy=False).reshape((1, -1) + (1,) * self.ndim)
        return y,

    def _get_outsize(self, shape, ksize):
        if self.outsize is not None:
            return self.outsize
        outsize = conv_nd.get_conv_outsizes(
            shape, ksize, self.stride, self.pad, self.cover_all, self.dilate)
        if min(outsize) <= 0:
            raise _errors.AssertedValueError(
                f'{type(self).__name__}: an input of size {shape} with pad {self.pad} is smaller '
                f'than filters of size {ksize} with dilate {self.dilate}')
        return outsize

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        grads = []
        if 0 in indexes:
            grads.append(spread(self, gy, W, x.shape[2:]))
        if 1 in indexes:
            grads += ConvolutionNDGradW(self, W.shape, W.dtype).apply((x, gy))
        if 2 in indexes:
            gb = F.sum(gy, axis=(0, *range(2, 2 + self.ndim)))
            grads.append(F.cast(gb, self._b_dtype))
        return grads


class ConvolutionNDGradW(function_node.FunctionNode):
    """Gradient of a convolution (or deconvolution) with respect to its filters.

    The inputs are what the filters are moved over, and what weights each of their places.
    """

    def __init__(self, convnd, w_shape, w_dtype):
        self.ndim = convnd.ndim
        self.stride = convnd.stride
        self.pad = convnd.pad
        self.dilate = convnd.dilate
        self.groups = convnd.groups
        self.W_shape = w_shape
        self.W_dtype = w_dtype

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        return kernels.convolution_weight(
            x, gy, ksize=self.W_shape[2:], stride=self.stride, pad=self.pad, dilate=self.dilate,
            groups=self.groups, dtype=self.W_dtype),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        ggW, = grad_outputs
        grads = []
        if 0 in indexes:
            grads.append(spread(self, gy, ggW, x.shape[2:]))
        if 1 in indexes:
            grads.append(gather(self, x, ggW, gy.shape[2:]))
        return grads


def gather(node, x, W, outsize):
    """Convolution with the settings of ``node``, to a result of size ``outsize``."""
    function = ConvolutionND(
        node.ndim, node.stride, node.pad, False, node.dilate, node.groups)
    function.outsize = outsize
    y, = function.apply((x, W))
    return y


def spread(node, y, W, outsize):
    """Deconvolution with the settings of ``node``, to a result of size ``outsize``."""
    from chainer.functions.connection import deconvolution_nd
    x, = deconvolution_nd.DeconvolutionND(
        node.ndim, node.stride, node.pad, outsize, node.dilate, node.groups).apply((y, W))
    return x


def convolution_nd(x, W, b=None, stride=1, pad=0, cover_all=False, dilate=1, groups=1) -> Variable:
    r"""Correlate filters with the patches of images over any number of axes.

    The number of windows along an axis of length :math:`d` is
    :func:`chainer.utils.get_conv_outsize`, for a filter of size :math:`k`, padding :math:`p` and
    stride :math:`s`

    .. math:: l = \lfloor (d + 2 p - k) / s \rfloor + 1.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, d_1, \dots, d_N)`, any floating
            dtype.
        W (Variable or array): Filters of shape :math:`(c_O, c_I / groups, k_1, \dots, k_N)`.
        b (Variable, array or None): Bias of shape :math:`(c_O,)`.
        stride (int or tuple of ints): Step from one patch to the next, one for all axes or one
            each.
        pad (int or tuple of ints): How many zeros are added on each side of each axis.
        cover_all (bool): Whether a last patch that hangs over the end is used too.
        dilate (int or tuple of ints): Distance of the elements of a patch.
        groups (int): Number of groups of channels; each group of filters sees its own group of
            input channels.

    Returns:
        Variable: Shape :math:`(n, c_O, l_1, \dots, l_N)`, dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.
        ValueError: If a filter is larger than the padded image, or a setting has not one value for
            each axis.

    .. seealso:: :class:`~chainer.links.ConvolutionND`, :func:`convolution_2d`

    >>> x = np.ones((10, 3, 30, 40, 50), np.float32)
    >>> W = np.ones((1, 3, 10, 10, 10), np.float32)
    >>> F.convolution_nd(x, W, stride=(2, 4, 6), pad=5).shape
    (10, 1, 16, 11, 9)
    >>> F.convolution_nd(x, W, stride=(2, 4, 6), pad=5, cover_all=True).shape
    (10, 1, 16, 11, 10)
    """
    _errors.check_arrays('convolution_nd', x=x)
    ndim = len(x.shape[2:])
    function = ConvolutionND(ndim, stride, pad, cover_all, dilate, groups)
    y, = function.apply((x, W) if b is None else (x, W, b))
    return y


def convolution_1d(x, W, b=None, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
    """:func:`convolution_nd` over one axis: ``x`` is (n, c, length), ``W`` (c_out, c, ksize).

    >>> x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    >>> F.convolution_1d(x, np.array([[[-1, 1]]], np.float32)).array
    array([[[1., 1., 1., 1.]]], dtype=float32)
    """
    conv_nd.check_ndim(x, 1)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)


def convolution_3d(x, W, b=None, stride=1, pad=0, cover_all=False, dilate=1, groups=1):
    """:func:`convolution_nd` over three axes: ``x`` is (n, c, depth, height, width).

    >>> x = np.ones((1, 2, 4, 4, 4), np.float32)
    >>> F.convolution_3d(x, np.ones((3, 2, 2, 2, 2), np.float32)).shape
    (1, 3, 3, 3, 3)
    """
    conv_nd.check_ndim(x, 3)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)
