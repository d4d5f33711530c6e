"""Matrix products."""
import warnings

import chainer
from chainer import function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import products


def _transposed(x, trans):
    return x.swapaxes(-1, -2) if trans and x.ndim >= 2 else x


def _product(a, b, transa=False, transb=False, transc=False, dtype=None):
    y = products.matmul(_transposed(a, transa), _transposed(b, transb))
    y = utils.force_array(_transposed(y, transc) if transc else y)
    return y if dtype is None else y.astype(dtype, copy=False)


def _matmul(a, b, transa=False, transb=False, transout=False):
    """Product of arrays, for functions that others derive of it: knmt, for instance."""
    return _product(a, b, transa, transb, transout)


def _check_ndim(in_type, lower=1, upper=2):
    """Expect so many dimensions of an argument of such a function."""
    type_check.expect(in_type.ndim >= lower, in_type.ndim <= upper)


def _get_check_index(trans, right, row_idx=0, col_idx=1):
    """The axis of a factor that is summed over, the left or the ``right`` one."""
    return row_idx if bool(trans) is not bool(right) else col_idx


class MatMul(function_node.FunctionNode):
    """Matrix product (see :func:`matmul`), the result possibly transposed and of another dtype."""

    def __init__(self, transa=False, transb=False, transc=False, dtype=None):
        self.transa = transa
        self.transb = transb
        self.transc = transc
        self.dtype = dtype

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a', 'b'))
        a, b = in_types
        type_check.expect(
            a.dtype.kind == 'f',
            b.dtype.kind == 'f',
            a.ndim >= 1,
            b.ndim >= 1)
        a_ndim = type_check.eval(a.ndim)
        b_ndim = type_check.eval(b.ndim)
        a_axis = -2 if self.transa and a_ndim > 1 else -1
        b_axis = -1 if b_ndim == 1 or self.transb else -2
        type_check.expect(a.shape[a_axis] == b.shape[b_axis])
        if a_ndim > 2 or b_ndim > 2:
            type_check.expect_broadcast_shapes(a.shape[:-2], b.shape[:-2])

    def forward(self, x):
        self.retain_inputs((0, 1))
        a, b = x
        return _product(a, b, self.transa, self.transb, self.transc, self.dtype),

    def backward(self, indexes, grad_outputs):
        a, b = self.get_retained_inputs()
        gy, = grad_outputs
        is_a_vector = a.ndim == 1
        is_b_vector = b.ndim == 1
        if is_a_vector or is_b_vector:
            return self._backward_of_vectors(indexes, a, b, gy)
        ret = []
        if 0 in indexes:
            ga, = MatMul(self.transc, not self.transb, self.transa, a.dtype).apply((gy, b))
            ret.append(chainer.functions.sum_to(ga, a.shape))
        if 1 in indexes:
            gb, = MatMul(not self.transa, self.transc, self.transb, b.dtype).apply((a, gy))
            ret.append(chainer.functions.sum_to(gb, b.shape))
        return tuple(ret)

    def _backward_of_vectors(self, indexes, a, b, gy):
        # As matrices: a row for the left vector, a column for the right one.
        F = chainer.functions
        a_matrix, b_matrix = a, b
        transa, transb = self.transa, self.transb
        if a.ndim == 1:
            a_matrix = F.expand_dims(a, 0)
            transa = False
            gy = F.expand_dims(gy, -1 if b.ndim == 1 else gy.ndim - 1)
        if b.ndim == 1:
            b_matrix = F.expand_dims(b, 1)
            transb = False
            gy = F.expand_dims(gy, gy.ndim)
        ret = []
        if 0 in indexes:
            ga, = MatMul(False, not transb, transa, a.dtype).apply((gy, b_matrix))
            ret.append(F.reshape(F.sum_to(ga, a_matrix.shape), a.shape))
        if 1 in indexes:
            gb, = MatMul(not transa, False, transb, b.dtype).apply((a_matrix, gy))
            ret.append(F.reshape(F.sum_to(gb, b_matrix.shape), b.shape))
        return tuple(ret)


def matmul(a, b, transa=False, transb=False) -> Variable:
    """Matrix product, as :func:`numpy.matmul` defines it.

    Vectors are taken as a row on the left and as a column on the right; of arrays with more than
    two axes the last two are matrices, the others broadcast.

    Args:
        a (Variable or array): Left factor, floating dtype.
        b (Variable or array): Right factor, floating dtype.
        transa (bool): Whether the last two axes of ``a`` are exchanged first; not for vectors.
        transb (bool): The same for ``b``.

    Returns:
        Variable: The product.

    .. doctest::

        >>> a = np.array([[1., 0.], [0., 2.]])
        >>> b = np.array([[4., 1.], [2., 3.]])
        >>> F.matmul(a, b)
        variable([[4., 1.],
                  [4., 6.]])
    """
    return MatMul(transa, transb).apply((a, b))[0]


class BatchMatMul(MatMul):
    """Matrix products of batches (see :func:`batch_matmul`)."""

    def __init__(self, transa=False, transb=False):
        super().__init__(transa, transb)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a', 'b'))
        a, b = in_types
        type_check.expect(
            a.dtype == b.dtype,
            a.ndim == 3,
            b.ndim == 3,
            a.shape[0] == b.shape[0],
            a.shape[1 if self.transa else 2] == b.shape[2 if self.transb else 1])


def batch_matmul(a, b, transa=False, transb=False) -> Variable:
    """Matrix products of batches. Deprecated: :func:`matmul` does this, too.

    Args:
        a (Variable or array): Matrices ``(batch, m, k)``, or vectors ``(batch, m)`` which are
            taken as columns.
        b (Variable or array): Matrices ``(batch, k, n)``, or vectors ``(batch, k)`` which are
            taken as columns.
        transa (bool): Whether the matrices of ``a`` are transposed first.
        transb (bool): The same for ``b``.

    Returns:
        Variable: Matrices ``(batch, m, n)``.

    .. doctest::

        >>> F.matmul(np.ones((4, 2, 3)), np.ones((4, 3, 5))).shape
        (4, 2, 5)
    """
    warnings.warn('batch_matmul is deprecated; use matmul instead.', DeprecationWarning)
    a, b = [chainer.functions.expand_dims(x, 2) if x.ndim == 2 else x for x in (a, b)]
    return BatchMatMul(transa, transb).apply((a, b))[0]
