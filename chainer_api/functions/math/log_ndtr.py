"""Logarithm of the normal cumulative distribution function."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class LogNdtr(_unary.UnaryFunction):
    """Logarithm of the normal cumulative distribution function (see :func:`log_ndtr`)."""

    label = 'log_ndtr'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(x, 'log_ndtr')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy * (2 / math.pi) ** .5 / F.erfcx(x * -(.5 ** .5)),


def log_ndtr(x) -> Variable:
    """Logarithm of the cumulative distribution function of the standard normal distribution.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.log_ndtr(np.array([0., -10.])).array
    array([ -0.69314718, -53.23128515])
    """
    return LogNdtr().apply((x,))[0]
