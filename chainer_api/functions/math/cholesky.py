"""Cholesky decomposition."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Cholesky(function_node.FunctionNode):
    """Cholesky decomposition (see :func:`cholesky`)."""

    opaque = 'it raises for matrices that are not positive definite'
    label = 'cholesky'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a',))
        a_type, = in_types
        type_check.expect(a_type.dtype.kind == 'f', a_type.ndim == 2)

    def forward(self, inputs):
        a, = inputs
        self.retain_outputs((0,))
        return backend.get_array_module(a).linalg.cholesky(a),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        xp = backend.get_array_module(y)
        inverse = F.inv(y)
        # The lower triangle, and half of the diagonal.
        half = xp.tril(xp.ones(y.shape, y.dtype)) - 0.5 * xp.eye(len(y), dtype=y.dtype)
        p = F.matmul(y, gy, transa=True) * half
        return F.matmul(F.matmul(inverse, (p + p.T) * 0.5, transa=True), inverse),


def cholesky(a) -> Variable:
    """Cholesky decomposition: the lower triangular ``L`` with ``L @ L.T`` equal to ``a``.

    Args:
        a (Variable or array): symmetric positive definite matrix.

    Returns:
        Variable: of the shape and dtype of ``a``. Its gradient is symmetric.

    Raises:
        InvalidType: if ``a`` is no floating-point matrix.
        LinAlgError: if ``a`` is not positive definite.

    >>> F.cholesky(np.array([[4., 2.], [2., 5.]])).array
    array([[2., 0.],
           [1., 2.]])
    """
    return Cholesky().apply((a,))[0]
