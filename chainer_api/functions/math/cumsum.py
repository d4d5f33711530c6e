"""Cumulative sum."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.math import _axes
from chainer.utils import type_check
from chainer.variable import Variable


class Cumsum(function_node.FunctionNode):
    """Cumulative sum (see :func:`cumsum`)."""

    def __init__(self, axis=None):
        if not (axis is None or isinstance(axis, int)):
            raise TypeError('axis must be int or None')
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, None if self.axis is None else (self.axis,))

    def forward(self, inputs):
        x, = inputs
        self._shape = x.shape
        return backend.get_array_module(x).cumsum(x, axis=self.axis),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        axis = 0 if self.axis is None else self.axis
        gx = F.flip(F.cumsum(F.flip(gy, axis), axis), axis)
        return F.reshape(gx, self._shape),


def cumsum(x, axis=None) -> Variable:
    """Cumulative sum along an axis: each element is the sum of all up to it.

    Args:
        x (Variable or array): floating-point array.
        axis (None or int): the axis; ``None`` flattens ``x`` first.

    Returns:
        Variable: of the dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        TypeError: if ``axis`` is something else.

    >>> F.cumsum(np.array([[1., 2.], [3., 4.]]), axis=1).array
    array([[1., 3.],
           [3., 7.]])
    """
    return Cumsum(axis).apply((x,))[0]
