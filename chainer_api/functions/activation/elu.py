"""Exponential linear unit."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class ELU(function_node.FunctionNode):
    """Exponential linear unit (see :func:`elu`)."""

    def __init__(self, alpha=1.0):
        self.alpha = float(alpha)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        # Both sides are zero where the other one counts: faster than where, which branches.
        y = xp.maximum(x, 0) + self.alpha * xp.expm1(xp.minimum(x, 0))
        return utils.force_array(y),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return _ELUGrad(self.alpha).apply((x, grad_outputs[0]))


class _ELUGrad(function_node.FunctionNode):

    def __init__(self, alpha):
        self.alpha = alpha

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        xp = backend.get_array_module(x)
        positive = x > 0
        slopes = positive + ~positive * (self.alpha * xp.exp(xp.minimum(x, 0)))
        return utils.force_array(gy * slopes),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        g, = grad_outputs
        g_gy, = _ELUGrad(self.alpha).apply((x, g))
        g_x = None
        if 0 in indexes:
            # The slope of exp is itself; that of the linear side is zero.
            g_x = F.relu(-F.sign(x.array)) * g_gy * gy
        return g_x, g_gy if 1 in indexes else None


def elu(x, alpha=1.0) -> Variable:
    r"""Exponential linear unit.

    .. math:: y = x \;(x \ge 0), \quad y = \alpha (e^x - 1) \;(x < 0)

    See: `Clevert, Unterthiner and Hochreiter, Fast and Accurate Deep Network Learning by
    Exponential Linear Units <https://arxiv.org/abs/1511.07289>`_.

    Args:
        x (Variable or array): floating-point array of any shape.
        alpha (float): minus the value at minus infinity.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.elu(np.array([-1, 0, 2], np.float32)).array.round(4)
    array([-0.6321,  0.    ,  2.    ], dtype=float32)
    """
    return ELU(alpha).apply((x,))[0]
