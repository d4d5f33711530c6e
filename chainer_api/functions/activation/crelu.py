"""Concatenated rectified linear unit."""
from chainer import backend, function_node
from chainer.functions.activation import relu
from chainer.functions.array import split_axis
from chainer.utils import type_check
from chainer.variable import Variable


class CReLU(function_node.FunctionNode):
    """Concatenated rectified linear unit (see :func:`crelu`)."""

    def __init__(self, axis=1):
        if not isinstance(axis, int):
            raise TypeError('axis must be an integer value')
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim > self.axis)
        if self.axis < 0:
            type_check.expect(x_type.ndim >= -self.axis)

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_outputs((0,))
        return xp.concatenate((xp.maximum(x, 0), xp.maximum(-x, 0)), axis=self.axis),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        g, = relu._ReLUGrad(y.array).apply(grad_outputs)
        g_pos, g_neg = split_axis.split_axis(g, 2, self.axis)
        return g_pos - g_neg,


def crelu(x, axis=1) -> Variable:
    """Concatenated rectified linear unit: ``relu(x)`` and ``relu(-x)``, joined along an axis.

    See: `Shang et al., Understanding and Improving Convolutional Neural Networks via
    Concatenated Rectified Linear Units <https://arxiv.org/abs/1603.05201>`_.

    Args:
        x (Variable or array): floating-point array.
        axis (int): the axis that doubles.

    Returns:
        Variable: of the dtype of ``x`` and its shape, ``axis`` twice as long.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        TypeError: if ``axis`` is no int.

    >>> F.crelu(np.array([[-1, 0], [2, -3]], np.float32)).array
    array([[0., 0., 1., 0.],
           [2., 0., 0., 3.]], dtype=float32)
    """
    return CReLU(axis).apply((x,))[0]
