"""Joining arrays one below the other."""
import itertools

from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.array import split_axis
from chainer.utils import type_check
from chainer.variable import Variable


class Vstack(function_node.FunctionNode):
    """Arrays joined along the first axis (see :func:`vstack`)."""

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for in_type in in_types[1:]:
            type_check.expect(
                in_types[0].dtype == in_type.dtype,
                in_types[0].ndim == in_type.ndim,
            )
            if ndim <= 1:
                type_check.expect(in_types[0].shape == in_type.shape)
            for d in range(1, ndim):
                type_check.expect(in_types[0].shape[d] == in_type.shape[d])

    def forward(self, inputs):
        self._shapes = [x.shape for x in inputs]
        return backend.get_array_module(*inputs).vstack(inputs),

    def backward(self, indexes, grad_outputs):
        ndim = len(self._shapes[0])
        lengths = [shape[0] if ndim > 1 else 1 for shape in self._shapes]
        gxs = split_axis.split_axis(grad_outputs[0], list(itertools.accumulate(lengths))[:-1], 0)
        if ndim > 1:
            return gxs
        return tuple(F.reshape(gx, self._shapes[0]) for gx in gxs)


def vstack(xs) -> Variable:
    """Join arrays one below the other: along the first axis, vectors as rows.

    Args:
        xs (list or tuple of Variables or arrays): of one dtype, and of one shape but for the first
            axis; vectors and arrays without dimensions of one shape.

    Returns:
        Variable: the joined array, of at least two dimensions.

    Raises:
        InvalidType: if shapes or dtypes do not fit, or ``xs`` is empty.

    >>> F.vstack((np.arange(3), np.arange(3) + 10)).array
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    return Vstack().apply(xs)[0]
