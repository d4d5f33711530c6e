"""Joining arrays side by side."""
import itertools

from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.array import split_axis
from chainer.utils import type_check
from chainer.variable import Variable


class Hstack(function_node.FunctionNode):
    """Arrays joined along the second axis (see :func:`hstack`)."""

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        type_check.argname(in_types, tuple(f'x{i}' for i in range(len(in_types))))
        ndim = type_check.eval(in_types[0].ndim)
        for in_type in in_types[1:]:
            type_check.expect(
                in_types[0].dtype == in_type.dtype,
                in_types[0].ndim == in_type.ndim,
            )
            for d in range(ndim):
                if ndim > 1 and d != 1:
                    type_check.expect(in_types[0].shape[d] == in_type.shape[d])

    def forward(self, inputs):
        self._shapes = [x.shape for x in inputs]
        return backend.get_array_module(*inputs).hstack(inputs),

    def backward(self, indexes, grad_outputs):
        ndim = len(self._shapes[0])
        axis = 1 if ndim > 1 else 0
        lengths = [shape[axis] if ndim else 1 for shape in self._shapes]
        gxs = split_axis.split_axis(
            grad_outputs[0], list(itertools.accumulate(lengths))[:-1], axis)
        return gxs if ndim else tuple(F.reshape(gx, ()) for gx in gxs)


def hstack(xs) -> Variable:
    """Join arrays side by side: along the second axis, vectors along their only one.

    Args:
        xs (list or tuple of Variables or arrays): of one dtype, and of one shape but for that
            axis. Arrays without dimensions count as vectors of length one.

    Returns:
        Variable: the joined array.

    Raises:
        InvalidType: if shapes or dtypes do not fit, or ``xs`` is empty.

    >>> x = np.arange(4).reshape(2, 2)
    >>> F.hstack((x, x + 10)).array
    array([[ 0,  1, 10, 11],
           [ 2,  3, 12, 13]])
    """
    return Hstack().apply(xs)[0]
