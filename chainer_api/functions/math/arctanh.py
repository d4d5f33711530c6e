"""Inverse hyperbolic tangent."""
from chainer import backend, utils
from chainer.functions.math import _unary
from chainer.variable import Variable


class Arctanh(_unary.UnaryFunction):
    """Inverse hyperbolic tangent (see :func:`arctanh`)."""

    label = 'Arctanh'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).arctanh(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy / (1 - x * x),


def arctanh(x) -> Variable:
    """Inverse hyperbolic tangent of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.arctanh(np.array([0., .5])).array
    array([0.        , 0.54930614])
    """
    return Arctanh().apply((x,))[0]
