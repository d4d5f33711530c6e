"""Two-dimensional average pooling."""
from chainer.functions.pooling import average_pooling_nd, pooling_2d
from chainer.variable import Variable


class AveragePooling2D(average_pooling_nd._AveragePooling, pooling_2d.Pooling2D):
    """Two-dimensional average pooling (see :func:`average_pooling_2d`)."""


def average_pooling_2d(x, ksize, stride=None, pad=0) -> Variable:
    r"""Average of each patch of images.

    Other than with maximum pooling, patches do not hang over the end. What ``pad`` adds counts as
    zero; :func:`average_pooling_nd` can leave it out.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        ksize (int or pair of ints): Size of a patch.
        stride (int, pair of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or pair of ints): How many zeros are added on each side.

    Returns:
        Variable: Shape :math:`(n, c, h_O, w_O)`, the size as
        :func:`chainer.utils.get_conv_outsize` tells.

    Raises:
        InvalidType: If ``x`` has another dtype or other dimensions.
        ValueError: If a patch is larger than the padded image.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> F.average_pooling_2d(x, 2).array
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]], dtype=float32)
    """
    return AveragePooling2D(ksize, stride, pad, False).apply((x,))[0]
