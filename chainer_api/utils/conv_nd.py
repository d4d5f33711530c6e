"""Windows of convolution over any number of axes."""
import numpy

from chainer.utils import _errors
from chainwright.runtime.kernels import windows


def as_tuple(x, n):
    """Return ``x`` as a tuple of length ``n``, a single value repeated.

    >>> chainer.utils.conv_nd.as_tuple(2, 3)
    (2, 2, 2)
    """
    if not hasattr(x, '__iter__'):
        return (_plain(x),) * n
    values = tuple([_plain(value) for value in x])
    if len(values) != n:
        raise _errors.AssertedValueError(
            f'one value or {n} of them expected, one for each axis; got {x}')
    return values


def _plain(value):
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, float):
        raise TypeError(f'sizes, strides and paddings must be integers, got {value}')
    return value


def dilation(dilate, n):
    """:func:`as_tuple` of a dilation, which is not negative.

    >>> chainer.utils.conv_nd.dilation(2, 2)
    (2, 2)
    """
    values = as_tuple(dilate, n)
    if min(values, default=0) < 0:
        raise ValueError(f'Dilate should be positive, but {dilate} is supplied.')
    return values


def check_ndim(x, ndim):
    """Raise ``ValueError`` unless ``x`` has ``ndim`` axes beside batch and channels."""
    try:
        actual = len(x.shape) - 2
    except AttributeError:
        _errors.check_arrays('a convolution or pooling', x=x)
        raise
    if actual != ndim:
        raise ValueError(
            'The number of dimensions under channel dimension of the input \'x\' should be '
            f'{ndim}. But the actual ndim was {actual}.')


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
        room = room + s - 1  # as it stands in messages of Chainer
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


def get_conv_outsizes(shape, ksize, stride, pad, cover_all=False, dilate=1):
    """:func:`chainer.utils.get_conv_outsize` of each axis."""
    dilate = as_tuple(dilate, len(shape))
    return tuple(
        get_conv_outsize(size, k, s, p, cover_all, d)
        for size, k, s, p, d in zip(shape, ksize, stride, pad, dilate, strict=True))


def get_deconv_outsizes(shape, ksize, stride, pad, cover_all=False, dilate=1):
    """:func:`chainer.utils.get_deconv_outsize` of each axis."""
    dilate = as_tuple(dilate, len(shape))
    return tuple(
        get_deconv_outsize(size, k, s, p, cover_all, d)
        for size, k, s, p, d in zip(shape, ksize, stride, pad, dilate, strict=True))


def im2col_nd(img, ksize, stride, pad, cover_all=False, dilate=1, outsize=None, pval=0):
    """Gather the windows of ``img`` (n, c, *spatial) into (n, c, *ksize, *outsize)."""
    dilate = as_tuple(dilate, len(ksize))
    if outsize is None:
        outsize = get_conv_outsizes(img.shape[2:], ksize, stride, pad, cover_all, dilate)
    if min(outsize) <= 0:
        raise _errors.AssertedValueError(
            f'no window of size {ksize} fits into an input of size {img.shape[2:]} '
            f'with pad {pad}: make ksize smaller or pad larger')
    return windows.im2col(
        img, ksize=tuple(ksize), outsize=tuple(outsize), stride=tuple(stride), pad=tuple(pad),
        dilate=dilate, fill=pval)


def col2im_nd(col, stride, pad, dims, dilate=1):
    """Add windows (n, c, *ksize, *outsize) up into an array (n, c, *dims)."""
    return windows.col2im(
        col, shape=tuple(dims), stride=tuple(stride), pad=tuple(pad),
        dilate=as_tuple(dilate, len(dims)))


def im2col_nd_cpu(img, ksize, stride, pad, pval=0, cover_all=False, dilate=1):
    """:func:`im2col_nd` with ``pval`` in its old place."""
    return im2col_nd(img, ksize, stride, pad, cover_all, dilate, pval=pval)


im2col_nd_gpu = im2col_nd
col2im_nd_cpu = col2im_nd
col2im_nd_gpu = col2im_nd
