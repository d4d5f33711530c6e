"""Reversing an axis."""
from chainer import function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Flip(function_node.FunctionNode):
    """Reverses an axis (see :func:`flip`)."""

    def __init__(self, axis):
        if not isinstance(axis, int):
            raise TypeError('axis must be int')
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.ndim > 0)
        if self.axis >= 0:
            type_check.expect(x_type.ndim > self.axis)
        else:
            type_check.expect(x_type.ndim >= -self.axis)

    def forward(self, inputs):
        x, = inputs
        before = (slice(None),) * (self.axis % x.ndim)
        return x[(*before, slice(None, None, -1))],

    def backward(self, indexes, grad_outputs):
        return Flip(self.axis).apply(grad_outputs)


def flip(x, axis) -> Variable:
    """Reverse the order of the elements along an axis.

    Args:
        x (Variable or array): array of at least one dimension.
        axis (int): the axis to reverse.

    Returns:
        Variable: a view of ``x``.

    Raises:
        InvalidType: if there is no such axis.
        TypeError: if ``axis`` is no int.

    >>> F.flip(np.array([[1, 2], [3, 4]]), 1).array
    array([[2, 1],
           [4, 3]])
    """
    return Flip(axis).apply((x,))[0]
