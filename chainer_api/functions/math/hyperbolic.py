"""Hyperbolic sine and cosine."""
from chainer import backend, utils
from chainer import functions as F
from chainer.functions.math import _unary
from chainer.variable import Variable


class Sinh(_unary.UnaryFunction):
    """Hyperbolic sine (see :func:`sinh`)."""

    label = 'sinh'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).sinh(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return F.cosh(x) * gy,


def sinh(x) -> Variable:
    """Hyperbolic sine of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.sinh(np.array([0., 1.])).array
    array([0.        , 1.17520119])
    """
    return Sinh().apply((x,))[0]


class Cosh(_unary.UnaryFunction):
    """Hyperbolic cosine (see :func:`cosh`)."""

    label = 'cosh'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).cosh(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return F.sinh(x) * gy,


def cosh(x) -> Variable:
    """Hyperbolic cosine of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.cosh(np.array([0., 1.])).array
    array([1.        , 1.54308063])
    """
    return Cosh().apply((x,))[0]
