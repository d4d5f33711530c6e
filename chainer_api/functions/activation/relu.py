"""Rectified linear unit."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class ReLU(function_node.FunctionNode):
    """Rectified linear unit (see :func:`relu`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(backend.get_array_module(x).maximum(x, 0)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        return _ReLUGrad(y.array).apply(grad_outputs)


class _ReLUGrad(function_node.FunctionNode):
    """Passes what stands where ``y`` is positive; linear, so it is its own gradient."""

    def __init__(self, y):
        self.y = y

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        return utils.force_array(gy * (xp.asarray(self.y) > 0)),

    def backward(self, indexes, grad_outputs):
        return _ReLUGrad(self.y).apply(grad_outputs)


def relu(x) -> Variable:
    """Rectified linear unit, ``max(0, x)``.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``. The gradient at 0 is 0.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> x = np.array([[-1, 0], [2, -3], [-2, 1]], np.float32)
    >>> F.relu(x).array
    array([[0., 0.],
           [2., 0.],
           [0., 1.]], dtype=float32)
    """
    return ReLU().apply((x,))[0]
