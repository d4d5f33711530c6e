"""Maximum pooling over any number of axes."""
from chainer.functions.pooling import pooling_nd
from chainer.functions.pooling._max_pooling import (
    MaxPoolingNDGrad,  # noqa: F401
    MaxPoolingNDWithIndexes,  # noqa: F401
    _MaxPooling,
)
from chainer.functions.pooling.max_pooling_2d import max_pooling_2d  # noqa: F401
from chainer.utils import _errors, conv_nd
from chainer.variable import Variable


class MaxPoolingND(_MaxPooling, pooling_nd._PoolingND):
    """Maximum pooling over ``ndim`` axes (see :func:`max_pooling_nd`).

    Attributes:
        indexes: after ``forward``, the place of each maximum in its window.
    """


def max_pooling_nd(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False) -> Variable:
    r"""Maximum of each patch of images over any number of axes.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, d_1, \dots, d_N)`, any floating
            dtype.
        ksize (int or tuple of ints): Size of a patch, one for all axes or one each.
        stride (int, tuple of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or tuple of ints): How much is added on each side of each axis. What is added is
            never a maximum.
        cover_all (bool): Whether a last patch that hangs over the end is pooled too.
        return_indices (bool): Whether to return the places of the maxima too.

    Returns:
        Variable: Shape :math:`(n, c, l_1, \dots, l_N)`, the size as
        :func:`chainer.utils.get_conv_outsize` tells; with ``return_indices`` a tuple of it and an
        array of the same shape, the place of each maximum in its patch, counted row by row.

    Raises:
        InvalidType: If ``x`` has another dtype, or no element.
        ValueError: If a patch is larger than the padded image, or a setting has not one value for
            each axis.

    .. seealso:: :func:`max_pooling_2d`

    >>> x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    >>> F.max_pooling_nd(x, 2).array
    array([[[1., 3., 5.]]], dtype=float32)
    """
    _errors.check_arrays('max_pooling_nd', x=x)
    function = MaxPoolingND(len(x.shape) - 2, ksize, stride, pad, cover_all, return_indices)
    if return_indices:
        function.opaque = 'its places of the maxima are wanted'
    y, = function.apply((x,))
    return (y, function.indexes) if return_indices else y


def max_pooling_1d(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
    """:func:`max_pooling_nd` over one axis: ``x`` is (n, c, length).

    >>> x = np.array([[[3, 1, 4, 1, 5]]], np.float32)
    >>> y, indices = F.max_pooling_1d(x, 2, return_indices=True)
    >>> y.array, indices
    (array([[[3., 4., 5.]]], dtype=float32), array([[[0, 0, 0]]]))
    """
    conv_nd.check_ndim(x, 1)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_3d(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
    """:func:`max_pooling_nd` over three axes: ``x`` is (n, c, depth, height, width).

    >>> F.max_pooling_3d(np.ones((1, 2, 4, 4, 5), np.float32), 2).shape
    (1, 2, 2, 2, 3)
    """
    conv_nd.check_ndim(x, 3)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)
