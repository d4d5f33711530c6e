"""Two-dimensional depthwise convolution."""
from chainer import functions as F
from chainer.utils import _errors
from chainer.variable import Variable


def depthwise_convolution_2d(x, W, b=None, stride=1, pad=0) -> Variable:
    r"""Correlate each channel of images with filters of its own.

    Other than in :func:`convolution_2d` the channels are not summed up: each of the :math:`c_I`
    channels gives :math:`c_M` (the channel multiplier) neighbouring channels of the result. See:
    `L. Sifre, Rigid-motion scattering for image classification
    <https://www.di.ens.fr/data/publications/papers/phd_sifre.pdf>`_.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, h, w)`.
        W (Variable or array): Filters of shape :math:`(c_M, c_I, k_H, k_W)`.
        b (Variable, array or None): Bias of shape :math:`(c_I c_M,)`.
        stride (int or pair of ints): Step from one patch to the next.
        pad (int or pair of ints): How many zeros are added on each side.

    Returns:
        Variable: Shape :math:`(n, c_I c_M, h_O, w_O)`, the size as in :func:`convolution_2d`.

    Raises:
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.DepthwiseConvolution2D`

    >>> x = np.ones((2, 3, 4, 7), np.float32)
    >>> F.depthwise_convolution_2d(x, np.ones((2, 3, 3, 3), np.float32)).shape
    (2, 6, 2, 5)
    """
    _errors.check_arrays('depthwise_convolution_2d', x=x, W=W)
    multiplier, channels, kh, kw = W.shape
    W = F.reshape(F.transpose(W, (1, 0, 2, 3)), (multiplier * channels, 1, kh, kw))
    return F.convolution_2d(x, W, b, stride, pad, groups=channels)
