"""Exponential function minus one."""
from chainer import backend, utils
from chainer.functions.math import _unary
from chainer.variable import Variable


class Expm1(_unary.UnaryFunction):
    """Exponential function minus one (see :func:`expm1`)."""

    label = 'expm1'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(backend.get_array_module(x).expm1(x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return (y + 1) * gy,


def expm1(x) -> Variable:
    """Exponential function minus one, exact also near zero.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.expm1(np.array([0., 1e-10])).array
    array([0.e+00, 1.e-10])
    """
    return Expm1().apply((x,))[0]
