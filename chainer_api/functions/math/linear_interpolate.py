"""Weighted mean of two arrays."""
from chainer import function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class LinearInterpolate(function_node.FunctionNode):
    """Weighted mean of two arrays (see :func:`linear_interpolate`)."""

    is_elementwise = True

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('p', 'x', 'y'))
        p_type, x_type, y_type = in_types
        type_check.expect(
            p_type.dtype.kind == 'f',
            x_type.dtype == p_type.dtype,
            y_type.dtype == p_type.dtype,
            p_type.shape == x_type.shape,
            p_type.shape == y_type.shape,
        )

    def forward(self, inputs):
        p, x, y = inputs
        self.retain_inputs((0, 1, 2))
        return utils.force_array(p * x + (1 - p) * y),

    def backward(self, indexes, grad_outputs):
        p, x, y = self.get_retained_inputs()
        g, = grad_outputs
        return (
            g * (x - y) if 0 in indexes else None,
            g * p if 1 in indexes else None,
            g * (1 - p) if 2 in indexes else None,
        )


def linear_interpolate(p, x, y) -> Variable:
    """Weighted mean ``p * x + (1 - p) * y`` of each two elements.

    Args:
        p (Variable or array): weights, a floating-point array.
        x (Variable or array): of the shape and dtype of ``p``.
        y (Variable or array): of the shape and dtype of ``p``.

    Returns:
        Variable: of the shape and dtype of ``p``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> F.linear_interpolate(np.array([.5, 1.]), np.array([2., 2.]), np.array([4., 4.])).array
    array([3., 2.])
    """
    return LinearInterpolate().apply((p, x, y))[0]
