"""Absolute difference, element by element."""
from chainer import function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class AbsoluteError(function_node.FunctionNode):
    """Absolute difference (see :func:`absolute_error`)."""

    is_elementwise = True

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
        return utils.force_array(abs(self.diff)),

    def backward(self, indexes, grad_outputs):
        g = grad_outputs[0] * F.sign(self.diff)
        return g if 0 in indexes else None, -g if 1 in indexes else None


def absolute_error(x0, x1) -> Variable:
    """Absolute difference ``|x0 - x1|`` of each two elements.

    Args:
        x0 (Variable or array): floating-point array.
        x1 (Variable or array): of the shape and dtype of ``x0``.

    Returns:
        Variable: of the shape and dtype of ``x0``. The gradient is 0 where both are equal.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    .. seealso:: :func:`chainer.functions.mean_absolute_error`

    >>> F.absolute_error(np.array([1., 2.]), np.array([1., 5.])).array
    array([0., 3.])
    """
    return AbsoluteError().apply((x0, x1))[0]
