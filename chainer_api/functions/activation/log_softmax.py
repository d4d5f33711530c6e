"""Logarithm of the softmax."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


def logsumexp(x, axis):
    """Array of ``log(sum(exp(x)))`` along an axis, which stays with length one."""
    xp = backend.get_array_module(x)
    m = x.max(axis=axis, keepdims=True)
    y = x - m
    xp.exp(y, out=y)
    s = y.sum(axis=axis, keepdims=True)
    xp.log(s, out=s)
    m += s
    return m


def _log_softmax(x, axis=1):
    """Array of the logarithm of the softmax (projects call it by this name)."""
    return x - logsumexp(x, axis)


class LogSoftmax(function_node.FunctionNode):
    """Logarithm of the softmax along one axis (see :func:`log_softmax`)."""

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
        self.retain_outputs((0,))
        return _log_softmax(x, self.axis),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        return _LogSoftmaxGrad(self.axis).apply((y, grad_outputs[0]))


class _LogSoftmaxGrad(function_node.FunctionNode):

    def __init__(self, axis):
        self.axis = axis

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        y, gy = inputs
        xp = backend.get_array_module(y)
        return gy - xp.exp(y) * gy.sum(axis=self.axis, keepdims=True),

    def backward(self, indexes, grad_outputs):
        y, gy = self.get_retained_inputs()
        g, = grad_outputs
        g_exp = g * F.exp(y)
        g_y = g_gy = None
        if 0 in indexes:
            s = F.sum(gy, axis=self.axis, keepdims=True)
            g_y = -g_exp * F.broadcast_to(s, y.shape)
        if 1 in indexes:
            s = F.sum(g_exp, axis=self.axis, keepdims=True)
            g_gy = g - F.broadcast_to(s, y.shape)
        return g_y, g_gy


def log_softmax(x, axis=1) -> Variable:
    r"""Logarithm of the softmax along one axis.

    .. math:: y_i = x_i - \log \sum_j e^{x_j}

    More exact than ``log(softmax(x))``, which loses small probabilities.

    Args:
        x (Variable or array): floating-point array of at least one dimension.
        axis (int): the axis along which the probabilities sum to one.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if the axis is empty.

    >>> x = np.array([[0, 1, 2], [0, 2, 4]], np.float32)
    >>> F.log_softmax(x).array.round(4)
    array([[-2.4076, -1.4076, -0.4076],
           [-4.1429, -2.1429, -0.1429]], dtype=float32)
    """
    return LogSoftmax(axis).apply((x,))[0]
