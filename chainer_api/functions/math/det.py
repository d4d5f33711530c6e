"""Determinants."""
from chainer import function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels.linear_algebra import determinant


class BatchDet(function_node.FunctionNode):
    """Determinants of a batch of matrices (see :func:`batch_det`)."""

    opaque = 'its backward raises for singular matrices'
    label = 'det'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim == 3)
        type_check.expect(x_type.shape[-1] == x_type.shape[-2])

    def forward(self, inputs):
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return determinant(inputs[0]),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        g = F.reshape(grad_outputs[0] * y, (len(x), 1, 1))
        return F.broadcast_to(g, x.shape) * F.batch_inv(F.transpose(x, (0, 2, 1))),


def batch_det(a) -> Variable:
    """Determinant of each of a batch of square matrices.

    Args:
        a (Variable or array): floating-point array of shape ``(B, n, n)``.

    Returns:
        Variable: vector of length ``B``. Its gradient needs the matrices to be regular.

    Raises:
        InvalidType: if ``a`` is no such array.

    >>> F.batch_det(np.array([[[1., 2.], [3., 4.]]])).array.round(6)
    array([-2.])
    """
    return BatchDet().apply((a,))[0]


def det(a) -> Variable:
    """Determinant of a square matrix.

    Args:
        a (Variable or array): floating-point array of shape ``(n, n)``.

    Returns:
        Variable: without dimensions. Its gradient needs the matrix to be regular.

    Raises:
        InvalidType: if ``a`` is no such array.

    >>> F.det(np.array([[2., 0.], [0., 4.]])).array
    array(8.)
    """
    return F.reshape(batch_det(F.expand_dims(a, 0)), ())
