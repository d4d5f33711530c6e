"""Mean and weighted mean."""
import chainer
from chainer import function_node, utils
from chainer import functions as F
from chainer.functions.math import _axes
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class Mean(function_node.FunctionNode):
    """Mean over axes."""

    def __init__(self, axis, keepdims):
        self.axis = _axes.as_tuple(axis)
        self.keepdims = keepdims

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, self.axis)

    def forward(self, inputs):
        x, = inputs
        self._shape = x.shape
        self._multiplier = 1. / _count(x.shape, self.axis)
        return utils.force_array(x.mean(axis=self.axis, keepdims=self.keepdims)),

    def backward(self, indexes, grad_outputs):
        gy = grad_outputs[0] * self._multiplier
        gy = F.reshape(gy, _axes.kept_shape(self._shape, self.axis))
        return F.broadcast_to(gy, self._shape),


def _count(shape, axes):
    count = 1
    for axis in range(len(shape)) if axes is None else axes:
        count *= shape[axis]
    return count


def average(x, axis=None, weights=None, keepdims=False) -> Variable:
    """Mean over all or some axes, weighted or not. Its other name is ``mean``.

    Args:
        x (Variable or array): floating-point array.
        axis (None, int or tuple of ints): axes to average over; all by default. One only, if there
            are weights.
        weights (None, Variable or array): with an axis, one weight for each of its elements;
            without, weights of a shape that broadcasts to that of ``x``.
        keepdims (bool): whether the axes stay, with length one.

    Returns:
        Variable: of the dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array, has no such axis, or the weights do not
            fit.
        ValueError: for weights with several axes, or if an axis is named twice.
        ZeroDivisionError: if there is no element.

    >>> x = np.array([[1., 2.], [3., 4.]])
    >>> F.average(x, axis=1).array
    array([1.5, 3.5])
    >>> F.average(x, axis=1, weights=np.array([3., 1.])).array
    array([1.25, 3.25])
    """
    if weights is None:
        return Mean(axis, keepdims).apply((x,))[0]
    _errors.check_arrays('average', x=x, weights=weights)
    axes = _axes.as_tuple(axis)
    if axes is not None:
        if len(axes) > 1:
            raise ValueError('tuple axis is not supported when weights is given')
        shape = [1] * x.ndim
        shape[axes[0]] = x.shape[axes[0]]
        weights = F.reshape(weights, shape)
    weighted = chainer.as_variable(x) * F.broadcast_to(weights, x.shape)
    total = F.sum(weights)
    y = F.sum(weighted, axis=axes, keepdims=keepdims)
    return y / F.broadcast_to(total, y.shape)
