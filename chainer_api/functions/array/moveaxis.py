"""Moving axes."""
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Moveaxis(function_node.FunctionNode):
    """Moves axes (see :func:`moveaxis`)."""

    def __init__(self, source, destination):
        self.source = _axes('source', source)
        self.destination = _axes('destination', destination)
        if len(self.source) != len(self.destination):
            raise ValueError(
                '`source` and `destination` arguments must have the same number of elements')

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        for axis in self.source + self.destination:
            if axis >= 0:
                type_check.expect(axis < x_type.ndim)
            else:
                type_check.expect(-axis <= x_type.ndim)

    def forward(self, inputs):
        x, = inputs
        for name in 'source', 'destination':
            axes = getattr(self, name)
            if len({axis % x.ndim for axis in axes}) != len(axes):
                raise ValueError(f'repeated axis in `{name}` argument')
        xp = backend.get_array_module(x)
        return xp.moveaxis(x, self.source, self.destination),

    def backward(self, indexes, grad_outputs):
        return Moveaxis(self.destination, self.source).apply(grad_outputs)


def _axes(name, given):
    axes = given if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(axis, int) for axis in axes):
        raise TypeError(f'{name} must be int or a tuple of ints, not {given!r}')
    return tuple(axes)


def moveaxis(x, source, destination) -> Variable:
    """Move axes to new places; the others keep their order.

    Args:
        x (Variable or array): the array.
        source (int or tuple of ints): where the axes stand.
        destination (int or tuple of ints): where each of them shall stand.

    Returns:
        Variable: a view of ``x`` with its axes reordered.

    Raises:
        InvalidType: if there is no such axis.
        ValueError: if an axis is named twice, or the two lengths differ.
        TypeError: if an axis is no int.

    >>> F.moveaxis(np.zeros((2, 3, 4, 5)), (0, 1), (-1, 1)).shape
    (4, 3, 5, 2)
    """
    return Moveaxis(source, destination).apply((x,))[0]
