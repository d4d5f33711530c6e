"""Complementary error function."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class Erfc(_unary.UnaryFunction):
    """Complementary error function (see :func:`erfc`)."""

    label = 'erfc'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(x, 'erfc')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy * F.exp(-x * x) * (-2 / math.pi ** .5),


def erfc(x) -> Variable:
    """Complementary error function, ``1 - erf(x)``, of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.erfc(np.array([0., 1.])).array
    array([1.        , 0.15729921])
    """
    return Erfc().apply((x,))[0]
