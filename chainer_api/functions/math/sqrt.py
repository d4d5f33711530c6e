"""Square root, and one divided by it."""
import chainer
from chainer import backend, utils
from chainer.backends import cuda
from chainer.functions.math import _unary
from chainer.variable import Variable


class Sqrt(_unary.UnaryFunction):
    """Square root (see :func:`sqrt`)."""

    label = 'sqrt'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(backend.get_array_module(x).sqrt(x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return gy / (2 * y),


def sqrt(x) -> Variable:
    """Square root of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.sqrt(np.array([4., 9.])).array
    array([2., 3.])
    """
    return Sqrt().apply((x,))[0]


class Rsqrt(_unary.UnaryFunction):
    """One divided by the square root (see :func:`rsqrt`)."""

    label = 'rsqrt'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(1 / backend.get_array_module(x).sqrt(x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return gy * y * y * y * -0.5,


def rsqrt(x) -> Variable:
    """One divided by the square root of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.rsqrt(np.array([4., .25])).array
    array([0.5, 2. ])
    """
    if isinstance(chainer.as_array(x), cuda.ndarray):
        return Rsqrt().apply((x,))[0]
    return 1.0 / sqrt(x)
