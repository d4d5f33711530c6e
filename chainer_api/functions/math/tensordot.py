"""Product of tensors."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class TensorDot(function_node.FunctionNode):
    """Product of tensors (see :func:`tensordot`)."""

    def __init__(self, axes=2):
        self.axes = axes

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a', 'b'))
        a_type, b_type = in_types
        type_check.expect(a_type.dtype.kind == 'f', b_type.dtype.kind == 'f')

    def forward(self, inputs):
        a, b = inputs
        self.retain_inputs((0, 1))
        self._axes = _summed_axes(self.axes, a.shape, b.shape)
        xp = backend.get_array_module(a)
        return xp.asarray(xp.tensordot(a, b, axes=self._axes)),

    def backward(self, indexes, grad_outputs):
        a, b = self.get_retained_inputs()
        gy, = grad_outputs
        a_axes, b_axes = self._axes
        a_rest = [i for i in range(a.ndim) if i not in a_axes]
        b_rest = [i for i in range(b.ndim) if i not in b_axes]
        n = len(a_rest)
        ga = gb = None
        if 0 in indexes:
            # Its axes: what a keeps, then those of b that were summed over, in b's order.
            ga = tensordot(gy, b, axes=(list(range(n, gy.ndim)), b_rest))
            order = a_rest + [a_axes[b_axes.index(i)] for i in sorted(b_axes)]
            ga = F.cast(_to_order(ga, order), a.dtype)
        if 1 in indexes:
            gb = tensordot(a, gy, axes=(a_rest, list(range(n))))
            order = [b_axes[a_axes.index(i)] for i in sorted(a_axes)] + b_rest
            gb = F.cast(_to_order(gb, order), b.dtype)
        return ga, gb


def _to_order(x, order):
    """Transpose ``x``, whose axis ``i`` is to become axis ``order[i]``."""
    if order == sorted(order):
        return x
    return F.transpose(x, sorted(range(len(order)), key=order.__getitem__))


def _summed_axes(axes, a_shape, b_shape):
    """Tuples of the axes of ``a`` and ``b`` that are summed over, none negative."""
    if isinstance(axes, int):
        if axes > min(len(a_shape), len(b_shape)):
            raise ValueError(
                f'dimension of input tensors must be greater equal to dot-axes count ({axes})')
        a_axes, b_axes = tuple(range(len(a_shape) - axes, len(a_shape))), tuple(range(axes))
    else:
        a_axes, b_axes = (
            tuple([i % len(shape) for i in (
                given if isinstance(given, (tuple, list)) else (given,))])
            for given, shape in zip(axes, (a_shape, b_shape), strict=True))
    if len(a_axes) != len(b_axes):
        raise ValueError('axes count mismatch')
    if any(a_shape[i] != b_shape[j] for i, j in zip(a_axes, b_axes, strict=True)):
        raise ValueError('shape mismatch')
    return a_axes, b_axes


def tensordot(a, b, axes=2) -> Variable:
    """Product of two tensors, summed over pairs of their axes.

    Args:
        a (Variable or array): floating-point array.
        b (Variable or array): floating-point array.
        axes (int or pair): number of axes to sum over, the last of ``a`` and the first of ``b``;
            or the axes of ``a`` and those of ``b``, each an int or a sequence of ints.

    Returns:
        Variable: the other axes of ``a``, and then those of ``b``.

    Raises:
        InvalidType: if an argument is no floating-point array.
        ValueError: if the axes do not fit.
        TypeError: if ``axes`` is something else.

    >>> a, b = np.ones((5, 2, 3)), np.ones((2, 3, 4))
    >>> F.tensordot(a, b).shape
    (5, 4)
    >>> F.tensordot(a, b, axes=(2, 1)).shape
    (5, 2, 2, 4)
    """
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ValueError(
                'axes must be a pair of sequence of integers when it is a list or tuple.')
    elif not isinstance(axes, int):
        raise TypeError('axes must be a pair of sequence of integers or an integer')
    return TensorDot(axes).apply((a, b))[0]
