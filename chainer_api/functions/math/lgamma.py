"""Logarithm of the gamma function."""
from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class LGamma(_unary.UnaryFunction):
    """Logarithm of the gamma function (see :func:`lgamma`)."""

    label = 'lgamma'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(x, 'gammaln')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return F.digamma(x) * gy,


def lgamma(x) -> Variable:
    """Logarithm of the absolute value of the gamma function of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.lgamma(np.array([1., 4.])).array
    array([0.        , 1.79175947])
    """
    return LGamma().apply((x,))[0]
