"""Softplus."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Softplus(function_node.FunctionNode):
    """Softplus (see :func:`softplus`)."""

    def __init__(self, beta=1.0):
        self.beta = float(beta)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        bx = x * self.beta
        y = (xp.maximum(bx, 0) + xp.log1p(xp.exp(-abs(bx)))) * (1 / self.beta)
        return utils.force_array(y),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return F.sigmoid(self.beta * x) * grad_outputs[0],


def softplus(x, beta=1.0) -> Variable:
    r"""Softplus, a smooth form of the rectified linear unit.

    .. math:: y = \log(1 + e^{\beta x}) / \beta

    Args:
        x (Variable or array): floating-point array of any shape.
        beta (float): the larger, the closer to the rectified linear unit.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.softplus(np.arange(-2, 3, 2, np.float32)).array.round(4)
    array([0.1269, 0.6931, 2.1269], dtype=float32)
    """
    return Softplus(beta).apply((x,))[0]
