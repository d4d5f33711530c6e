"""Remainder of a division."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Fmod(function_node.FunctionNode):
    """Remainder of a division (see :func:`fmod`)."""

    label = 'fmod'
    is_elementwise = True

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 'divisor'))
        x_type, divisor_type = in_types
        type_check.expect(
            x_type.dtype == divisor_type.dtype,
            x_type.dtype.kind == 'f',
            divisor_type.dtype.kind == 'f',
        )

    def forward(self, inputs):
        x, divisor = inputs
        self.retain_inputs((0, 1))
        return utils.force_array(backend.get_array_module(x).fmod(x, divisor)),

    def backward(self, indexes, grad_outputs):
        x, divisor = self.get_retained_inputs()
        gy, = grad_outputs
        gx = F.sum_to(gy, x.shape) if 0 in indexes else None
        g_divisor = None
        if 1 in indexes:
            g_divisor = F.sum_to(-F.fix(x / divisor) * gy, divisor.shape)
        return gx, g_divisor


def fmod(x, divisor) -> Variable:
    """Remainder of the division of each element, with the sign of the dividend.

    Args:
        x (Variable or array): dividends, a floating-point array.
        divisor (Variable or array): divisors of the same dtype. The two shapes broadcast together.

    Returns:
        Variable: of the common shape.

    Raises:
        InvalidType: if dtypes do not fit.

    >>> F.fmod(np.array([5.5, -5.5]), np.array([2., 2.])).array
    array([ 1.5, -1.5])
    """
    return Fmod().apply((x, divisor))[0]
