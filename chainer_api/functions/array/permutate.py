"""Reordering along an axis."""
import chainer
from chainer import backend, function_node
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class Permutate(function_node.FunctionNode):
    """Slices reordered along an axis (see :func:`permutate`)."""

    def __init__(self, axis=0, inv=False):
        self.axis = axis
        self.inv = inv

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 'indices'))
        x_type, indices_type = in_types
        if self.axis >= 0:
            type_check.expect(x_type.ndim > self.axis)
        else:
            type_check.expect(x_type.ndim >= -self.axis)
        type_check.expect(x_type.shape[self.axis] == indices_type.shape[0])

    def forward(self, inputs):
        x, indices = inputs
        if chainer.is_debug():
            _check_permutation(indices)
        self.retain_inputs((1,))
        self.indices = indices
        xp = backend.get_array_module(x)
        if self.inv:
            inverse = xp.zeros_like(indices)  # no garbage where a trace has no permutation
            inverse[indices] = xp.arange(indices.size, dtype=indices.dtype)
            indices = inverse
        return xp.take(x, indices, axis=self.axis),

    def backward(self, indexes, grad_outputs):
        indices, = self.get_retained_inputs()
        gx, = Permutate(self.axis, not self.inv).apply((grad_outputs[0], indices))
        return gx, None


def _check_permutation(indices):
    seen = set()
    for i in indices.tolist():
        if not 0 <= i < indices.size:
            raise ValueError(f'Out of bounds index: {i}')
        if i in seen:
            raise ValueError(f'indices contains duplicate value: {i}')
        seen.add(i)


def permutate(x, indices, axis=0, inv=False) -> Variable:
    """Reorder the slices along an axis: slice ``i`` of the result is slice ``indices[i]`` of ``x``.

    Args:
        x (Variable or array): the array.
        indices (Variable or array): a permutation of ``0 .. x.shape[axis] - 1``.
        axis (int): the axis.
        inv (bool): whether to apply the inverse: slice ``i`` of ``x`` goes to ``indices[i]``.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if there is no such axis, or its length differs from that of ``indices``.
        ValueError: if ``indices`` is no vector of integers or, in debug mode, no permutation.

    >>> x = np.array([[1, 2], [3, 4], [5, 6]])
    >>> F.permutate(x, np.array([2, 0, 1])).array
    array([[5, 6],
           [1, 2],
           [3, 4]])
    >>> F.permutate(x, np.array([2, 0, 1]), inv=True).array
    array([[3, 4],
           [5, 6],
           [1, 2]])
    """
    _errors.check_arrays('permutate', x=x, indices=indices)
    if indices.dtype.kind != 'i' or indices.ndim != 1:
        raise ValueError('indices should be a one-dimensional int array')
    return Permutate(axis, inv).apply((x, indices))[0]
