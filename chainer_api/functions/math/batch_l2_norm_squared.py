"""Squared norms of a batch of vectors."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class BatchL2NormSquared(function_node.FunctionNode):
    """Squared norms of a batch (see :func:`batch_l2_norm_squared`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim >= 2)

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return backend.get_array_module(x).square(x).sum(axis=tuple(range(1, x.ndim))),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy = F.reshape(grad_outputs[0], (len(x),) + (1,) * (x.ndim - 1))
        return 2 * x * F.broadcast_to(gy, x.shape),


def batch_l2_norm_squared(x) -> Variable:
    """Sum of squares of each item of a batch.

    Args:
        x (Variable or array): floating-point array of at least two dimensions.

    Returns:
        Variable: vector of length ``len(x)``.

    Raises:
        InvalidType: if ``x`` is no such array.

    >>> F.batch_l2_norm_squared(np.array([[1., 2.], [3., 4.]])).array
    array([ 5., 25.])
    """
    return BatchL2NormSquared().apply((x,))[0]
