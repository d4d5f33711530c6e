"""Initializers that make interpolation filters for convolutions."""
import numpy

from chainer import backend, initializer


class _SamplingFilter(initializer.Initializer):

    def __init__(self, interpolation='linear', dtype=None):
        if interpolation != 'linear':
            raise ValueError(
                f"Unsupported interpolation method: {interpolation}. Only 'linear' is supported.")
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        n_out, n_in, *ksize = array.shape if array.ndim > 2 else (None, None)
        if not ksize:
            raise ValueError(
                'An array of shape (channels, channels, *ksize) is expected. '
                f'Actual shape: {array.shape}')
        if n_in not in (1, n_out):
            raise AssertionError(
                'There must be one input channel, or as many as there are output channels: '
                f'{n_in} != {n_out}')
        if len(set(ksize)) != 1:
            raise ValueError(f'ksize must be all same: {" != ".join(map(str, ksize))}')

        xp = backend.get_array_module(array)
        kernel = xp.asarray(self._kernel(ksize[0], len(ksize)))
        array[...] = 0
        for channel in range(n_out):
            array[channel, channel % n_in] = kernel


class UpsamplingDeconvFilter(_SamplingFilter):
    """Filter of a transposed convolution that enlarges each channel by linear interpolation.

    For a kernel of size ``k`` the filter is the tensor product of triangles that rise to the
    middle, such as 1/4, 3/4, 3/4, 1/4 for ``k = 4`` and a stride of 2; channels do not mix.

    Reference: Long et al., `Fully Convolutional Networks for Semantic Segmentation
    <https://arxiv.org/abs/1411.4038>`_.

    Args:
        interpolation (str): ``'linear'``, the only method.
        dtype: See :class:`chainer.Initializer`.

    Raises:
        ValueError: Another ``interpolation``; or, when called, the array is not of shape
            ``(channels, channels, k, k, ...)`` or ``(channels, 1, k, k, ...)``.

    Example:
        >>> import numpy as np, chainer
        >>> w = np.empty((1, 1, 4), np.float32)
        >>> chainer.initializers.UpsamplingDeconvFilter()(w)
        >>> w
        array([[[0.25, 0.75, 0.75, 0.25]]], dtype=float32)
    """

    def _kernel(self, size, ndim):
        return _triangle(size, ndim)


class DownsamplingConvFilter(_SamplingFilter):
    """Filter of a convolution that shrinks each channel by linear interpolation.

    It is the filter of :class:`UpsamplingDeconvFilter` scaled to a sum of one.

    Args:
        interpolation (str): ``'linear'``, the only method.
        dtype: See :class:`chainer.Initializer`.

    Raises:
        ValueError: Another ``interpolation``; or, when called, the array is not of shape
            ``(channels, channels, k, k, ...)`` or ``(channels, 1, k, k, ...)``.

    Example:
        >>> import numpy as np, chainer
        >>> w = np.empty((1, 1, 4), np.float32)
        >>> chainer.initializers.DownsamplingConvFilter()(w)
        >>> w
        array([[[0.125, 0.375, 0.375, 0.125]]], dtype=float32)
    """

    def _kernel(self, size, ndim):
        kernel = _triangle(size, ndim)
        return kernel / kernel.sum()


def _triangle(size, ndim):
    factor = (size + 1) // 2
    centre = factor - 1 if size % 2 == 1 else factor - 0.5
    line = 1 - numpy.abs(numpy.arange(size) - centre) / factor
    kernel = line
    for _ in range(ndim - 1):
        kernel = numpy.multiply.outer(kernel, line)
    return kernel
