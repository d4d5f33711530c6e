"""Sizes and windows of two-dimensional convolution."""
from chainer.utils import conv_nd
from chainer.utils.conv_nd import get_conv_outsize as get_conv_outsize
from chainer.utils.conv_nd import get_deconv_outsize as get_deconv_outsize


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
