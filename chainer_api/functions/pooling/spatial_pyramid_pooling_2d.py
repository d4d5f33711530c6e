"""Two-dimensional spatial pyramid pooling."""
from chainer import functions as F
from chainer.utils import _errors
from chainer.variable import Variable


def spatial_pyramid_pooling_2d(x, pyramid_height, pooling=None) -> Variable:
    r"""Pool images of any size to vectors of one size.

    The images are pooled by :func:`max_pooling_2d` into :math:`1, 4, 16, \dots` parts, and the
    results joined along the channels. See: `He et al., Spatial Pyramid Pooling in Deep
    Convolutional Networks for Visual Recognition <https://arxiv.org/abs/1406.4729>`_.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        pyramid_height (int): Number :math:`H` of levels; level :math:`i` has :math:`2^i` parts
            along each axis.
        pooling (str): Must be ``'max'``.

    Returns:
        Variable: Shape :math:`(n, c \sum_{i=0}^{H-1} 2^{2i}, 1, 1)`.

    Raises:
        ValueError: If ``pooling`` is not ``'max'``.

    >>> x = np.ones((2, 3, 13, 9), np.float32)
    >>> F.spatial_pyramid_pooling_2d(x, 3, 'max').shape
    (2, 63, 1, 1)
    """
    if pooling != 'max':
        raise ValueError('Unsupported pooling operation: ', pooling)
    _errors.check_arrays('spatial_pyramid_pooling_2d', x=x)
    n, _, h, w = x.shape
    levels = []
    for level in range(pyramid_height):
        parts = 2 ** level
        kh, kw = -(-h // parts), -(-w // parts)
        pad = (kh * parts - h) // 2, (kw * parts - w) // 2
        y = F.max_pooling_2d(x, (kh, kw), pad=pad)
        levels.append(F.reshape(y, (n, -1, 1, 1)))
    return F.concat(levels)
