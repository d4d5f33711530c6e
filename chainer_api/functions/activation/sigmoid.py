"""Logistic sigmoid."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


def of_array(xp, x):
    """The sigmoid of an array: by tanh, which does not overflow."""
    return xp.tanh(x * 0.5) * 0.5 + 0.5


class Sigmoid(function_node.FunctionNode):
    """Logistic sigmoid (see :func:`sigmoid`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_outputs((0,))
        return utils.force_array(of_array(xp, x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        return _SigmoidGrad().apply((y, grad_outputs[0]))


class _SigmoidGrad(function_node.FunctionNode):

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        y, gy = inputs
        return utils.force_array(gy * y * (1 - y)),

    def backward(self, indexes, grad_outputs):
        y, gy = self.get_retained_inputs()
        g, = grad_outputs
        g_y = g * gy * (1 - 2 * y) if 0 in indexes else None
        g_gy = _SigmoidGrad().apply((y, g))[0] if 1 in indexes else None
        return g_y, g_gy


def sigmoid(x) -> Variable:
    r"""Logistic sigmoid, :math:`1 / (1 + e^{-x})`.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``, with values in [0, 1].

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.sigmoid(np.arange(-2, 3, 2, np.float32)).array.round(4)
    array([0.1192, 0.5   , 0.8808], dtype=float32)
    """
    return Sigmoid().apply((x,))[0]
