"""Softmax."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Softmax(function_node.FunctionNode):
    """Softmax along one axis (see :func:`softmax`)."""

    _weight = function_node._SEVERAL

    def __init__(self, axis=1):
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            -x_type.ndim <= self.axis,
            self.axis < x_type.ndim,
        )

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_outputs((0,))
        y = x - x.max(axis=self.axis, keepdims=True)
        xp.exp(y, out=y)
        y /= y.sum(axis=self.axis, keepdims=True)
        return y,

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        return _SoftmaxGrad(self.axis).apply((y, grad_outputs[0]))


class _SoftmaxGrad(function_node.FunctionNode):

    def __init__(self, axis):
        self.axis = axis

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        y, gy = inputs
        gx = y * gy
        gx -= y * gx.sum(axis=self.axis, keepdims=True)
        return gx,

    def backward(self, indexes, grad_outputs):
        y, gy = self.get_retained_inputs()
        g, = grad_outputs
        g_y = g_gy = None
        if 0 in indexes:
            shape = y.shape
            gs = F.broadcast_to(F.sum(g * y, axis=self.axis, keepdims=True), shape)
            s = F.broadcast_to(F.sum(gy * y, axis=self.axis, keepdims=True), shape)
            g_y = g * gy - gs * gy - s * g
        if 1 in indexes:
            g_gy, = _SoftmaxGrad(self.axis).apply((y, g))
        return g_y, g_gy


def softmax(x, axis=1) -> Variable:
    r"""Softmax along one axis: exponentials scaled to the sum one.

    .. math:: y_i = e^{x_i} / \sum_j e^{x_j}

    Args:
        x (Variable or array): floating-point array of at least one dimension.
        axis (int): the axis along which the values sum to one.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if the axis is empty.

    >>> x = np.array([[0, 1, 2], [0, 2, 4]], np.float32)
    >>> F.softmax(x).array.round(4)
    array([[0.09  , 0.2447, 0.6652],
           [0.0159, 0.1173, 0.8668]], dtype=float32)
    """
    return Softmax(axis).apply((x,))[0]
