"""Squared difference, element by element."""
from chainer import function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class SquaredError(function_node.FunctionNode):
    """Squared difference (see :func:`squared_error`)."""

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
        self.retain_inputs((0, 1))
        diff = x0 - x1
        return utils.force_array(diff * diff),

    def backward(self, indexes, grad_outputs):
        x0, x1 = self.get_retained_inputs()
        g = grad_outputs[0] * 2 * (x0 - x1)
        return g if 0 in indexes else None, -g if 1 in indexes else None


def squared_error(x0, x1) -> Variable:
    """Squared difference ``(x0 - x1) ** 2`` of each two elements.

    Args:
        x0 (Variable or array): floating-point array.
        x1 (Variable or array): of the shape and dtype of ``x0``.

    Returns:
        Variable: of the shape and dtype of ``x0``: no mean is taken.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    .. seealso:: :func:`chainer.functions.mean_squared_error`

    >>> F.squared_error(np.array([1., 2.]), np.array([1., 5.])).array
    array([0., 9.])
    """
    return SquaredError().apply((x0, x1))[0]


def squared_difference(x1, x2):
    """Squared difference of each two elements: another name of :func:`squared_error`.

    >>> F.squared_difference(np.array([1., 2.]), np.array([1., 5.])).array
    array([0., 9.])
    """
    return squared_error(x1, x2)
