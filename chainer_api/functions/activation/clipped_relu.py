"""Rectified linear unit with an upper bound."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class ClippedReLU(function_node.FunctionNode):
    """Clipped rectified linear unit (see :func:`clipped_relu`)."""

    def __init__(self, z):
        if not isinstance(z, float):
            raise TypeError('z must be float value')
        self.cap = float(z)  # a numpy.float64 would carry its dtype into the result

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        return utils.force_array(xp.minimum(xp.maximum(x, 0), self.cap)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return _ClippedReLUGrad(x.array, self.cap).apply(grad_outputs)


class _ClippedReLUGrad(function_node.FunctionNode):
    """Passes what stands where ``0 < x < cap``; linear, so it is its own gradient."""

    def __init__(self, x, cap):
        self.x = x
        self.cap = cap

    def forward(self, inputs):
        gy, = inputs
        x = backend.get_array_module(gy).asarray(self.x)
        return utils.force_array(gy * ((x > 0) & (x < self.cap))),

    def backward(self, indexes, grad_outputs):
        return _ClippedReLUGrad(self.x, self.cap).apply(grad_outputs)


def clipped_relu(x, z=20.0) -> Variable:
    """Rectified linear unit with an upper bound, ``min(max(0, x), z)``.

    Args:
        x (Variable or array): floating-point array of any shape.
        z (float): the upper bound, a Python float.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        TypeError: if ``z`` is no float.

    >>> F.clipped_relu(np.array([-50, 3, 50], np.float32), z=10.0).array
    array([ 0.,  3., 10.], dtype=float32)
    """
    return ClippedReLU(z).apply((x,))[0]


def relu6(x) -> Variable:
    """Rectified linear unit that is at most six, ``min(max(0, x), 6)``.

    See: `Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10
    <https://www.cs.utoronto.ca/~kriz/conv-cifar10-aug2010.pdf>`_.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    >>> F.relu6(np.array([-20, 2, 20], np.float32)).array
    array([0., 2., 6.], dtype=float32)
    """
    return clipped_relu(x, 6.0)
