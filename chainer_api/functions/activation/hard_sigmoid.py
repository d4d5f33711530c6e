"""Piecewise linear approximation of the sigmoid."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class HardSigmoid(function_node.FunctionNode):
    """Piecewise linear sigmoid (see :func:`hard_sigmoid`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        return utils.force_array(xp.minimum(xp.maximum(x * 0.2 + 0.5, 0), 1)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return _HardSigmoidGrad(x.array).apply(grad_outputs)


class _HardSigmoidGrad(function_node.FunctionNode):

    def __init__(self, x):
        self.x = x

    def forward(self, inputs):
        gy, = inputs
        x = backend.get_array_module(gy).asarray(self.x)
        return utils.force_array(gy * (abs(x) < 2.5) * 0.2),

    def backward(self, indexes, grad_outputs):
        return _HardSigmoidGrad(self.x).apply(grad_outputs)


def hard_sigmoid(x) -> Variable:
    """Piecewise linear sigmoid, ``0.2 x + 0.5`` clipped to [0, 1].

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.hard_sigmoid(np.array([-2.6, -1, 0, 1, 2.6])).array
    array([0. , 0.3, 0.5, 0.7, 1. ])
    """
    return HardSigmoid().apply((x,))[0]
