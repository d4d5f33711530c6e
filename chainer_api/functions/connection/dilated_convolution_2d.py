"""Two-dimensional dilated convolution."""
from chainer.functions.connection import convolution_2d


def dilated_convolution_2d(x, W, b=None, stride=1, pad=0, dilate=1, cover_all=False):
    """:func:`convolution_2d` with ``dilate`` as a positional argument.

    >>> x = np.ones((1, 1, 7, 7), np.float32)
    >>> F.dilated_convolution_2d(x, np.ones((1, 1, 3, 3), np.float32), dilate=2).shape
    (1, 1, 3, 3)
    """
    return convolution_2d.convolution_2d(x, W, b, stride, pad, cover_all, dilate=dilate)
