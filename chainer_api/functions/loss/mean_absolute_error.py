"""Mean absolute error."""
from chainer import function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class MeanAbsoluteError(function_node.FunctionNode):
    """Mean absolute error (see :func:`mean_absolute_error`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x0', 'x1'))
        x0_type, x1_type = in_types
        type_check.expect(
            x0_type.dtype.kind == 'f',
            x0_type.dtype == x1_type.dtype,
            x0_type.shape == x1_type.shape,
        )

    def forward(self, inputs):
        x0, x1 = inputs
        self.diff = utils.force_array(x0 - x1)
        diff = abs(self.diff)
        # Half precision would overflow in the sum.
        total = diff.sum(dtype='f') if diff.dtype == 'e' else diff.sum()
        return utils.force_array(total / diff.size, diff.dtype),

    def backward(self, indexes, grad_outputs):
        g = grad_outputs[0] * (1. / max(self.diff.size, 1))
        g = F.broadcast_to(g, self.diff.shape) * F.sign(self.diff)
        return g if 0 in indexes else None, -g if 1 in indexes else None


def mean_absolute_error(x0, x1) -> Variable:
    """Mean of the absolute differences of all elements.

    Args:
        x0 (Variable or array): floating-point array.
        x1 (Variable or array): of the shape and dtype of ``x0``.

    Returns:
        Variable: of the dtype of ``x0``, without dimensions.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> F.mean_absolute_error(np.array([1., 2.]), np.array([1., 5.])).array
    array(1.5)
    """
    return MeanAbsoluteError().apply((x0, x1))[0]
