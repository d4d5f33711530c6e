"""Hyperbolic tangent."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class Tanh(function_node.FunctionNode):
    """Hyperbolic tangent (see :func:`tanh`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(backend.get_array_module(x).tanh(x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        return _TanhGrad().apply((y, grad_outputs[0]))


class _TanhGrad(function_node.FunctionNode):

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        y, gy = inputs
        return utils.force_array(gy * (1 - y * y)),

    def backward(self, indexes, grad_outputs):
        y, gy = self.get_retained_inputs()
        g, = grad_outputs
        g_y = g * gy * y * -2 if 0 in indexes else None
        g_gy = _TanhGrad().apply((y, g))[0] if 1 in indexes else None
        return g_y, g_gy


def tanh(x) -> Variable:
    """Hyperbolic tangent of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``, with values in [-1, 1].

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.tanh(np.array([-1, 0, 1], np.float32)).array.round(4)
    array([-0.7616,  0.    ,  0.7616], dtype=float32)
    """
    return Tanh().apply((x,))[0]
