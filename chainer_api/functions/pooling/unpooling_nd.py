"""Unpooling over any number of axes."""
from chainer import function_node
from chainer.functions.pooling import pooling_nd
from chainer.utils import _errors, conv_nd, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import pooling as kernels


class _Unpooling:
    """What unpooling does, whatever the number of axes."""

    def forward(self, inputs):
        x, = inputs
        self._in_shape = x.shape[2:]
        if self.outs is None:
            self.outs = conv_nd.get_deconv_outsizes(
                x.shape[2:], self.ksize, self.stride, self.pad, self.cover_all)
        if min(self.outs, default=0) < 0:
            raise ValueError(
                f'{type(self).__name__}: an input of size {x.shape[2:]}, spread over windows of '
                f'size {self.ksize}, is smaller than pad {self.pad} on both sides')
        return kernels.sum_pooling_spread(x, shape=self.outs, **self.settings),

    def backward(self, indexes, grad_outputs):
        return UnpoolingNDGrad(self).apply(grad_outputs)


class UnpoolingND(_Unpooling, pooling_nd._PoolingND):
    """Unpooling over ``ndim`` axes (see :func:`unpooling_nd`)."""

    def __init__(self, ndim, ksize, stride=None, pad=0, outsize=None, cover_all=True):
        super().__init__(ndim, ksize, stride, pad, cover_all)
        self.outs = None if outsize is None else conv_nd.as_tuple(outsize, ndim)

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        if self.outs is not None:
            expected = conv_nd.get_conv_outsizes(
                self.outs, self.ksize, self.stride, self.pad, self.cover_all)
            type_check.expect(in_types[0].shape[2:] == expected)


class UnpoolingNDGrad(function_node.FunctionNode):
    """Gradient of unpooling: sums up each window."""

    def __init__(self, unpoolingnd):
        self.func = unpoolingnd

    def forward(self, inputs):
        gy, = inputs
        node = self.func
        gx = kernels.sum_pooling(gy, outsize=node._in_shape, **node.settings)
        return gx.astype(gy.dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        return _Spread(self.func).apply(grad_outputs)


class _Spread(function_node.FunctionNode):
    """Unpooling with the settings and sizes of another node."""

    def __init__(self, func):
        self.func = func

    def forward(self, inputs):
        node = self.func
        return kernels.sum_pooling_spread(inputs[0], shape=node.outs, **node.settings),

    def backward(self, indexes, grad_outputs):
        return UnpoolingNDGrad(self.func).apply(grad_outputs)


def unpooling_nd(x, ksize, stride=None, pad=0, outsize=None, cover_all=True) -> Variable:
    r"""Spread each element of images over a patch, over any number of axes.

    The inverse of pooling; where patches overlap, the values are summed up.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, d_1, \dots, d_N)`, any floating
            dtype.
        ksize (int or tuple of ints): Size of a patch, one for all axes or one each.
        stride (int, tuple of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or tuple of ints): How much is cut off on each side of each axis.
        outsize (tuple of ints or None): Spatial shape of the result. By default that of
            :func:`chainer.utils.get_deconv_outsize`, the smallest that pooling maps to the size of
            ``x``.
        cover_all (bool): As it was (or will be) in pooling.

    Returns:
        Variable: Shape :math:`(n, c, l_1, \dots, l_N)`, dtype of ``x``.

    Raises:
        InvalidType: If ``x`` has another dtype, or pooling does not map ``outsize`` to the size of
            ``x``.
        ValueError: If less than nothing is left of the result, or a setting has not one value for
            each axis.

    .. seealso:: :func:`unpooling_2d`

    >>> x = np.array([[[1, 2]]], np.float32)
    >>> F.unpooling_nd(x, 2, cover_all=False).array
    array([[[1., 1., 2., 2.]]], dtype=float32)
    """
    _errors.check_arrays('unpooling_nd', x=x)
    function = UnpoolingND(len(x.shape) - 2, ksize, stride, pad, outsize, cover_all)
    return function.apply((x,))[0]


def unpooling_1d(x, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """:func:`unpooling_nd` over one axis: ``x`` is (n, c, length).

    >>> F.unpooling_1d(np.array([[[1, 2]]], np.float32), 2).array
    array([[[1., 1., 2.]]], dtype=float32)
    """
    conv_nd.check_ndim(x, 1)
    return unpooling_nd(x, ksize, stride, pad, outsize, cover_all)


def unpooling_3d(x, ksize, stride=None, pad=0, outsize=None, cover_all=True):
    """:func:`unpooling_nd` over three axes: ``x`` is (n, c, depth, height, width).

    >>> F.unpooling_3d(np.ones((1, 2, 2, 2, 2), np.float32), 2, cover_all=False).shape
    (1, 2, 4, 4, 4)
    """
    conv_nd.check_ndim(x, 3)
    return unpooling_nd(x, ksize, stride, pad, outsize, cover_all)
