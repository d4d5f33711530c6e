"""Sum over axes."""
import chainer
from chainer import function_node, utils
from chainer.functions.math import _axes
from chainer.utils import _plain, type_check
from chainer.variable import Variable


class Sum(function_node.FunctionNode):
    """Sum over axes (see :func:`sum`)."""

    keepdims = False

    def __init__(self, axis=None, keepdims=False):
        self.axis = _axes.as_tuple(axis)
        self.keepdims = keepdims

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, self.axis)

    def forward(self, inputs):
        x, = inputs
        return _plain.plain_array(x.sum(axis=self.axis, keepdims=self.keepdims)),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        shape = self.inputs[0].shape
        if not self.keepdims and self.axis and len(shape):
            gy = chainer.functions.reshape(gy, _axes.kept_shape(shape, self.axis))
        return chainer.functions.broadcast_to(gy, shape),


def sum(x, axis=None, keepdims=False) -> Variable:
    """Sum of elements, over all or some axes.

    Args:
        x (Variable or array): Any shape, floating dtype.
        axis (None, int or tuple of int): Axes to sum over; all by default.
        keepdims (bool): Whether the axes stay, with length one.

    Returns:
        Variable: Of the dtype of ``x``.

    .. doctest::

        >>> x = np.arange(6).reshape(2, 3).astype(np.float32)
        >>> F.sum(x)
        variable(15.)
        >>> F.sum(x, axis=1, keepdims=True)
        variable([[ 3.],
                  [12.]])
    """
    return Sum(axis, keepdims).apply((x,))[0]


class SumTo(function_node.FunctionNode):
    """Sum to a shape that broadcasts to that of the input (see :func:`sum_to`)."""

    def __init__(self, shape):
        self._shape = shape

    def forward(self, inputs):
        x, = inputs
        return utils.force_array(utils.sum_to(x, self._shape)),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        return chainer.functions.broadcast_to(gy, self.inputs[0].shape),


def sum_to(x, shape) -> Variable:
    """Sum over the axes along which ``shape`` would be broadcast to the shape of ``x``.

    Args:
        x (Variable or array): Any dtype.
        shape (tuple of int): A shape that broadcasts to that of ``x``.

    Returns:
        Variable: Of the shape ``shape``.

    .. doctest::

        >>> x = np.array([[1., 2., 3.], [4., 5., 6.]])
        >>> F.sum_to(x, (1, 3))
        variable([[5., 7., 9.]])
    """
    if x.shape == shape:
        return chainer.as_variable(x)
    return SumTo(shape).apply((x,))[0]
