"""Reversing the first axis."""
from chainer import function_node
from chainer.utils import type_check
from chainer.variable import Variable


class FlipUD(function_node.FunctionNode):
    """Reverses the first axis (see :func:`flipud`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a',))
        type_check.expect(in_types[0].ndim >= 1)

    def forward(self, inputs):
        return inputs[0][::-1],

    def backward(self, indexes, grad_outputs):
        return FlipUD().apply(grad_outputs)


def flipud(a) -> Variable:
    """Mirror up and down: reverse the first axis.

    Args:
        a (Variable or array): array of at least one dimension.

    Returns:
        Variable: a view of ``a``.

    Raises:
        InvalidType: if ``a`` has no dimension.

    >>> F.flipud(np.array([[1, 2], [3, 4]])).array
    array([[3, 4],
           [1, 2]])
    """
    return FlipUD().apply((a,))[0]
