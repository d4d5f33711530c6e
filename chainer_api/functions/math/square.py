"""Square."""
from chainer import utils
from chainer.functions.math import _unary
from chainer.variable import Variable


class Square(_unary.UnaryFunction):
    """Square (see :func:`square`)."""

    label = 'square'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(x * x),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return 2 * x * gy,


def square(x) -> Variable:
    """Square of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.square(np.array([2., -3.])).array
    array([4., 9.])
    """
    return Square().apply((x,))[0]
