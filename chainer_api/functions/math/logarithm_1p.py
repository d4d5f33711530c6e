"""Logarithm of one plus the argument."""
from chainer import backend, utils
from chainer.functions.math import _unary
from chainer.variable import Variable


class Log1p(_unary.UnaryFunction):
    """Logarithm of one plus the argument (see :func:`log1p`)."""

    label = 'log1p'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).log1p(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy / (x + 1),


def log1p(x) -> Variable:
    """Natural logarithm of one plus each element, exact also near zero.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.log1p(np.array([0., 1e-10])).array
    array([0.e+00, 1.e-10])
    """
    return Log1p().apply((x,))[0]
