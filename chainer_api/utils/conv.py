"""Sizes and windows of two-dimensional convolution."""
from chainer.utils import conv_nd


def get_conv_outsize(size, k, s, p, cover_all=False, d=1):
    """Number of windows along an axis.

    Args:
        size (int): Length of the axis.
        k (int): Size of the window.
        s (int): Stride of the windows.
        p (int): Padding on each side.
        cover_all (bool): Whether a last window that hangs over the end counts.
        d (int): Dilation of the window.

    Returns:
        int: Length of the axis that convolution or pooling with these settings gives.

    .. doctest::

        >>> chainer.utils.get_conv_outsize(10, 3, 2, 0)
        4
        >>> chainer.utils.get_conv_outsize(10, 3, 2, 0, cover_all=True)
        5
    """
    span = k + (k - 1) * (d - 1)
    room = size + 2 * p - span
    if cover_all:
        room += s - 1
    return room // s + 1


def get_deconv_outsize(size, k, s, p, cover_all=False, d=1):
    """Length of the axis over which ``size`` windows slide.

    The inverse of :func:`chainer.utils.get_conv_outsize`, with the same arguments; of the lengths
    that give as many windows the shortest.

    .. doctest::

        >>> chainer.utils.get_deconv_outsize(4, 3, 2, 0)
        9
        >>> chainer.utils.get_deconv_outsize(5, 3, 2, 0, cover_all=True)
        10
    """
    span = k + (k - 1) * (d - 1)
    length = s * (size - 1) + span - 2 * p
    return length - s + 1 if cover_all else length


def im2col(img, kh, kw, sy, sx, ph, pw, cover_all=False, dy=1, dx=1, out_h=None, out_w=None,
           pval=0):
    """Gather the windows of images (n, c, h, w) into an array (n, c, kh, kw, out_h, out_w)."""
    if out_h is None:
        out_h = get_conv_outsize(img.shape[2], kh, sy, ph, cover_all, dy)
    if out_w is None:
        out_w = get_conv_outsize(img.shape[3], kw, sx, pw, cover_all, dx)
    return conv_nd.im2col_nd(
        img, (kh, kw), (sy, sx), (ph, pw), dilate=(dy, dx), outsize=(out_h, out_w), pval=pval)


def col2im(col, sy, sx, ph, pw, h, w, dy=1, dx=1):
    """Add windows (n, c, kh, kw, out_h, out_w) up into images (n, c, h, w)."""
    return conv_nd.col2im_nd(col, (sy, sx), (ph, pw), (h, w), (dy, dx))


def im2col_cpu(img, kh, kw, sy, sx, ph, pw, pval=0, cover_all=False, dy=1, dx=1, out_h=None,
               out_w=None):
    """:func:`im2col` with ``pval`` in its old place."""
    return im2col(img, kh, kw, sy, sx, ph, pw, cover_all, dy, dx, out_h, out_w, pval)


im2col_gpu = im2col
col2im_cpu = col2im
col2im_gpu = col2im
