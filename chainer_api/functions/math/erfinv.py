"""Inverse of the error function."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class ErfInv(_unary.UnaryFunction):
    """Inverse of the error function (see :func:`erfinv`)."""

    label = 'erfinv'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(_special.special(x, 'erfinv')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return gy * F.exp(y * y) * (math.pi ** .5 / 2),


def erfinv(x) -> Variable:
    """Inverse of the error function.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.erfinv(np.array([0., .5])).array
    array([0.        , 0.47693628])
    """
    return ErfInv().apply((x,))[0]
