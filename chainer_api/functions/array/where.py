"""Choosing elements by a condition."""
import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Where(function_node.FunctionNode):
    """Elements chosen by a condition (see :func:`where`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('condition', 'x', 'y'))
        condition, x, y = in_types
        type_check.expect(condition.dtype == numpy.bool_, x.dtype == y.dtype)
        type_check.expect_broadcast_shapes(condition.shape, x.shape, y.shape)

    def forward(self, inputs):
        condition, x, y = inputs
        self.retain_inputs((0,))
        self.condition = condition
        self._shapes = x.shape, y.shape
        return backend.get_array_module(condition).where(condition, x, y),

    def backward(self, indexes, grad_outputs):
        condition, = self.get_retained_inputs()
        x_shape, y_shape = self._shapes
        gx = gy = None
        if 1 in indexes:
            gx = F.sum_to(Keep(condition.array, True).apply(grad_outputs)[0], x_shape)
        if 2 in indexes:
            gy = F.sum_to(Keep(condition.array, False).apply(grad_outputs)[0], y_shape)
        return None, gx, gy


class Keep(function_node.FunctionNode):
    """Keeps what stands where ``condition`` is ``value``; linear, so it is its own gradient."""

    def __init__(self, condition, value):
        self.condition = condition
        self.value = value

    def forward(self, inputs):
        g, = inputs
        xp = backend.get_array_module(g)
        condition = xp.asarray(self.condition)
        return xp.where(condition, g, 0) if self.value else xp.where(condition, 0, g),

    def backward(self, indexes, grad_outputs):
        return Keep(self.condition, self.value).apply(grad_outputs)


def where(condition, x, y) -> Variable:
    """Take elements of ``x`` where ``condition`` holds, and of ``y`` elsewhere.

    Args:
        condition (Variable or array): booleans.
        x (Variable or array): values where ``condition`` is true.
        y (Variable or array): values where ``condition`` is false, of the dtype of ``x``. The
            three shapes broadcast together.

    Returns:
        Variable: of the dtype of ``x`` and the common shape.

    Raises:
        InvalidType: if ``condition`` holds no booleans, or dtypes or shapes do not fit.

    >>> x = np.array([1., 2., 3.])
    >>> F.where(np.array([True, False, True]), x, -x).array
    array([ 1., -2.,  3.])
    """
    return Where().apply((condition, x, y))[0]
