"""Removal of axes of length one."""
import chainer
from chainer import function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Squeeze(function_node.FunctionNode):
    """Removal of axes of length one (see :func:`squeeze`)."""

    def __init__(self, axis=None):
        if axis is None:
            self.axis = None
        elif isinstance(axis, int):
            self.axis = (axis,)
        elif isinstance(axis, tuple) and all(isinstance(a, int) for a in axis):
            self.axis = axis
        else:
            raise TypeError(f'axis must be None, an int or a tuple of ints, not {axis!r}')

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        for axis in self.axis or ():
            if axis >= 0:
                type_check.expect(axis < x_type.ndim)
            else:
                type_check.expect(-axis - 1 < x_type.ndim)

    def forward(self, inputs):
        x, = inputs
        return x.squeeze(self.axis),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        return chainer.functions.reshape(gy, self.inputs[0].shape),


def squeeze(x, axis=None) -> Variable:
    """Remove axes of length one.

    Args:
        x (Variable or array): Any shape and dtype.
        axis (None, int or tuple of int): Which axes; all of length one by default.

    Returns:
        Variable: With fewer axes.

    Raises:
        ValueError: If one of the given axes has another length.

    .. doctest::

        >>> F.squeeze(np.zeros((1, 2, 1)), axis=0).shape
        (2, 1)
    """
    return Squeeze(axis).apply((x,))[0]
