"""Error function."""
import math

from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class Erf(_unary.UnaryFunction):
    """Error function (see :func:`erf`)."""

    label = 'erf'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(x, 'erf')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy * F.exp(-x * x) * (2 / math.pi ** .5),


def erf(x) -> Variable:
    r"""Error function of each element.

    .. math:: \mathrm{erf}(x) = \frac{2}{\sqrt{\pi}} \int_0^x e^{-t^2} dt

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.erf(np.array([0., 1.])).array
    array([0.        , 0.84270079])
    """
    return Erf().apply((x,))[0]
