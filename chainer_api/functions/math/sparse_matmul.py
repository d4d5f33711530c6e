"""Products of sparse and dense matrices."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainwright.runtime.kernels.embedding import add_rows


class CooMatMul(function_node.FunctionNode):
    """Product of a sparse matrix, given by its values, and a dense one.

    Args:
        sp_row (array): rows of the values. Values with negative places are padding.
        sp_col (array): columns of the values.
        sp_shape (tuple of ints): shape of the sparse matrix.
    """

    def __init__(self, sp_row, sp_col, sp_shape):
        self.sp_row = sp_row
        self.sp_col = sp_col
        self.sp_shape = sp_shape

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('sp', 'dn'))
        sp_type, dn_type = in_types
        type_check.expect(
            sp_type.dtype.kind == 'f',
            dn_type.dtype.kind == 'f',
            dn_type.ndim >= 2,
            dn_type.ndim <= 3,
            sp_type.ndim == dn_type.ndim - 1,
            dn_type.shape[-2] == self.sp_shape[-1],
        )
        if type_check.eval(dn_type.ndim) == 3:
            type_check.expect(dn_type.shape[0] == sp_type.shape[0])

    def forward(self, inputs):
        data, dense = inputs
        self.retain_inputs((0, 1))
        row, col, n = _flat_places(data, self.sp_row, self.sp_col, self.sp_shape)
        rows = data.reshape(-1, 1) * dense.reshape(-1, dense.shape[-1])[col]
        y = add_rows(rows, row, length=n * self.sp_shape[0])
        return y.reshape(*dense.shape[:-2], self.sp_shape[0], dense.shape[-1]),

    def backward(self, indexes, grad_outputs):
        data, dense = self.get_retained_inputs()
        g, = grad_outputs
        g_data = g_dense = None
        if 0 in indexes:
            g_data, = _CooMatMulGradSP(self.sp_row, self.sp_col, self.sp_shape).apply((g, dense))
            g_data = F.cast(g_data, data.dtype)
        if 1 in indexes:
            g_dense, = CooMatMul(self.sp_col, self.sp_row, self.sp_shape[::-1]).apply((data, g))
            g_dense = F.cast(g_dense, dense.dtype)
        return g_data, g_dense


class _CooMatMulGradSP(function_node.FunctionNode):
    """``(a, b) -> values of a @ b.T`` at the places of a sparse matrix."""

    def __init__(self, sp_row, sp_col, sp_shape):
        self.sp_row = sp_row
        self.sp_col = sp_col
        self.sp_shape = sp_shape

    def forward(self, inputs):
        a, b = inputs
        self.retain_inputs((0, 1))
        row, col, _ = _flat_places(a, self.sp_row, self.sp_col, self.sp_shape)
        k = a.shape[-1]
        y = (a.reshape(-1, k)[row] * b.reshape(-1, k)[col]).sum(axis=1)
        # Padding has no gradient.
        row = backend.get_array_module(a).asarray(self.sp_row)
        return y.reshape(row.shape) * (row >= 0),

    def backward(self, indexes, grad_outputs):
        a, b = self.get_retained_inputs()
        g, = grad_outputs
        ga = gb = None
        if 0 in indexes:
            ga, = CooMatMul(self.sp_row, self.sp_col, self.sp_shape).apply((g, b))
            ga = F.cast(ga, a.dtype)
        if 1 in indexes:
            gb, = CooMatMul(self.sp_col, self.sp_row, self.sp_shape[::-1]).apply((g, a))
            gb = F.cast(gb, b.dtype)
        return ga, gb


def _flat_places(array, row, col, shape):
    """Rows and columns in the matrices of a batch put one below the other, and their number."""
    xp = backend.get_array_module(array)
    row, col = xp.asarray(row), xp.asarray(col)
    n = 1
    if row.ndim == 2:
        n = row.shape[0]
        item = xp.arange(n)[:, None]
        # Padding goes to the first place of each matrix, with the value zero.
        row = xp.maximum(row, 0) + item * shape[0]
        col = xp.maximum(col, 0) + item * shape[1]
    return row.reshape(-1), col.reshape(-1), n


def sparse_matmul(a, b, transa=False, transb=False):
    """Product of a sparse and a dense matrix, or of batches of them.

    Args:
        a (CooMatrix, Variable or array): left operand.
        b (CooMatrix, Variable or array): right operand; exactly one of both is a
            :class:`~chainer.utils.CooMatrix`.
        transa (bool): whether to transpose each matrix of ``a``.
        transb (bool): whether to transpose each matrix of ``b``.

    Returns:
        Variable: the dense product.

    Raises:
        InvalidType: if shapes do not fit.
        ValueError: if both operands are sparse, or both dense.

    >>> a = chainer.utils.to_coo(np.array([[1., 0.], [0., 2.]]))
    >>> F.sparse_matmul(a, np.array([[1., 2.], [3., 4.]])).array
    array([[1., 2.],
           [6., 8.]])
    """
    a_sparse, b_sparse = (isinstance(x, utils.CooMatrix) for x in (a, b))
    if a_sparse and not b_sparse:
        return _sparse_dense(a, _transposed(b) if transb else b, transa)
    if b_sparse and not a_sparse:
        return _transposed(_sparse_dense(b, a if transa else _transposed(a), not transb))
    raise ValueError(
        f'This combination of type of inputs is not supported.\n    a: {type(a)}\n'
        f'    b: {type(b)}\n')


def _sparse_dense(sp, dense, transposed):
    row, col, shape = sp.row, sp.col, sp.shape
    if transposed:
        row, col, shape = col, row, shape[::-1]
    return CooMatMul(row, col, shape).apply((sp.data, dense))[0]


def _transposed(x):
    return F.swapaxes(x, -1, -2)
