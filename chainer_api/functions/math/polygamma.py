"""Polygamma function."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.math import _special
from chainer.utils import type_check
from chainer.variable import Variable


class PolyGamma(function_node.FunctionNode):
    """Polygamma function (see :func:`polygamma`)."""

    label = 'polygamma'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('n', 'x'))
        n_type, x_type = in_types
        type_check.expect(n_type.dtype.kind == 'i', x_type.dtype.kind == 'f')

    def forward(self, inputs):
        n, x = inputs
        self.retain_inputs((0, 1))
        xp = backend.get_array_module(x)
        digamma, gamma, zeta = (
            _special.special(x, name) for name in ('digamma', 'gamma', 'zeta'))
        sign = 1 - 2 * ((n + 1) % 2)
        y = xp.where(n == 0, digamma(x), sign * gamma(n + 1.) * zeta(n + 1., x))
        return utils.force_array(y, x.dtype),

    def backward(self, indexes, grad_outputs):
        n, x = self.get_retained_inputs()
        gy, = grad_outputs
        return None, F.sum_to(polygamma(n + 1, x) * gy, x.shape)


def polygamma(n, x) -> Variable:
    """Polygamma function: the derivative of order ``n`` of the digamma function.

    Args:
        n (int, Variable or array): orders, integers.
        x (Variable or array): floating-point array. The shapes of ``n`` and ``x`` broadcast
            together.

    Returns:
        Variable: of the common shape and the dtype of ``x``.

    Raises:
        InvalidType: if ``n`` holds no integers or ``x`` is no floating-point array.
        ImportError: if SciPy is not installed.

    >>> F.polygamma(1, np.array([1., 2.])).array
    array([1.64493407, 0.64493407])
    """
    if isinstance(n, int):
        n = backend.get_array_module(x).full((), n)
    return PolyGamma().apply((n, x))[0]
