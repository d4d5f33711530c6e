"""Swish."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.activation import sigmoid
from chainer.utils import type_check
from chainer.variable import Variable


class Swish(function_node.FunctionNode):
    """Swish (see :func:`swish`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 'beta'))
        x_type, beta_type = in_types
        ndim = type_check.eval(beta_type.ndim)
        type_check.expect(
            x_type.dtype.kind == 'f',
            beta_type.dtype == x_type.dtype,
            beta_type.shape == x_type.shape[1:1 + ndim],
        )

    def forward(self, inputs):
        x, beta = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0, 1))
        return x * sigmoid.of_array(xp, x * _spread(beta, x)),

    def backward(self, indexes, grad_outputs):
        x, beta = self.get_retained_inputs()
        gy, = grad_outputs
        b = F.broadcast_to(_spread(beta, x), x.shape)
        s = sigmoid.sigmoid(b * x)
        slope = s * (1 - s)
        gx = gbeta = None
        if 0 in indexes:
            gx = gy * (s + b * x * slope)
        if 1 in indexes:
            axes = (0,) + tuple(range(1 + beta.ndim, x.ndim))
            gbeta = F.sum(gy * x * x * slope, axis=axes)
        return gx, gbeta


def _spread(beta, x):
    """beta, whose axes are those of x from the second on, in a shape that broadcasts to x's."""
    return beta.reshape((1,) + beta.shape + (1,) * (x.ndim - beta.ndim - 1))


def swish(x, beta) -> Variable:
    r"""Swish, :math:`x \cdot \mathrm{sigmoid}(\beta x)`.

    ``beta`` is shared along the first axis of ``x`` and along the axes that it does not have.
    See: `Ramachandran, Zoph and Le, Searching for Activation Functions
    <https://arxiv.org/abs/1710.05941>`_.

    Args:
        x (Variable or array): floating-point array.
        beta (Variable or array): of the dtype of ``x`` and the shape ``x.shape[1:1 + beta.ndim]``.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if a shape or dtype does not fit.

    .. seealso:: :class:`chainer.links.Swish`

    >>> x = np.array([[-2, 0, 1]], np.float32)
    >>> F.swish(x, np.ones(3, np.float32)).array.round(4)
    array([[-0.2384,  0.    ,  0.7311]], dtype=float32)
    """
    return Swish().apply((x, beta))[0]
