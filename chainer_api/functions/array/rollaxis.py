"""Moving one axis."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Rollaxis(function_node.FunctionNode):
    """Moves one axis (see :func:`rollaxis`)."""

    def __init__(self, axis, start):
        if not isinstance(axis, int):
            raise TypeError('axis must be int')
        if not isinstance(start, int):
            raise TypeError('start must be int')
        self.axis = axis
        self.start = start

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        if self.axis >= 0:
            type_check.expect(x_type.ndim > self.axis)
        else:
            type_check.expect(x_type.ndim > -self.axis - 1)
        if self.start >= 0:
            type_check.expect(x_type.ndim >= self.start)
        else:
            type_check.expect(x_type.ndim > -self.start - 1)

    def forward(self, inputs):
        x, = inputs
        axes = list(range(x.ndim))
        start = self.start % x.ndim if self.start < 0 else self.start
        axis = axes.pop(self.axis)
        axes.insert(start - 1 if axis < start else start, axis)
        self._axes = axes
        return backend.get_array_module(x).transpose(x, axes),

    def backward(self, indexes, grad_outputs):
        inverse = sorted(range(len(self._axes)), key=self._axes.__getitem__)
        return F.transpose(grad_outputs[0], inverse),


def rollaxis(x, axis, start=0) -> Variable:
    """Move one axis in front of another.

    Args:
        x (Variable or array): the array.
        axis (int): the axis to move.
        start (int): it is put before the axis that stands here.

    Returns:
        Variable: a view of ``x`` with its axes reordered.

    Raises:
        InvalidType: if there is no such axis.
        TypeError: if an argument is no int.

    >>> F.rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    return Rollaxis(axis, start).apply((x,))[0]
