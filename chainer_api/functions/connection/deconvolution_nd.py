"""Deconvolution (transposed convolution) over any number of axes."""
from chainer import function_node
from chainer import functions as F
from chainer.functions.connection import convolution_nd
from chainer.utils import _errors, conv, conv_nd, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import convolution as kernels


class DeconvolutionND(function_node.FunctionNode):
    """Deconvolution over ``ndim`` axes (see :func:`deconvolution_nd`)."""

    _weight = function_node._SEVERAL

    def __init__(self, ndim, stride=1, pad=0, outsize=None, dilate=1, groups=1):
        self.ndim = ndim
        self.stride = conv_nd.as_tuple(stride, ndim)
        self.pad = conv_nd.as_tuple(pad, ndim)
        self.outsize = conv_nd.as_tuple(outsize, ndim)
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
            x_type.shape[1] == w_type.shape[0],
            x_type.shape[1] % self.groups == 0,
        )
        for i, size in enumerate(self.outsize):
            if size is not None:
                fitting = [conv.get_conv_outsize(
                    size, w_type.shape[2 + i], self.stride[i], self.pad[i],
                    cover_all=cover_all, d=self.dilate[i]) for cover_all in (False, True)]
                length = x_type.shape[2 + i]
                type_check.expect(fitting[0] <= length, length <= fitting[1])
        if type_check.eval(n_in) == 3:
            self._check_type_bias(x_type, w_type, in_types[2])

    def _check_type_bias(self, x_type, w_type, b_type):
        type_check.expect(
            b_type.dtype.kind == 'f',
            b_type.ndim == 1,
            b_type.shape[0] == w_type.shape[1] * self.groups,
        )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, W = inputs[:2]
        self.outsize = self.outs = self._get_outsize(x.shape[2:], W.shape[2:])
        y = kernels.convolution_transpose(
            x, W, outsize=self.outsize, stride=self.stride, pad=self.pad, dilate=self.dilate,
            groups=self.groups)
        if len(inputs) == 3:
            self._b_dtype = inputs[2].dtype
            y += inputs[2].astype(y.dtype, copy=False).reshape((1, -1) + (1,) * self.ndim)
        return y,

    def _get_outsize(self, shape, ksize):
        smallest = conv_nd.get_deconv_outsizes(
            shape, ksize, self.stride, self.pad, dilate=self.dilate)
        outsize = tuple([
            low if size is None else size
            for size, low in zip(self.outsize, smallest, strict=True)])
        if min(outsize) <= 0:
            raise _errors.NothingLeftError(
                f'{type(self).__name__}: nothing is left of an input of size {shape}, spread '
                f'by filters of size {ksize}, without pad {self.pad} on each side')
        return outsize

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        grads = []
        if 0 in indexes:
            grads.append(convolution_nd.gather(self, gy, W, x.shape[2:]))
        if 1 in indexes:
            grads += convolution_nd.ConvolutionNDGradW(self, W.shape, W.dtype).apply((gy, x))
        if 2 in indexes:
            gb = F.sum(gy, axis=(0, *range(2, 2 + self.ndim)))
            grads.append(F.cast(gb, self._b_dtype))
        return grads


def deconvolution_nd(x, W, b=None, stride=1, pad=0, outsize=None, dilate=1, groups=1) -> Variable:
    r"""Spread images through filters over any number of axes (transposed convolution).

    The adjoint of :func:`convolution_nd`: it gives images of the size that a convolution with the
    same settings maps to the size of ``x``. Without ``outsize`` the length of an axis is
    :func:`chainer.utils.get_deconv_outsize`, for :math:`d` elements and filters of size :math:`k`

    .. math:: l = s (d - 1) + k - 2 p.

    See: `Zeiler et al., Deconvolutional Networks
    <https://www.matthewzeiler.com/mattzeiler/deconvolutionalnetworks.pdf>`_.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, d_1, \dots, d_N)`, any floating
            dtype.
        W (Variable or array): Filters of shape :math:`(c_I, c_O / groups, k_1, \dots, k_N)`.
        b (Variable, array or None): Bias of shape :math:`(c_O,)`.
        stride (int or tuple of ints): Step from one patch of the result to the next.
        pad (int or tuple of ints): How much is cut off on each side of each axis.
        outsize (tuple of ints or None): Spatial shape of the result, where it shall not be the
            shortest possible.
        dilate (int or tuple of ints): Distance of the elements of a patch.
        groups (int): Number of groups of channels.

    Returns:
        Variable: Shape :math:`(n, c_O, l_1, \dots, l_N)`, dtype of ``x``.

    Raises:
        InvalidType: If the arrays, or ``outsize``, do not fit each other.
        ValueError: If ``pad`` leaves nothing of the result.

    .. seealso:: :class:`~chainer.links.DeconvolutionND`, :func:`deconvolution_2d`

    >>> x = np.ones((10, 3, 5, 10, 15), np.float32)
    >>> W = np.ones((3, 1, 10, 10, 10), np.float32)
    >>> F.deconvolution_nd(x, W, stride=(2, 4, 6), pad=5).shape
    (10, 1, 8, 36, 84)
    >>> F.deconvolution_nd(x, W, stride=(2, 4, 6), pad=5, outsize=(9, 38, 87)).shape
    (10, 1, 9, 38, 87)
    """
    _errors.check_arrays('deconvolution_nd', x=x)
    ndim = len(x.shape[2:])
    function = DeconvolutionND(ndim, stride, pad, outsize, dilate, groups)
    y, = function.apply((x, W) if b is None else (x, W, b))
    return y


def deconvolution_1d(x, W, b=None, stride=1, pad=0, outsize=None, dilate=1, groups=1):
    """:func:`deconvolution_nd` over one axis: ``x`` is (n, c, length), ``W`` (c, c_out, ksize).

    >>> x = np.array([[[1, 2]]], np.float32)
    >>> F.deconvolution_1d(x, np.array([[[1, 10]]], np.float32)).array
    array([[[ 1., 12., 20.]]], dtype=float32)
    """
    conv_nd.check_ndim(x, 1)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)


def deconvolution_3d(x, W, b=None, stride=1, pad=0, outsize=None, dilate=1, groups=1):
    """:func:`deconvolution_nd` over three axes: ``x`` is (n, c, depth, height, width).

    >>> x = np.ones((1, 2, 3, 3, 3), np.float32)
    >>> F.deconvolution_3d(x, np.ones((2, 4, 2, 2, 2), np.float32), stride=2).shape
    (1, 4, 6, 6, 6)
    """
    conv_nd.check_ndim(x, 3)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)
