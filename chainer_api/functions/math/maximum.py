"""The larger of two arrays' elements."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.array import where
from chainer.utils import type_check
from chainer.variable import Variable


class Maximum(function_node.FunctionNode):
    """The larger of two elements (see :func:`maximum`)."""

    is_elementwise = True

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x1', 'x2'))
        x1_type, x2_type = in_types
        type_check.expect(x1_type.dtype.kind == 'f', x1_type.dtype == x2_type.dtype)
        type_check.expect_broadcast_shapes(x1_type.shape, x2_type.shape)

    def forward(self, inputs):
        x1, x2 = inputs
        self.retain_inputs((0, 1))
        return utils.force_array(backend.get_array_module(x1).maximum(x1, x2)),

    def backward(self, indexes, grad_outputs):
        x1, x2 = self.get_retained_inputs()
        first, = _TakesFirst().apply((x1.array, x2.array))
        return tuple(
            F.sum_to(where.Keep(first.array, i == 0).apply(grad_outputs)[0], (x1, x2)[i].shape)
            for i in indexes)


class _TakesFirst(function_node.FunctionNode):

    def forward(self, inputs):
        x1, x2 = inputs
        return utils.force_array(x1 >= x2),


def maximum(x1, x2) -> Variable:
    """The larger of each two elements.

    Args:
        x1 (Variable or array): floating-point array.
        x2 (Variable or array): floating-point array of the same dtype. The two shapes broadcast
            together.

    Returns:
        Variable: of the common shape. Where both are equal, ``x1`` gets the gradient.

    Raises:
        InvalidType: if dtypes or shapes do not fit.

    >>> F.maximum(np.array([1., 3.]), np.array([2., 2.])).array
    array([2., 3.])
    """
    return Maximum().apply((x1, x2))[0]
