"""Mean squared error."""
from chainer import function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class MeanSquaredError(function_node.FunctionNode):
    """Mean squared error (see :func:`mean_squared_error`)."""

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
        diff = (x0 - x1).ravel()
        return utils.force_array(diff.dot(diff) / diff.size, x0.dtype),

    def backward(self, indexes, grad_outputs):
        x0, x1 = self.get_retained_inputs()
        g, = _MeanSquaredErrorGrad().apply((x0, x1, grad_outputs[0]))
        return g if 0 in indexes else None, -g if 1 in indexes else None


class _MeanSquaredErrorGrad(function_node.FunctionNode):
    """``(x0, x1, gy) -> gx0``."""

    def forward(self, inputs):
        x0, x1, gy = inputs
        self.retain_inputs((0, 1, 2))
        return utils.force_array((x0 - x1) * (gy * (2. / max(x0.size, 1)))),

    def backward(self, indexes, grad_outputs):
        x0, x1, gy = self.get_retained_inputs()
        g = grad_outputs[0] * (2. / max(x0.size, 1))
        g0 = g1 = g_gy = None
        if 0 in indexes or 1 in indexes:
            g0 = g * F.broadcast_to(gy, g.shape)
            g1 = -g0
        if 2 in indexes:
            g_gy = F.sum(g * (x0 - x1))
        return g0, g1, g_gy


def mean_squared_error(x0, x1) -> Variable:
    """Mean of the squared differences of all elements.

    Args:
        x0 (Variable or array): floating-point array.
        x1 (Variable or array): of the shape and dtype of ``x0``.

    Returns:
        Variable: of the dtype of ``x0``, without dimensions.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> F.mean_squared_error(np.array([1., 2.]), np.array([1., 4.])).array
    array(2.)
    """
    return MeanSquaredError().apply((x0, x1))[0]
