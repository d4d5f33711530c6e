"""Windows over arrays with any number of spatial axes."""
from chainer.utils.conv import get_conv_outsize
from chainwright.runtime.kernels import windows


def as_tuple(x, n):
    """Return ``x`` as a tuple of length ``n``: a sequence of that length, or a number repeated.

    .. doctest::

        >>> chainer.utils.conv_nd.as_tuple(2, 3)
        (2, 2, 2)
    """
    if hasattr(x, '__getitem__'):
        if len(x) != n:
            raise ValueError(f'expected a number or a sequence of length {n}, got {x}')
        return tuple(x)
    return (x,) * n


def im2col_nd(img, ksize, stride, pad, cover_all=False, dilate=1, pval=0):
    """Gather the windows of an array.

    Args:
        img (array): ``(n, c, d_1, ..., d_N)``.
        ksize (tuple of int): Size of a window.
        stride (tuple of int): Strides.
        pad (tuple of int): Padding on each side.
        cover_all (bool): See :func:`chainer.utils.get_conv_outsize`.
        dilate (int or tuple of int): Dilation.
        pval (float): Value of the padding.

    Returns:
        array: The windows, ``(n, c, k_1, ..., k_N, out_1, ..., out_N)``.

    .. doctest::

        >>> x = np.arange(4.).reshape(1, 1, 4)
        >>> chainer.utils.conv_nd.im2col_nd_cpu(x, (2,), (1,), (0,))[0, 0]
        array([[0., 1., 2.],
               [1., 2., 3.]])
    """
    shape = img.shape[2:]
    ksize, stride, pad = tuple(ksize), tuple(stride), tuple(pad)
    dilate = as_tuple(dilate, len(shape))
    if not len(shape) == len(ksize) == len(stride) == len(pad):
        raise ValueError(
            f'an array with {len(shape)} spatial axes needs as many values of ksize {ksize}, '
            f'stride {stride} and pad {pad}')
    outsize = tuple([
        get_conv_outsize(size, k, s, p, cover_all, d)
        for size, k, s, p, d in zip(shape, ksize, stride, pad, dilate, strict=True)])
    if min(outsize, default=1) <= 0:
        raise ValueError(
            f'the output has the shape {outsize}, all sizes must be positive: the kernel {ksize} '
            f'does not fit into {shape} with padding {pad}')
    return windows.im2col(
        img, ksize=ksize, outsize=outsize, stride=stride, pad=pad, dilate=dilate, fill=pval)


def im2col_nd_cpu(img, ksize, stride, pad, pval=0, cover_all=False, dilate=1):
    """Gather the windows of an array (see :func:`im2col_nd`)."""
    return im2col_nd(img, ksize, stride, pad, cover_all, dilate, pval)


im2col_nd_gpu = im2col_nd


def col2im_nd(col, stride, pad, dims, dilate=1):
    """Add windows up into an array; the transposition of :func:`im2col_nd`.

    Args:
        col (array): Windows, ``(n, c, k_1, ..., k_N, out_1, ..., out_N)``.
        stride (tuple of int): Strides.
        pad (tuple of int): Padding on each side.
        dims (tuple of int): Spatial shape of the result.
        dilate (int or tuple of int): Dilation.

    Returns:
        array: ``(n, c, d_1, ..., d_N)``.
    """
    dims = tuple(dims)
    return windows.col2im(
        col, shape=dims, stride=tuple(stride), pad=tuple(pad), dilate=as_tuple(dilate, len(dims)))


col2im_nd_cpu = col2im_nd
col2im_nd_gpu = col2im_nd
