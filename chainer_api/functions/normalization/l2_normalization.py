"""Normalization to length one."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class NormalizeL2(function_node.FunctionNode):
    """Normalization to length one (see :func:`normalize`)."""

    def __init__(self, eps=1e-5, axis=1):
        self.eps = float(eps)  # a scalar of NumPy would make float64 arrays
        self.axis = (axis,) if isinstance(axis, int) else axis

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        xp = backend.get_array_module(x)
        norm = xp.sqrt(xp.square(x).sum(axis=self.axis, keepdims=True)) + self.eps
        return utils.force_array(x / norm),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return _NormalizeL2Grad(self.eps, self.axis).apply((x, grad_outputs[0]))


class _NormalizeL2Grad(function_node.FunctionNode):

    def __init__(self, eps, axis):
        self.eps = eps
        self.axis = axis

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        xp = backend.get_array_module(x)
        length = xp.sqrt(xp.square(x).sum(axis=self.axis, keepdims=True))
        norm = length + self.eps
        along = (x * gy).sum(axis=self.axis, keepdims=True)
        # A vector of zeros has no direction to be turned to.
        along = along / (xp.where(length == 0, 1, length) * norm)
        return utils.force_array((gy - x * along) / norm),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        ggx, = grad_outputs
        g_x = g_gy = None
        if 1 in indexes:
            # As a function of gy this is symmetric.
            g_gy, = _NormalizeL2Grad(self.eps, self.axis).apply((x, ggx))
        if 0 in indexes:
            g_x = self._grad_x(x, gy, ggx)
        return tuple((g_x, g_gy)[i] for i in indexes)

    def _grad_x(self, x, gy, ggx):
        def wide(v):
            return F.broadcast_to(v, x.shape)

        def total(v):
            return F.sum(v, axis=self.axis, keepdims=True)

        squares = total(x * x)
        is_zero = _IsZero().apply((squares,))[0]
        length = F.sqrt(squares + is_zero)
        norm = length - is_zero + self.eps
        xy, xg, yg = total(x * gy), total(x * ggx), total(gy * ggx)
        # <ggx, gx> = yg / norm - xy xg / (length norm^2)
        by_length = -yg / norm ** 2 + xy * xg * (
            1. / (length ** 2 * norm ** 2) + 2. / (length * norm ** 3))
        straight = -1. / (length * norm ** 2)
        return (wide(by_length / length) * x
                + wide(straight * xg) * gy + wide(straight * xy) * ggx)


class _IsZero(function_node.FunctionNode):
    """One where the input is zero, else zero; constant for gradients."""

    def forward(self, inputs):
        x, = inputs
        return utils.force_array(x == 0, x.dtype),

    def backward(self, indexes, grad_outputs):
        return None,


def normalize(x, eps=1e-5, axis=1) -> Variable:
    r"""Divide vectors by their length (L2 norm).

    .. math:: y_i = \frac{x_i}{\lVert x_i \rVert_2 + \epsilon}

    Args:
        x (Variable or array): Floating-point array.
        eps (float): Added to the length, which may be zero.
        axis (int or tuple of ints): The axis (or axes) along which a vector extends.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        InvalidType: If ``x`` is no floating-point array.

    >>> F.normalize(np.array([[3, 4], [0, 0]], np.float32), eps=0.1).array.round(3)
    array([[0.588, 0.784],
           [0.   , 0.   ]], dtype=float32)
    """
    return NormalizeL2(eps, axis).apply((x,))[0]
