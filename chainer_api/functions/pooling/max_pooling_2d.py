"""Two-dimensional maximum pooling."""
from chainer.functions.pooling import _max_pooling, pooling_2d
from chainer.utils import conv_nd
from chainer.variable import Variable


class MaxPooling2D(_max_pooling._MaxPooling, pooling_2d.Pooling2D):
    """Two-dimensional maximum pooling (see :func:`max_pooling_2d`).

    Attributes:
        indexes: after ``forward``, the place of each maximum in its window.
    """


def max_pooling_2d(x, ksize, stride=None, pad=0, cover_all=True, return_indices=False) -> Variable:
    r"""Maximum of each patch of images.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        ksize (int or pair of ints): Size of a patch.
        stride (int, pair of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or pair of ints): How much is added on each side. What is added is never a
            maximum.
        cover_all (bool): Whether a last patch that hangs over the end is pooled too.
        return_indices (bool): Whether to return the places of the maxima too, for
            :func:`upsampling_2d`.

    Returns:
        Variable: Shape :math:`(n, c, h_O, w_O)`, the size as :func:`chainer.utils.get_conv_outsize`
        tells; with ``return_indices`` a tuple of it and an array of the same shape, the place of
        each maximum in its patch, counted row by row.

    Raises:
        InvalidType: If ``x`` has another dtype, or no element.
        ValueError: If ``x`` has other dimensions, or a patch is larger than the padded image.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> y, indices = F.max_pooling_2d(x, 2, return_indices=True)
    >>> y.array
    array([[[[ 5.,  7.],
             [13., 15.]]]], dtype=float32)
    >>> indices
    array([[[[3, 3],
             [3, 3]]]])
    """
    conv_nd.check_ndim(x, 2)
    function = MaxPooling2D(ksize, stride, pad, cover_all, return_indices)
    if return_indices:
        function.opaque = 'its places of the maxima are wanted'
    y, = function.apply((x,))
    return (y, function.indexes) if return_indices else y
