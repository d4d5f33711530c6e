"""Two-dimensional convolution."""
from chainer.functions.connection import convolution_nd
from chainer.utils import argument, type_check
from chainer.variable import Variable

_DETERMINISTIC = (
    'deterministic argument is not supported anymore. Use '
    "chainer.using_config('cudnn_deterministic', value) context where value is either `True` or "
    '`False`.')


class Convolution2DFunction(convolution_nd.ConvolutionND):
    """Two-dimensional convolution (see :func:`convolution_2d`)."""

    def __init__(self, stride=1, pad=0, cover_all=False, *, dilate=1, groups=1):
        super().__init__(2, stride, pad, cover_all, dilate, groups)
        self.sy, self.sx = self.stride
        self.ph, self.pw = self.pad
        self.dy, self.dx = self.dilate

    def _check_type_bias(self, x_type, w_type, b_type):
        type_check.expect(
            b_type.dtype == x_type.dtype,
            b_type.ndim == 1,
            b_type.shape[0] == w_type.shape[0],
        )


def convolution_2d(x, W, b=None, stride=1, pad=0, cover_all=False, *, dilate=1, groups=1,
                   **kwargs) -> Variable:
    r"""Correlate filters with the patches of images.

    Patches start at multiples of ``stride`` from the place :math:`(-h_P, -w_P)`. The result has
    the size

    .. math::
        h_O &= \lfloor (h_I + 2 h_P - h_K) / s_Y \rfloor + 1, \\
        w_O &= \lfloor (w_I + 2 w_P - w_K) / s_X \rfloor + 1,

    and with ``cover_all``, where a last patch may hang over the end,

    .. math::
        h_O &= \lfloor (h_I + 2 h_P - h_K + s_Y - 1) / s_Y \rfloor + 1, \\
        w_O &= \lfloor (w_I + 2 w_P - w_K + s_X - 1) / s_X \rfloor + 1.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, h_I, w_I)`, any floating dtype.
        W (Variable or array): Filters of shape :math:`(c_O, c_I / groups, h_K, w_K)`.
        b (Variable, array or None): Bias of shape :math:`(c_O,)` and the dtype of ``x``.
        stride (int or pair of ints): Step from one patch to the next.
        pad (int or pair of ints): How many zeros are added on each side.
        cover_all (bool): Whether a last patch that hangs over the end is used too.
        dilate (int or pair of ints): Distance of the elements of a patch.
        groups (int): Number of groups of channels; each group of filters sees its own group of
            input channels.

    Returns:
        Variable: Shape :math:`(n, c_O, h_O, w_O)`, dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.
        ValueError: If a filter is larger than the padded image.

    .. seealso:: :class:`~chainer.links.Convolution2D`

    >>> x = np.ones((10, 3, 30, 40), np.float32)
    >>> W = np.ones((1, 3, 10, 10), np.float32)
    >>> b = np.ones(1, np.float32)
    >>> F.convolution_2d(x, W, b, stride=(5, 7), pad=5).shape
    (10, 1, 7, 6)
    >>> F.convolution_2d(x, W, b, stride=(5, 7), pad=5, cover_all=True).shape
    (10, 1, 7, 7)
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, deterministic=_DETERMINISTIC)
        argument.assert_kwargs_empty(kwargs)
    function = Convolution2DFunction(stride, pad, cover_all, dilate=dilate, groups=groups)
    y, = function.apply((x, W) if b is None else (x, W, b))
    return y
