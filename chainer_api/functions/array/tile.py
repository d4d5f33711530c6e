"""Repeating an array as a whole."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Tile(function_node.FunctionNode):
    """An array repeated as a whole (see :func:`tile`)."""

    def __init__(self, reps):
        if isinstance(reps, int):
            reps = reps,
        elif not (isinstance(reps, tuple) and all(isinstance(r, int) for r in reps)):
            raise TypeError(f'reps must be int or tuple of ints.\nActual: {type(reps)}')
        if not all(r >= 0 for r in reps):
            raise ValueError('All elements in reps must be zero or larger')
        self.reps = reps

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)

    def forward(self, inputs):
        x, = inputs
        self._shape = x.shape
        return backend.get_array_module(x).tile(x, self.reps),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        ndim = max(len(self.reps), len(self._shape))
        reps = (1,) * (ndim - len(self.reps)) + self.reps
        shape = (1,) * (ndim - len(self._shape)) + self._shape
        # Axes in pairs: which copy, and where in it.
        pairs = [n for pair in zip(reps, shape, strict=True) for n in pair]
        gx = F.sum(F.reshape(gy, pairs), axis=tuple(range(0, 2 * ndim, 2)))
        return F.reshape(gx, self._shape),


def tile(x, reps) -> Variable:
    """Repeat an array as a whole along its axes.

    Args:
        x (Variable or array): the array.
        reps (int or tuple of ints): how often, for each axis. The shorter of ``reps`` and
            ``x.shape`` is filled up with ones in front.

    Returns:
        Variable: the repeated array.

    Raises:
        TypeError: if ``reps`` is something else.
        ValueError: if a number is negative.

    >>> F.tile(np.array([0, 1]), 2).array
    array([0, 1, 0, 1])
    >>> F.tile(np.array([0, 1]), (2, 1)).array
    array([[0, 1],
           [0, 1]])
    """
    return Tile(reps).apply((x,))[0]
