"""Joining arrays along the third axis."""
import itertools

from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.array import split_axis
from chainer.utils import type_check
from chainer.variable import Variable


class Dstack(function_node.FunctionNode):
    """Arrays joined along the third axis (see :func:`dstack`)."""

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        type_check.argname(in_types, tuple(f'x{i}' for i in range(len(in_types))))
        ndim = type_check.eval(in_types[0].ndim)
        for in_type in in_types[1:]:
            type_check.expect(
                in_types[0].dtype == in_type.dtype,
                in_types[0].ndim == in_type.ndim,
            )
            if ndim <= 2:
                type_check.expect(in_types[0].shape == in_type.shape)
                continue
            for d in range(ndim):
                if d != 2:
                    type_check.expect(in_types[0].shape[d] == in_type.shape[d])

    def forward(self, inputs):
        self._shapes = [x.shape for x in inputs]
        return backend.get_array_module(*inputs).dstack(inputs),

    def backward(self, indexes, grad_outputs):
        ndim = len(self._shapes[0])
        lengths = [shape[2] if ndim > 2 else 1 for shape in self._shapes]
        gxs = split_axis.split_axis(grad_outputs[0], list(itertools.accumulate(lengths))[:-1], 2)
        if ndim > 2:
            return gxs
        return tuple(F.reshape(gx, self._shapes[0]) for gx in gxs)


def dstack(xs) -> Variable:
    """Join arrays along the third axis, matrices and vectors as layers of it.

    Args:
        xs (list or tuple of Variables or arrays): of one dtype, and of one shape but for the third
            axis.

    Returns:
        Variable: the joined array, of at least three dimensions.

    Raises:
        InvalidType: if shapes or dtypes do not fit, or ``xs`` is empty.

    >>> x = np.arange(6).reshape(2, 3)
    >>> F.dstack((x, x)).shape
    (2, 3, 2)
    >>> F.dstack((np.arange(3), np.arange(3) + 10)).array
    array([[[ 0, 10],
            [ 1, 11],
            [ 2, 12]]])
    """
    return Dstack().apply(xs)[0]
