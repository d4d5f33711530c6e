"""Swapping two axes."""
from chainer import function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Swapaxes(function_node.FunctionNode):
    """Swaps two axes (see :func:`swapaxes`)."""

    def __init__(self, axis1, axis2):
        self.axis1 = axis1
        self.axis2 = axis2

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)

    def forward(self, inputs):
        return inputs[0].swapaxes(self.axis1, self.axis2),

    def backward(self, indexes, grad_outputs):
        return Swapaxes(self.axis1, self.axis2).apply(grad_outputs)


def swapaxes(x, axis1, axis2) -> Variable:
    """Swap two axes.

    Args:
        x (Variable or array): the array.
        axis1 (int): one axis.
        axis2 (int): the other.

    Returns:
        Variable: a view of ``x`` with the axes swapped.

    Raises:
        AxisError: if there is no such axis.

    >>> F.swapaxes(np.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    return Swapaxes(axis1, axis2).apply((x,))[0]
