"""Taking an array apart along an axis."""
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class Separate(function_node.FunctionNode):
    """The slices of an array along an axis (see :func:`separate`)."""

    def __init__(self, axis):
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        if self.axis >= 0:
            type_check.expect(self.axis < x_type.ndim)
        else:
            type_check.expect(-self.axis <= x_type.ndim)

    def forward(self, inputs):
        x, = inputs
        before = (slice(None),) * (self.axis % x.ndim)
        ys = tuple(x[(*before, i, ...)] for i in range(x.shape[self.axis]))
        self._shape = x.shape
        return ys

    def backward(self, indexes, grad_outputs):
        present = [i for i, gy in enumerate(grad_outputs) if gy is not None]
        return _SeparateGrad(self._shape, present, self.axis).apply(
            [grad_outputs[i] for i in present])


class _SeparateGrad(function_node.FunctionNode):
    """Stacks the slices that are ``present``; the others are zeros."""

    def __init__(self, shape, present, axis):
        self.shape = shape
        self.present = present
        self.axis = axis

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        if len(inputs) == self.shape[self.axis]:
            return xp.stack(inputs, axis=self.axis),
        gx = xp.zeros(self.shape, inputs[0].dtype)
        before = (slice(None),) * (self.axis % len(self.shape))
        for i, gy in zip(self.present, inputs, strict=True):
            gx[(*before, i)] = gy
        return gx,

    def backward(self, indexes, grad_outputs):
        gs = separate(grad_outputs[0], self.axis)
        return tuple(gs[i] for i in self.present)


def separate(x, axis=0) -> tuple[Variable, ...]:
    """Take an array apart along an axis, which the pieces do not have any more.

    Args:
        x (Variable or array): array of at least one dimension.
        axis (int): the axis along which it is taken apart.

    Returns:
        tuple of Variables: ``x.shape[axis]`` slices.

    Raises:
        InvalidType: if there is no such axis.

    .. seealso:: :func:`chainer.functions.stack`

    >>> x = np.arange(6).reshape(2, 3)
    >>> [y.array.tolist() for y in F.separate(x)]
    [[0, 1, 2], [3, 4, 5]]
    >>> [y.array.tolist() for y in F.separate(x, axis=1)]
    [[0, 3], [1, 4], [2, 5]]
    """
    return Separate(axis).apply((x,))
