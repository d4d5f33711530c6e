"""Transposition."""
import numpy

from chainer import function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Transpose(function_node.FunctionNode):
    """Permutation of axes (see :func:`transpose`)."""

    def __init__(self, axes=None):
        self.axes = axes

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    @property
    def label(self):
        return 'Transpose'

    def forward(self, inputs):
        x, = inputs
        return x.transpose(self.axes),

    def backward(self, indexes, grad_outputs):
        axes = self.axes
        if axes is not None:
            axes = tuple([int(a) for a in numpy.argsort([a % len(axes) for a in axes])])
        return Transpose(axes).apply(grad_outputs)


def transpose(x, axes=None) -> Variable:
    """Permute the axes of an array.

    Args:
        x (Variable or array): Any shape and dtype.
        axes (tuple of int): For each axis of the result, the axis of ``x``; reversed by default.

    Returns:
        Variable: The permuted array (a view).

    .. doctest::

        >>> F.transpose(np.zeros((2, 3, 4)), (1, 0, 2)).shape
        (3, 2, 4)
    """
    return Transpose(axes).apply((x,))[0]
