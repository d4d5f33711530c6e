"""Two-dimensional deformable convolution."""
from chainer import backend
from chainer import functions as F
from chainer.utils import _errors, conv, conv_nd
from chainer.variable import Variable


def deformable_convolution_2d_sampler(x, offset, W, b=None, stride=1, pad=0) -> Variable:
    r"""Correlate filters with patches whose elements are read at places moved by ``offset``.

    Like :func:`convolution_2d`, but the element :math:`(i, j)` of the patch of each place is read
    at a distance of its own from where it would stand, between the pixels by bilinear
    interpolation, and as zero outside. See: `Dai et al., Deformable Convolutional Networks
    <https://arxiv.org/abs/1703.06211>`_.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, h, w)`.
        offset (Variable or array): Distances of shape :math:`(n, 2 k_H k_W, h_O, w_O)`; the first
            :math:`k_H k_W` channels are horizontal, the others vertical.
        W (Variable or array): Filters of shape :math:`(c_O, c_I, k_H, k_W)`.
        b (Variable, array or None): Bias of shape :math:`(c_O,)`.
        stride (int or pair of ints): Step from one patch to the next.
        pad (int or pair of ints): How many zeros are added on each side.

    Returns:
        Variable: Shape :math:`(n, c_O, h_O, w_O)`, the size as in :func:`convolution_2d`.

    .. seealso:: :class:`~chainer.links.DeformableConvolution2D`

    >>> x = np.ones((2, 3, 4, 7), np.float32)
    >>> offset = np.zeros((2, 2 * 3 * 3, 2, 5), np.float32)
    >>> W = np.ones((4, 3, 3, 3), np.float32)
    >>> F.deformable_convolution_2d_sampler(x, offset, W).shape
    (2, 4, 2, 5)
    """
    sy, sx = conv_nd.as_tuple(stride, 2)
    ph, pw = conv_nd.as_tuple(pad, 2)
    _errors.check_arrays('deformable_convolution_2d_sampler', x=x, offset=offset, W=W)
    kh, kw = W.shape[2:]
    n, c, h, w = x.shape
    oh = conv.get_conv_outsize(h, kh, sy, ph)
    ow = conv.get_conv_outsize(w, kw, sx, pw)
    h, w = h + 2 * ph, w + 2 * pw

    xp = backend.get_array_module(offset)
    ky, kx = xp.arange(kh * kw) // kw, xp.arange(kh * kw) % kw
    rows = (sy * xp.arange(oh)[:, None] + ky[:, None, None]).astype(offset.dtype)
    columns = (sx * xp.arange(ow) + kx[:, None, None]).astype(offset.dtype)
    to_right, down = F.split_axis(offset, 2, axis=1)
    to_right += F.broadcast_to(columns, to_right.shape)
    down += F.broadcast_to(rows, down.shape)
    # The sampler counts from -1, the first pixel, to 1, the last one.
    grid = F.stack([to_right * (2 / (w - 1)) - 1, down * (2 / (h - 1)) - 1], axis=1)
    grid = F.reshape(grid, (n, 2, kh * kw, oh * ow))

    padded = F.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), 'constant')
    sampled = F.spatial_transformer_sampler(padded, grid)
    sampled = F.reshape(sampled, (n, c * kh * kw, oh, ow))
    return F.convolution_2d(sampled, F.reshape(W, (W.shape[0], c * kh * kw, 1, 1)), b)
