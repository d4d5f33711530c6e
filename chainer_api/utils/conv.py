"""Windows over images, and output sizes of convolutions."""
from chainwright.runtime.kernels import windows


def get_conv_outsize(size, k, s, p, cover_all=False, d=1):
    """Return the output size of a convolution along one axis.

    Args:
        size (int): Size of the input.
        k (int): Size of the kernel.
        s (int): Stride.
        p (int): Padding on each side.
        cover_all (bool): Whether windows cover all of the input, the last one reaching over its
            end if need be.
        d (int): Dilation.

    Returns:
        int: Size of the output (not positive if the kernel is larger than the input).

    .. doctest::

        >>> chainer.utils.get_conv_outsize(10, k=3, s=2, p=0)
        4
        >>> chainer.utils.get_conv_outsize(10, k=3, s=2, p=0, cover_all=True)
        5
    """
    reach = k + (k - 1) * (d - 1)
    over = s - 1 if cover_all else 0
    return (size + 2 * p - reach + over) // s + 1


def get_deconv_outsize(size, k, s, p, cover_all=False, d=1):
    """Return the output size of a transposed convolution along one axis.

    Args:
        size (int): Size of the input.
        k (int): Size of the kernel.
        s (int): Stride.
        p (int): Padding taken off on each side.
        cover_all (bool): Whether the convolution that it transposes covers all of its input.
        d (int): Dilation.

    Returns:
        int: Size of the output.

    .. doctest::

        >>> chainer.utils.get_deconv_outsize(4, k=3, s=2, p=0)
        9
    """
    reach = k + (k - 1) * (d - 1)
    over = s - 1 if cover_all else 0
    return s * (size - 1) + reach - over - 2 * p


def im2col(
        img, kh, kw, sy, sx, ph, pw, cover_all=False, dy=1, dx=1, out_h=None, out_w=None, pval=0):
    """Gather the windows of images.

    Args:
        img (array): Images, ``(n, c, h, w)``.
        kh, kw (int): Size of a window.
        sy, sx (int): Strides.
        ph, pw (int): Padding on each side.
        cover_all (bool): See :func:`get_conv_outsize`.
        dy, dx (int): Dilation.
        out_h, out_w (int): Number of windows, from the above by default.
        pval (float): Value of the padding.

    Returns:
        array: The windows, ``(n, c, kh, kw, out_h, out_w)``.

    .. doctest::

        >>> x = np.arange(9.).reshape(1, 1, 3, 3)
        >>> chainer.utils.conv.im2col_cpu(x, 2, 2, 1, 1, 0, 0)[0, 0, :, :, 0, 0]
        array([[0., 1.],
               [3., 4.]])
    """
    h, w = img.shape[2:]
    if out_h is None:
        out_h = get_conv_outsize(h, kh, sy, ph, cover_all, dy)
    if out_w is None:
        out_w = get_conv_outsize(w, kw, sx, pw, cover_all, dx)
    for name, size in ('height', out_h), ('width', out_w):
        if size <= 0:
            raise ValueError(
                f'{name} of the output is {size}, it must be positive: the kernel {kh, kw} does '
                f'not fit into images of shape {h, w} with padding {ph, pw}')
    return windows.im2col(
        img, ksize=(kh, kw), outsize=(out_h, out_w), stride=(sy, sx), pad=(ph, pw),
        dilate=(dy, dx), fill=pval)


def im2col_cpu(
        img, kh, kw, sy, sx, ph, pw, pval=0, cover_all=False, dy=1, dx=1, out_h=None, out_w=None):
    """Gather the windows of images (see :func:`im2col`)."""
    return im2col(img, kh, kw, sy, sx, ph, pw, cover_all, dy, dx, out_h, out_w, pval)


im2col_gpu = im2col


def col2im(col, sy, sx, ph, pw, h, w, dy=1, dx=1):
    """Add windows up into images; the transposition of :func:`im2col`.

    Args:
        col (array): Windows, ``(n, c, kh, kw, out_h, out_w)``.
        sy, sx (int): Strides.
        ph, pw (int): Padding on each side.
        h, w (int): Size of the images.
        dy, dx (int): Dilation.

    Returns:
        array: Images, ``(n, c, h, w)``.
    """
    return windows.col2im(col, shape=(h, w), stride=(sy, sx), pad=(ph, pw), dilate=(dy, dx))


col2im_cpu = col2im
col2im_gpu = col2im
