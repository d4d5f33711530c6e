"""Normal cumulative distribution function."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class Ndtr(_unary.UnaryFunction):
    """Normal cumulative distribution function (see :func:`ndtr`)."""

    label = 'ndtr'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(x, 'ndtr')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return F.exp(x * x * -0.5) * gy * (2 * math.pi) ** -.5,


def ndtr(x) -> Variable:
    """Cumulative distribution function of the standard normal distribution.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.ndtr(np.array([0., 1.])).array
    array([0.5       , 0.84134475])
    """
    return Ndtr().apply((x,))[0]
