"""Quantiles of the normal distribution."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class Ndtri(_unary.UnaryFunction):
    """Quantiles of the normal distribution (see :func:`ndtri`)."""

    label = 'ndtri'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(_special.special(x, 'ndtri')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return F.exp(y * y * 0.5) * gy * (2 * math.pi) ** .5,


def ndtri(x) -> Variable:
    """Quantile function of the standard normal distribution, the inverse of ``ndtr``.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.ndtri(np.array([.5, .9])).array
    array([0.        , 1.28155157])
    """
    return Ndtri().apply((x,))[0]
