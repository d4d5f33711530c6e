"""Insertion of an axis of length one."""
import chainer
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class ExpandDims(function_node.FunctionNode):
    """Insertion of an axis (see :func:`expand_dims`)."""

    def __init__(self, axis):
        self.axis = int(axis)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        if self.axis >= 0:
            type_check.expect(x_type.ndim >= self.axis)
        else:
            type_check.expect(x_type.ndim >= -self.axis - 1)

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        return xp.expand_dims(x, self.axis),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        return chainer.functions.reshape(gy, self.inputs[0].shape),


def expand_dims(x, axis) -> Variable:
    """Insert an axis of length one.

    Args:
        x (Variable or array): Any shape and dtype.
        axis (int): Where it stands in the result; negative numbers count from the end.

    Returns:
        Variable: With one axis more.

    .. doctest::

        >>> F.expand_dims(np.zeros((2, 3)), 1).shape
        (2, 1, 3)
    """
    return ExpandDims(axis).apply((x,))[0]
