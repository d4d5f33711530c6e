"""Digamma function."""
from chainer import functions as F
from chainer import utils
from chainer.functions.math import _special, _unary
from chainer.variable import Variable


class DiGamma(_unary.UnaryFunction):
    """Digamma function (see :func:`digamma`)."""

    label = 'digamma'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(x, 'digamma')(x), x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return F.polygamma(1, x) * gy,


def digamma(x) -> Variable:
    """Digamma function, the derivative of ``lgamma``, of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.digamma(np.array([1., 4.])).array
    array([-0.57721566,  1.25611767])
    """
    return DiGamma().apply((x,))[0]
