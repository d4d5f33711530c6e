"""Fourier transformation."""
from chainer import backend, function_node
from chainer.utils import type_check


class FFT(function_node.FunctionNode):
    """Fourier transformation along the last axis (see :func:`fft` and :func:`ifft`)."""

    def __init__(self, method):
        self._method = method

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('real', 'imag'))
        real_type, imag_type = in_types
        type_check.expect(
            real_type.dtype.kind == 'f',
            real_type.ndim > 0,
            real_type.shape == imag_type.shape,
            real_type.dtype == imag_type.dtype,
        )

    def forward(self, inputs):
        real, imag = inputs
        xp = backend.get_array_module(real)
        y = getattr(xp.fft, self._method)(real + imag * 1j)
        return y.real.astype(real.dtype), y.imag.astype(real.dtype)

    def backward(self, indexes, grad_outputs):
        real, imag = grad_outputs
        if real is None:
            real = 0 * imag
        elif imag is None:
            imag = 0 * real
        n = real.shape[-1]
        # The adjoint of the transformation is its inverse, scaled.
        if self._method == 'fft':
            greal, gimag = ifft((real, imag))
            return greal * n, gimag * n
        greal, gimag = fft((real, imag))
        return greal * (1 / n), gimag * (1 / n)


def fft(x):
    """Fourier transformation along the last axis.

    Args:
        x (tuple of two Variables or arrays): real and imaginary part, floating-point arrays of the
            same shape and dtype.

    Returns:
        tuple of two Variables: real and imaginary part.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> real, imag = F.fft((np.array([1., 2., 3., 4.]), np.zeros(4)))
    >>> real.array, imag.array
    (array([10., -2., -2., -2.]), array([ 0.,  2.,  0., -2.]))
    """
    real, imag = x
    return FFT('fft').apply((real, imag))


def ifft(x):
    """Inverse Fourier transformation along the last axis.

    Args:
        x (tuple of two Variables or arrays): real and imaginary part, floating-point arrays of the
            same shape and dtype.

    Returns:
        tuple of two Variables: real and imaginary part.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> real, imag = F.ifft((np.array([4., 0., 0., 0.]), np.zeros(4)))
    >>> real.array
    array([1., 1., 1., 1.])
    """
    real, imag = x
    return FFT('ifft').apply((real, imag))
