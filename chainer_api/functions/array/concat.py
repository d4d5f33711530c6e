"""Joining arrays along an axis."""
from chainer import backend, function_node
from chainer.functions.array import split_axis
from chainer.utils import type_check
from chainer.variable import Variable


class Concat(function_node.FunctionNode):
    """Arrays joined along an axis (see :func:`concat`)."""

    def __init__(self, axis=1):
        if not isinstance(axis, int):
            raise TypeError('axis must be int')
        self.axis = axis

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        type_check.expect(in_types[0].ndim > type_check.make_variable(self.axis, 'axis'))
        type_check.expect(-in_types[0].ndim <= self.axis)
        ndim = type_check.eval(in_types[0].ndim)
        axis = self.axis % ndim
        for i in range(1, type_check.eval(in_types.size())):
            type_check.expect(
                in_types[0].dtype == in_types[i].dtype,
                in_types[0].ndim == in_types[i].ndim,
            )
            for d in range(ndim):
                if d != axis:
                    type_check.expect(in_types[0].shape[d] == in_types[i].shape[d])

    def forward(self, inputs):
        self._lengths = [x.shape[self.axis] for x in inputs]
        xp = backend.get_array_module(*inputs)
        return xp.concatenate(inputs, axis=self.axis),

    def backward(self, indexes, grad_outputs):
        if len(self._lengths) == 1:
            return grad_outputs
        ends = []
        for length in self._lengths[:-1]:
            ends.append(length + (ends[-1] if ends else 0))
        return split_axis.split_axis(grad_outputs[0], ends, self.axis)


def concat(xs, axis=1) -> Variable:
    """Join arrays along an axis that they have.

    Args:
        xs (list or tuple of Variables or arrays): of one dtype, and of one shape but for ``axis``.
        axis (int): the axis along which they are joined.

    Returns:
        Variable: the joined array.

    Raises:
        InvalidType: if shapes or dtypes do not fit, or ``xs`` is empty.
        TypeError: if ``axis`` is no int.

    >>> x = np.arange(6).reshape(2, 3)
    >>> F.concat([x, x[:, :1]]).array
    array([[0, 1, 2, 0],
           [3, 4, 5, 3]])
    """
    return Concat(axis).apply(xs)[0]
