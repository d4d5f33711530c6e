"""Product over axes."""
from chainer import function_node
from chainer import functions as F
from chainer.functions.math import _axes
from chainer.utils import _plain, type_check
from chainer.variable import Variable


class Prod(function_node.FunctionNode):
    """Product over axes (see :func:`prod`)."""

    def __init__(self, axis=None, keepdims=False):
        self.axis = _axes.as_tuple(axis)
        self.keepdims = keepdims

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, self.axis)

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return _plain.plain_array(x.prod(axis=self.axis, keepdims=self.keepdims)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        # All reduced axes as one, the last.
        axes = range(x.ndim) if self.axis is None else sorted({a % x.ndim for a in self.axis})
        order = [a for a in range(x.ndim) if a not in axes] + list(axes)
        moved = F.transpose(x, order) if x.ndim else x
        n = x.ndim - len(axes)
        rest = moved.shape[:n]
        length = 1
        for size in moved.shape[n:]:
            length *= size
        flat = F.reshape(moved, (*rest, length))
        gy = F.reshape(gy, (*rest, 1))
        gx = F.reshape(F.broadcast_to(gy, flat.shape) * _product_of_others(flat), moved.shape)
        return F.transpose(gx, sorted(range(x.ndim), key=order.__getitem__)) if x.ndim else gx,


def _product_of_others(x):
    """For each element, the product of all others along the last axis; no division by zero."""
    one = 1 + 0 * x[..., :1]
    before = F.cumprod(F.concat((one, x[..., :-1]), axis=-1), axis=-1)
    after = F.cumprod(F.concat((one, F.flip(x, -1)[..., :-1]), axis=-1), axis=-1)
    return before * F.flip(after, -1)


def prod(x, axis=None, keepdims=False) -> Variable:
    """Product of elements, over all or some axes.

    Args:
        x (Variable or array): floating-point array.
        axis (None, int or tuple of ints): axes to multiply over; all by default.
        keepdims (bool): whether the axes stay, with length one.

    Returns:
        Variable: of the dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if an axis is named twice.

    >>> F.prod(np.array([[1., 2.], [3., 4.]]), axis=1).array
    array([ 2., 12.])
    """
    return Prod(axis, keepdims).apply((x,))[0]
