"""Rectified linear unit with slopes that are learned."""
from chainer import function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class PReLUFunction(function_node.FunctionNode):
    """Parametric rectified linear unit (see :func:`prelu`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 'W'))
        x_type, w_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            w_type.dtype == x_type.dtype,
            x_type.ndim >= w_type.ndim + 1,
            x_type.shape[1:1 + type_check.eval(w_type.ndim)] == w_type.shape,
        )

    def forward(self, inputs):
        x, W = inputs
        self.retain_inputs((0, 1))
        return utils.force_array(x * _slopes(x, W, x < 0)),

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        return _PReLUGrad().apply((x, W, grad_outputs[0]))


class _PReLUGrad(function_node.FunctionNode):
    """``(x, W, gy) -> (gx, gW)``."""

    def forward(self, inputs):
        self.retain_inputs((0, 1, 2))
        x, W, gy = inputs
        negative = x < 0
        self.negative = utils.force_array(negative, x.dtype)
        gx = utils.force_array(gy * _slopes(x, W, negative))
        gW = (gy * x * self.negative).sum(axis=_other_axes(W, x))
        return gx, utils.force_array(gW)

    def backward(self, indexes, grad_outputs):
        x, W, gy = self.get_retained_inputs()
        g_gx, g_gW = grad_outputs
        negative = self.negative
        g_x, g_W, g_gy = [], [], []
        if g_gx is not None:
            slopes = F.broadcast_to(_spread(W, x), x.shape)
            g_gy.append(g_gx * (1 + (slopes - 1) * negative))
            g_W.append(F.sum(g_gx * gy * negative, axis=_other_axes(W, x)))
        if g_gW is not None:
            spread = F.broadcast_to(_spread(g_gW, x), x.shape) * negative
            g_gy.append(spread * x)
            g_x.append(spread * gy)
        return tuple(F.add(*gs) if len(gs) > 1 else gs[0] if gs else None
                     for gs in (g_x, g_W, g_gy))


def _slopes(x, W, negative):
    """W where ``x`` is negative, else one: faster than ``where``, which branches."""
    return negative * _spread(W, x) + ~negative


def _spread(W, x):
    """W, whose axes are those of x from the second on, in a shape that broadcasts to x's."""
    return W.reshape((1,) + W.shape + (1,) * (x.ndim - W.ndim - 1))


def _other_axes(W, x):
    return (0,) + tuple(range(1 + W.ndim, x.ndim))


def prelu(x, W) -> Variable:
    r"""Rectified linear unit with slopes that are learned.

    .. math:: y = x \;(x \ge 0), \quad y = W x \;(x < 0)

    ``W`` is shared along the first axis of ``x`` and along the axes that it does not have:
    for images of shape ``(B, C, H, W)``, slopes of shape ``(C,)`` are one for each channel.
    See: `He et al., Delving Deep into Rectifiers <https://arxiv.org/abs/1502.01852>`_.

    Args:
        x (Variable or array): floating-point array.
        W (Variable or array): slopes, of the dtype of ``x`` and the shape
            ``x.shape[1:1 + W.ndim]``.

    Returns:
        Variable: of the shape and dtype of ``x``. The gradient at 0 is that of the right side.

    Raises:
        InvalidType: if a shape or dtype does not fit.

    .. seealso:: :class:`chainer.links.PReLU`

    >>> x = np.array([[-2, 1], [3, -4]], np.float32)
    >>> F.prelu(x, np.array([.5, .25], np.float32)).array
    array([[-1.,  1.],
           [ 3., -1.]], dtype=float32)
    """
    return PReLUFunction().apply((x, W))[0]
