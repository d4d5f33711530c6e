"""Hurwitz zeta function."""
from chainer import function_node, utils
from chainer.functions.math import _special
from chainer.utils import type_check
from chainer.variable import Variable


class Zeta(function_node.FunctionNode):
    """Hurwitz zeta function (see :func:`zeta`)."""

    def __init__(self, x):
        self.x = x

    @property
    def label(self):
        return 'zeta'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('q',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        q, = inputs
        self.retain_inputs((0,))
        return utils.force_array(_special.special(q, 'zeta')(self.x, q), q.dtype),

    def backward(self, indexes, grad_outputs):
        q, = self.get_retained_inputs()
        gq, = grad_outputs
        return gq * -self.x * zeta(self.x + 1, q),


def zeta(x, q) -> Variable:
    r"""Hurwitz zeta function, :math:`\sum_{k=0}^\infty (k + q)^{-x}`.

    Args:
        x (int or float): the exponent, above one.
        q (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``q``.

    Raises:
        InvalidType: if ``q`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.zeta(2., np.array([1.])).array
    array([1.64493407])
    """
    return Zeta(x).apply((q,))[0]
