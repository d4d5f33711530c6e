"""Reshape."""
import math

import chainer
from chainer import function_node
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class Reshape(function_node.FunctionNode):
    """Another shape for the same elements (see :func:`reshape`)."""

    def __init__(self, shape):
        self.shape = shape
        unknown = [size for size in shape if size < 0]
        if len(unknown) > 1:
            raise ValueError(f'only one length may be left open (-1), shape is {shape}')

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        if all([size >= 0 for size in self.shape]):
            type_check.expect(type_check.prod(x_type.shape) == type_check.prod(self.shape))
        else:
            known = math.prod([size for size in self.shape if size >= 0])
            size = type_check.make_variable(known, f'known_size(={known})')
            if known:
                type_check.expect(type_check.prod(x_type.shape) % size == 0)
            else:
                type_check.expect(type_check.prod(x_type.shape) == size)

    def forward(self, inputs):
        x, = inputs
        return x.reshape(self.shape),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        return reshape(gy, self.inputs[0].shape),


def reshape(x, shape) -> Variable:
    """Give an array another shape, elements in the same order.

    Args:
        x (Variable or array): Any shape and dtype.
        shape (tuple of int): The shape; one length may be -1, it follows from the others.

    Returns:
        Variable: Of the new shape.

    .. doctest::

        >>> F.reshape(np.arange(6.), (2, -1))
        variable([[0., 1., 2.],
                  [3., 4., 5.]])
    """
    try:
        same = x.shape == shape
    except AttributeError:
        _errors.check_arrays('reshape', x=x)
        raise
    if same:
        return chainer.as_variable(x)
    return Reshape(tuple(shape)).apply((x,))[0]
