"""Stacking arrays along a new axis."""
from chainer import backend, function_node
from chainer.functions.array import separate
from chainer.utils import type_check
from chainer.variable import Variable


class Stack(function_node.FunctionNode):
    """Arrays stacked along a new axis (see :func:`stack`)."""

    def __init__(self, axis):
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        for in_type in in_types[1:]:
            type_check.expect(
                in_type.dtype == in_types[0].dtype,
                in_type.shape == in_types[0].shape,
            )
        if self.axis >= 0:
            type_check.expect(in_types[0].ndim >= self.axis)
        else:
            type_check.expect(-in_types[0].ndim - 1 <= self.axis)

    def forward(self, inputs):
        return backend.get_array_module(*inputs).stack(inputs, axis=self.axis),

    def backward(self, indexes, grad_outputs):
        return separate.separate(grad_outputs[0], self.axis)


def stack(xs, axis=0) -> Variable:
    """Stack arrays along a new axis.

    Args:
        xs (list or tuple of Variables or arrays): of one shape and dtype.
        axis (int): where the new axis stands in the result.

    Returns:
        Variable: the stacked array.

    Raises:
        InvalidType: if shapes or dtypes differ, ``xs`` is empty, or the axis does not fit.

    >>> xs = [np.arange(3), np.arange(3) + 10]
    >>> F.stack(xs).shape
    (2, 3)
    >>> F.stack(xs, axis=1).array
    array([[ 0, 10],
           [ 1, 11],
           [ 2, 12]])
    """
    return Stack(axis).apply(xs)[0]
