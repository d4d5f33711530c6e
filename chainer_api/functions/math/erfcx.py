"""Scaled complementary error function."""
import math

from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class Erfcx(_unary.UnaryFunction):
    """Scaled complementary error function (see :func:`erfcx`)."""

    label = 'erfcx'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return utils.force_array(_special.special(x, 'erfcx')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return (2 * x * y - 2 / math.pi ** .5) * gy,


def erfcx(x) -> Variable:
    """Scaled complementary error function, ``exp(x * x) * erfc(x)``, of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.erfcx(np.array([0., 1.])).array
    array([1.        , 0.42758358])
    """
    return Erfcx().apply((x,))[0]
