"""Reversing the second axis."""
from chainer import function_node
from chainer.utils import type_check
from chainer.variable import Variable


class FlipLR(function_node.FunctionNode):
    """Reverses the second axis (see :func:`fliplr`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a',))
        type_check.expect(in_types[0].ndim >= 2)

    def forward(self, inputs):
        return inputs[0][:, ::-1],

    def backward(self, indexes, grad_outputs):
        return FlipLR().apply(grad_outputs)


def fliplr(a) -> Variable:
    """Mirror left and right: reverse the second axis.

    Args:
        a (Variable or array): array of at least two dimensions.

    Returns:
        Variable: a view of ``a``.

    Raises:
        InvalidType: if ``a`` has fewer than two dimensions.

    >>> F.fliplr(np.array([[1, 2], [3, 4]])).array
    array([[2, 1],
           [4, 3]])
    """
    return FlipLR().apply((a,))[0]
