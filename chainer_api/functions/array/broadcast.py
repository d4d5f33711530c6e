"""Broadcasting."""
import chainer
from chainer import backend, function_node
from chainer.utils import _errors, type_check
from chainer.variable import Variable
from chainwright.runtime import kernels


class Broadcast(function_node.FunctionNode):
    """Broadcasting of arrays together (see :func:`broadcast`)."""

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        type_check.expect_broadcast_shapes(*[x.shape for x in in_types])

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        return tuple(xp.broadcast_arrays(*inputs))

    def backward(self, indexes, grad_outputs):
        inputs = self.inputs
        return tuple([
            None if grad_outputs[i] is None
            else chainer.functions.sum_to(grad_outputs[i], inputs[i].shape)
            for i in indexes])


def broadcast(*args):
    """Broadcast arrays together.

    Args:
        args (Variables or arrays): Any dtypes; shapes that broadcast together.

    Returns:
        Variable or tuple of Variable: All of the common shape.

    .. doctest::

        >>> x, y = F.broadcast(np.zeros((2, 1)), np.ones(3))
        >>> x.shape, y.shape
        ((2, 3), (2, 3))
    """
    if len(args) == 1:
        return chainer.as_variable(args[0])
    return Broadcast().apply(args)


class BroadcastTo(function_node.FunctionNode):
    """Broadcasting to a shape (see :func:`broadcast_to`)."""

    def __init__(self, shape):
        self._shape = tuple(shape)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        shape = self._shape
        ndim = type_check.make_variable(len(shape), 'len(shape)')
        type_check.expect(x_type.ndim <= ndim)
        sizes = type_check.eval(x_type.shape)
        for i in range(-len(sizes), 0):
            if sizes[i] != 1:
                type_check.expect(
                    x_type.shape[i] == type_check.make_variable(shape[i], f'shape[{i}]'))

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        return xp.broadcast_to(x, self._shape),

    def backward(self, indexes, grad_outputs):
        return chainer.functions.sum_to(grad_outputs[0], self.inputs[0].shape),


def broadcast_to(x, shape) -> Variable:
    """Broadcast an array to a shape.

    Args:
        x (Variable or array): Any dtype.
        shape (tuple of int): The shape.

    Returns:
        Variable: Of the shape ``shape``.

    .. doctest::

        >>> F.broadcast_to(np.array([1., 2.]), (2, 2))
        variable([[1., 2.],
                  [1., 2.]])
    """
    try:
        same = x.shape == shape
    except AttributeError:
        _errors.check_arrays('broadcast_to', x=x)
        raise
    if same and not kernels.RECORDING.for_any_sizes:
        return chainer.as_variable(x)
    return BroadcastTo(shape).apply((x,))[0]
