"""Inverse of the complementary error function."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class ErfcInv(_unary.UnaryFunction):
    """Inverse of the complementary error function (see :func:`erfcinv`)."""

    label = 'erfcinv'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(_special.special(x, 'erfcinv')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return gy * F.exp(y * y) * (-math.pi ** .5 / 2),


def erfcinv(x) -> Variable:
    """Inverse of the complementary error function.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.erfcinv(np.array([1.5, .5])).array
    array([-0.47693628,  0.47693628])
    """
    return ErfcInv().apply((x,))[0]
