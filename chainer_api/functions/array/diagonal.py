"""Diagonals."""
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Diagonal(function_node.FunctionNode):
    """Diagonals of matrices (see :func:`diagonal`)."""

    def __init__(self, offset, axis1, axis2):
        self.offset = offset
        self.axis1 = axis1
        self.axis2 = axis2

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        for axis in self.axis1, self.axis2:
            if axis >= 0:
                type_check.expect(x_type.ndim > axis)
            else:
                type_check.expect(x_type.ndim >= -axis)

    def forward(self, inputs):
        x, = inputs
        self._shape = x.shape
        return x.diagonal(self.offset, self.axis1, self.axis2),

    def backward(self, indexes, grad_outputs):
        return _DiagonalGrad(self._shape, self.offset, self.axis1, self.axis2).apply(grad_outputs)


class _DiagonalGrad(function_node.FunctionNode):
    """Writes diagonals into zeros."""

    def __init__(self, shape, offset, axis1, axis2):
        self.shape = shape
        self.args = offset, axis1, axis2

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        offset, axis1, axis2 = self.args
        rest = list(self.shape)
        axis1, axis2 = axis1 % len(rest), axis2 % len(rest)
        for axis in sorted((axis1, axis2), reverse=True):
            del rest[axis]
        gx = xp.zeros((*rest, self.shape[axis1], self.shape[axis2]), gy.dtype)
        i = xp.arange(gy.shape[-1])
        gx[..., i + max(-offset, 0), i + max(offset, 0)] = gy
        return xp.moveaxis(gx, (-2, -1), (axis1, axis2)),

    def backward(self, indexes, grad_outputs):
        return Diagonal(*self.args).apply(grad_outputs)


def diagonal(x, offset=0, axis1=0, axis2=1) -> Variable:
    """Diagonals of the matrices that two axes span.

    Args:
        x (Variable or array): array of at least two dimensions.
        offset (int): how far above the main diagonal (below, if negative).
        axis1 (int): the axis of rows.
        axis2 (int): the axis of columns.

    Returns:
        Variable: ``x`` without the two axes, and with the diagonals along a new last axis.

    Raises:
        InvalidType: if there is no such axis.
        ValueError: if both axes are the same.

    >>> x = np.arange(12).reshape(3, 4)
    >>> F.diagonal(x).array
    array([ 0,  5, 10])
    >>> F.diagonal(x, offset=-1).array
    array([4, 9])
    """
    return Diagonal(offset, axis1, axis2).apply((x,))[0]
