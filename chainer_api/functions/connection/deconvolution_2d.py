"""Two-dimensional deconvolution (transposed convolution)."""
from chainer.functions.connection import convolution_2d, deconvolution_nd
from chainer.utils import argument, type_check
from chainer.variable import Variable


class Deconvolution2DFunction(deconvolution_nd.DeconvolutionND):
    """Two-dimensional deconvolution (see :func:`deconvolution_2d`)."""

    def __init__(self, stride=1, pad=0, outsize=None, *, dilate=1, groups=1):
        super().__init__(2, stride, pad, outsize, dilate, groups)
        self.sy, self.sx = self.stride
        self.ph, self.pw = self.pad
        self.dy, self.dx = self.dilate
        self.outh, self.outw = self.outsize

    def _check_type_bias(self, x_type, w_type, b_type):
        type_check.expect(b_type.dtype == x_type.dtype)
        super()._check_type_bias(x_type, w_type, b_type)

    def forward(self, inputs):
        outputs = super().forward(inputs)
        self.outh, self.outw = self.outsize
        return outputs


def deconvolution_2d(x, W, b=None, stride=1, pad=0, outsize=None, *, dilate=1, groups=1,
                     **kwargs) -> Variable:
    r"""Spread images through filters (transposed convolution).

    The adjoint of :func:`convolution_2d`: it gives images of the size that a convolution with the
    same settings maps to the size of ``x``. Without ``outsize`` this is

    .. math::
        h_O &= s_Y (h_I - 1) + h_K - 2 h_P, \\
        w_O &= s_X (w_I - 1) + w_K - 2 w_P.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, h_I, w_I)`, any floating dtype.
        W (Variable or array): Filters of shape :math:`(c_I, c_O / groups, h_K, w_K)`.
        b (Variable, array or None): Bias of shape :math:`(c_O,)` and the dtype of ``x``.
        stride (int or pair of ints): Step from one patch of the result to the next.
        pad (int or pair of ints): How much is cut off on each side.
        outsize (pair of ints): Height and width of the result, where it shall not be the smallest
            possible; ``None`` for one or both that shall.
        dilate (int or pair of ints): Distance of the elements of a patch.
        groups (int): Number of groups of channels.

    Returns:
        Variable: Shape :math:`(n, c_O, h_O, w_O)`, dtype of ``x``.

    Raises:
        InvalidType: If the arrays, or ``outsize``, do not fit each other.
        ValueError: If ``pad`` leaves nothing of the result.

    .. seealso:: :class:`~chainer.links.Deconvolution2D`

    >>> x = np.ones((10, 1, 5, 10), np.float32)
    >>> W = np.ones((1, 3, 10, 10), np.float32)
    >>> b = np.ones(3, np.float32)
    >>> F.deconvolution_2d(x, W, b, stride=5, pad=5).shape
    (10, 3, 20, 45)
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, deterministic=convolution_2d._DETERMINISTIC)
        argument.assert_kwargs_empty(kwargs)
    function = Deconvolution2DFunction(stride, pad, outsize, dilate=dilate, groups=groups)
    y, = function.apply((x, W) if b is None else (x, W, b))
    return y
