"""Logarithm of a sum of exponentials."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.math import _axes
from chainer.utils import _plain, type_check
from chainer.variable import Variable


def of_array(xp, x, axis):
    """The logarithm of the sum of exponentials of an array."""
    m = x.max(axis=axis, keepdims=True)
    s = xp.exp(x - m).sum(axis=axis)
    return m.reshape(s.shape) + xp.log(s)


class LogSumExp(function_node.FunctionNode):
    """Logarithm of a sum of exponentials (see :func:`logsumexp`)."""

    def __init__(self, axis=None):
        self.axis = _axes.as_tuple(axis)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, self.axis)

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        xp = backend.get_array_module(x)
        return _plain.plain_array(of_array(xp, x, self.axis)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        shape = _axes.kept_shape(x.shape, self.axis)
        y, gy = (F.broadcast_to(F.reshape(a, shape), x.shape) for a in (y, gy))
        return gy * F.exp(x - y),


def logsumexp(x, axis=None) -> Variable:
    """Logarithm of the sum of exponentials, over all or some axes.

    It does not overflow where the exponentials would.

    Args:
        x (Variable or array): floating-point array.
        axis (None, int or tuple of ints): axes to sum over; all by default.

    Returns:
        Variable: of the dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if there is no element, or an axis is named twice.

    >>> F.logsumexp(np.array([[1000., 1000.], [0., 1.]]), axis=1).array
    array([1000.69314718,    1.31326169])
    """
    return LogSumExp(axis).apply((x,))[0]
