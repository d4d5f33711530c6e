"""Inverse matrices."""
from chainer import function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels.linear_algebra import inverse


class Inv(function_node.FunctionNode):
    """Inverse of a matrix (see :func:`inv`)."""

    opaque = 'it raises for singular matrices'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a',))
        a_type, = in_types
        type_check.expect(a_type.dtype.kind == 'f', a_type.ndim == 2)
        type_check.expect(a_type.shape[0] == a_type.shape[1])

    def forward(self, inputs):
        self.retain_outputs((0,))
        return inverse(inputs[0]),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        return -F.matmul(F.matmul(y, grad_outputs[0], transa=True), y, transb=True),


class BatchInv(Inv):
    """Inverses of matrices (see :func:`batch_inv`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a',))
        a_type, = in_types
        type_check.expect(a_type.dtype.kind == 'f', a_type.ndim == 3)
        type_check.expect(a_type.shape[-1] == a_type.shape[-2])


def inv(a) -> Variable:
    """Inverse of a square matrix.

    Args:
        a (Variable or array): floating-point array of shape ``(n, n)``.

    Returns:
        Variable: of the shape and dtype of ``a``.

    Raises:
        InvalidType: if ``a`` is no such array.
        ValueError: if ``a`` is singular.

    >>> F.inv(np.array([[2., 0.], [0., 4.]])).array
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return Inv().apply((a,))[0]


def batch_inv(a) -> Variable:
    """Inverse of each of a batch of square matrices.

    Args:
        a (Variable or array): floating-point array of shape ``(B, n, n)``.

    Returns:
        Variable: of the shape and dtype of ``a``.

    Raises:
        InvalidType: if ``a`` is no such array.
        ValueError: if a matrix is singular.

    >>> F.batch_inv(np.array([[[2.]], [[4.]]])).array
    array([[[0.5 ]],
    <BLANKLINE>
           [[0.25]]])
    """
    return BatchInv().apply((a,))[0]
