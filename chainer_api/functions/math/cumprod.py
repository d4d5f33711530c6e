"""Cumulative product."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.math import _axes
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels.recurrence import linear_recurrence


class Cumprod(function_node.FunctionNode):
    """Cumulative product (see :func:`cumprod`)."""

    def __init__(self, axis):
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, None if self.axis is None else (self.axis,))

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return backend.get_array_module(x).cumprod(x, axis=self.axis),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        axis = self.axis
        shape = x.shape
        if axis is None:
            axis = 0
            x = F.flatten(x)
        # gx[i] = y[i - 1] * (gy[i] + x[i + 1] * (gy[i + 1] + x[i + 2] * (...)))
        x, y, gy = (F.moveaxis(a, axis, 0) for a in (x, y, gy))
        one = 1 + 0 * y[:1]
        before = F.concat((one, y[:-1]), axis=0)
        gx = before * _reversed_recurrence(x, gy)
        return F.reshape(F.moveaxis(gx, 0, axis), shape),


class _LinearRecurrence(function_node.FunctionNode):
    """``y[i] = y[i - 1] * mul[i] + add[i]`` along the first axis, from ``y[-1] = 0``."""

    def forward(self, inputs):
        mul, add = inputs
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return linear_recurrence(mul, add),

    def backward(self, indexes, grad_outputs):
        mul, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        g_add = _reversed_recurrence(mul, grad_outputs[0])
        g_mul = None
        if 0 in indexes:
            g_mul = g_add * F.concat((0 * y[:1], y[:-1]), axis=0)
        return g_mul, g_add


def _reversed_recurrence(mul, add):
    """``y[i] = add[i] + mul[i + 1] * y[i + 1]`` along the first axis."""
    # The first multiplier meets y[-1] = 0; any will do.
    mul = F.flip(F.concat((mul[1:], 0 * mul[:1]), axis=0), 0)
    y, = _LinearRecurrence().apply((mul, F.flip(add, 0)))
    return F.flip(y, 0)


def cumprod(x, axis=None) -> Variable:
    """Cumulative product along an axis: each element is the product of all up to it.

    Args:
        x (Variable or array): floating-point array.
        axis (None or int): the axis; ``None`` flattens ``x`` first.

    Returns:
        Variable: of the dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        TypeError: if ``axis`` is something else.

    >>> F.cumprod(np.array([[1., 2.], [3., 4.]]), axis=1).array
    array([[ 1.,  2.],
           [ 3., 12.]])
    """
    if not (axis is None or isinstance(axis, int)):
        raise TypeError('axis must be int or None')
    return Cumprod(axis).apply((x,))[0]
