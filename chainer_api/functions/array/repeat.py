"""Repeating elements."""
import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainer.variable import Variable


class Repeat(function_node.FunctionNode):
    """Elements repeated along an axis (see :func:`repeat`)."""

    def __init__(self, repeats, axis=None):
        if isinstance(repeats, int):
            repeats = repeats,
        elif not (isinstance(repeats, tuple) and all(isinstance(r, int) for r in repeats)):
            raise TypeError('repeats must be int or tuple of ints')
        repeats = tuple([int(r) for r in repeats])  # a bool counts as 0 or 1
        if not all(r >= 0 for r in repeats):
            raise ValueError('all elements in repeats must be zero or larger')
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise TypeError('axis must be int or None')
        self.repeats = repeats
        self.axis = axis

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))  # exporters look at its shape
        self._shape = x.shape
        repeats = self.repeats[0] if len(self.repeats) == 1 else self.repeats
        return backend.get_array_module(x).repeat(x, repeats, self.axis),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        axis = self.axis
        shape = self._shape
        if axis is None:
            axis, shape = 0, (numpy.prod(shape, dtype=int),)
        axis %= len(shape)
        if len(self.repeats) == 1:
            r, = self.repeats
            gx = F.sum(F.reshape(gy, (*shape[:axis + 1], r, *shape[axis + 1:])), axis=axis + 1)
        else:
            gx = _RepeatGrad(self.repeats, axis).apply(grad_outputs)[0]
        return F.reshape(gx, self._shape),


class _RepeatGrad(function_node.FunctionNode):
    """Sums each run of repeated elements."""

    def __init__(self, repeats, axis):
        self.repeats = repeats
        self.axis = axis

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        before = (slice(None),) * self.axis
        ends = numpy.cumsum(self.repeats).tolist()
        return xp.stack([
            gy[(*before, slice(end - r, end))].sum(axis=self.axis)
            for r, end in zip(self.repeats, ends, strict=True)], axis=self.axis),

    def backward(self, indexes, grad_outputs):
        return Repeat(self.repeats, self.axis).apply(grad_outputs)


def repeat(x, repeats, axis=None) -> Variable:
    """Repeat each element along an axis.

    Args:
        x (Variable or array): the array.
        repeats (int or tuple of ints): how often; a tuple has one number for each element of the
            axis, or one for all.
        axis (int or None): the axis; ``None`` flattens ``x`` first.

    Returns:
        Variable: the repeated array.

    Raises:
        TypeError: if an argument is something else.
        ValueError: if a number is negative, or there are too few or too many.
        AxisError: if there is no such axis.

    >>> x = np.array([[1, 2], [3, 4]])
    >>> F.repeat(x, 2).array
    array([1, 1, 2, 2, 3, 3, 4, 4])
    >>> F.repeat(x, (1, 2), axis=0).array
    array([[1, 2],
           [3, 4],
           [3, 4]])
    """
    return Repeat(repeats, axis).apply((x,))[0]
