"""Products of sparse and dense matrices."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels.embedding import add_rows


class _CooFunction(function_node.FunctionNode):
    """What the two functions have in common: the places of a sparse matrix, and what is transposed.
    """

    def __init__(self, sp_row, sp_col, sp_shape, sp_order='other', transa=False, transb=False,
                 transc=False, dtype=None):
        self.sp_row = sp_row
        self.sp_col = sp_col
        self.sp_shape = sp_shape
        self.sp_order = sp_order
        self.transa = transa
        self.transb = transb
        self.transc = transc
        self.dtype = dtype

    def _places(self, transposed):
        if transposed:
            return self.sp_col, self.sp_row, self.sp_shape[::-1]
        return self.sp_row, self.sp_col, self.sp_shape

    def _cast(self, arrays):
        if self.dtype is None:
            return arrays
        return [x.astype(self.dtype, copy=False) for x in arrays]


class CooMatMul(_CooFunction):
    """Product of a sparse matrix, given by its values, and a dense one.

    Args:
        sp_row (array): rows of the values. Values with negative places are padding.
        sp_col (array): columns of the values.
        sp_shape (tuple of ints): shape of the sparse matrix.
        sp_order (str): order of the values, see :class:`~chainer.utils.CooMatrix`; nothing depends
            on it.
        transa (bool): whether to transpose the sparse matrix.
        transb (bool): whether to transpose the dense one.
        transc (bool): whether to transpose the product.
        dtype: dtype of the product; that of the product of the values by default.

    >>> f = F.math.sparse_matmul.CooMatMul(np.array([0]), np.array([1]), (2, 2), transa=True)
    >>> f.apply((np.array([3.]), np.array([[1., 2.], [4., 5.]])))[0].array
    array([[0., 0.],
           [3., 6.]])
    """

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('sp', 'dn'))
        sp_type, dn_type = in_types
        type_check.expect(
            sp_type.dtype.kind == 'f',
            dn_type.dtype.kind == 'f',
            dn_type.ndim >= 2,
            dn_type.ndim <= 3,
            sp_type.ndim == dn_type.ndim - 1,
            dn_type.shape[-1 if self.transb else -2] == self._places(self.transa)[2][1],
        )
        if type_check.eval(dn_type.ndim) == 3:
            type_check.expect(dn_type.shape[0] == sp_type.shape[0])

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        data, dense = self._cast(inputs)
        if self.transb:
            dense = dense.swapaxes(-1, -2)
        row, col, shape = self._places(self.transa)
        if data.ndim == 2:
            data = data * (row >= 0)
        row, col, n = _flat_places(data, row, col, shape)
        rows = data.reshape(-1, 1) * dense.reshape(-1, dense.shape[-1])[col]
        y = add_rows(rows, row, length=n * shape[0])
        y = y.reshape(*dense.shape[:-2], shape[0], dense.shape[-1])
        return y.swapaxes(-1, -2) if self.transc else y,

    def backward(self, indexes, grad_outputs):
        data, dense = self.get_retained_inputs()
        g, = grad_outputs
        places = self._places(self.transa)
        g_data = g_dense = None
        if 0 in indexes:
            g_data, = CooMatMulGradSP(
                *places, transa=self.transc, transb=not self.transb).apply((g, dense))
            g_data = F.cast(g_data, data.dtype)
        if 1 in indexes:
            g_dense, = CooMatMul(
                *places, transa=True, transb=self.transc, transc=self.transb).apply((data, g))
            g_dense = F.cast(g_dense, dense.dtype)
        return g_data, g_dense


class CooMatMulGradSP(_CooFunction):
    """Values of a product of dense matrices, at the places of a sparse matrix only.

    Args:
        sp_row (array): rows of the values, as all that follow as for :class:`CooMatMul`.
        sp_col (array): columns of the values.
        sp_shape (tuple of ints): shape of the product.
        sp_order (str): order of the values.
        transa (bool): whether to transpose the left matrix.
        transb (bool): whether to transpose the right one.
        transc (bool): whether to transpose the product before the values are taken.
        dtype: dtype of the values.
    """

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        a_type, b_type = in_types
        type_check.expect(
            a_type.dtype.kind == 'f',
            b_type.dtype.kind == 'f',
            a_type.ndim >= 2,
            a_type.ndim <= 3,
            b_type.ndim == a_type.ndim,
        )
        a_rows, a_inner = (-1, -2) if self.transa else (-2, -1)
        b_inner, b_columns = (-1, -2) if self.transb else (-2, -1)
        shape = self._places(self.transc)[2]
        type_check.expect(
            a_type.shape[a_rows] == shape[0],
            b_type.shape[b_columns] == shape[1],
            a_type.shape[a_inner] == b_type.shape[b_inner],
        )
        if type_check.eval(a_type.ndim) == 3:
            type_check.expect(
                a_type.shape[0] == b_type.shape[0],
                a_type.shape[0] == self.sp_row.shape[0],
            )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        a, b = self._cast(inputs)
        if self.transa:
            a = a.swapaxes(-1, -2)
        if not self.transb:
            b = b.swapaxes(-1, -2)
        row, col, _ = _flat_places(a, *self._places(self.transc))
        k = a.shape[-1]
        y = (a.reshape(-1, k)[row] * b.reshape(-1, k)[col]).sum(axis=1)
        # Padding has no gradient.
        row = backend.get_array_module(a).asarray(self.sp_row)
        return y.reshape(row.shape) * (row >= 0),

    def backward(self, indexes, grad_outputs):
        a, b = self.get_retained_inputs()
        g, = grad_outputs
        places = self._places(self.transc)
        ga = gb = None
        if 0 in indexes:
            ga, = CooMatMul(
                *places, transb=not self.transb, transc=self.transa).apply((g, b))
            ga = F.cast(ga, a.dtype)
        if 1 in indexes:
            gb, = CooMatMul(
                *places, transa=True, transb=self.transa, transc=not self.transb).apply((g, a))
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
        # Padding goes to the first place of each matrix, and does not count there.
        row = xp.maximum(row, 0) + item * shape[0]
        col = xp.maximum(col, 0) + item * shape[1]
    return row.reshape(-1), col.reshape(-1), n


def sparse_matmul(a, b, transa=False, transb=False) -> Variable:
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
        f = CooMatMul(a.row, a.col, a.shape, a.order, transa, transb)
        return f.apply((a.data, b))[0]
    if b_sparse and not a_sparse:
        f = CooMatMul(b.row, b.col, b.shape, b.order, not transb, not transa, transc=True)
        return f.apply((b.data, a))[0]
    raise ValueError(
        f'This combination of type of inputs is not supported.\n    a: {type(a)}\n'
        f'    b: {type(b)}\n')
