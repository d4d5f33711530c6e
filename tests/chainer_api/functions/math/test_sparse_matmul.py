"""The classes behind F.sparse_matmul, by themselves, against products of dense matrices."""
import itertools

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import gradient_check
from chainer.functions.math.sparse_matmul import CooMatMul, CooMatMulGradSP
from chainer.utils import type_check

M, N, K = 3, 4, 2
TRANSPOSES = list(itertools.product([False, True], repeat=3))


def sparse(batch, dtype=np.float64):
    matrix = np.zeros((*batch, M, N), dtype)
    matrix[..., [0, 1, 1, 2], [1, 0, 3, 2]] = np.random.RandomState(0).randn(*batch, 4)
    if batch:
        matrix[0, 1, 3] = 0  # one of the batch has padding
    return matrix, chainer.utils.to_coo(matrix)


def places(coo):
    return {'sp_row': coo.row, 'sp_col': coo.col, 'sp_shape': coo.shape, 'sp_order': coo.order}


def swap(x, transposed):
    return x.swapaxes(-1, -2) if transposed else x


@pytest.mark.parametrize('batch', [(), (5,)])
@pytest.mark.parametrize('transa, transb, transc', TRANSPOSES)
class TestAllTransposes:

    def test_product(self, batch, transa, transb, transc):
        matrix, coo = sparse(batch)
        matrix = swap(matrix, transa)
        dense = np.random.RandomState(1).randn(*batch, matrix.shape[-1], K)
        expected = swap(matrix @ dense, transc)
        f = CooMatMul(**places(coo), transa=transa, transb=transb, transc=transc)
        y, = f.apply((coo.data, swap(dense, transb)))
        np.testing.assert_allclose(y.array, expected)
        assert y.creator is f

        def product(data, dense):
            return CooMatMul(
                **places(coo), transa=transa, transb=transb, transc=transc).apply((data, dense))

        inputs = coo.data.array, swap(dense, transb)
        gy = np.random.randn(*expected.shape)
        gradient_check.check_backward(product, inputs, gy)
        gradient_check.check_double_backward(product, inputs, gy, inputs)

    def test_values_of_a_product(self, batch, transa, transb, transc):
        matrix, coo = sparse(batch)
        rows, columns = (N, M) if transc else (M, N)
        a = np.random.RandomState(1).randn(*batch, rows, K)
        b = np.random.RandomState(2).randn(*batch, K, columns)
        product = swap(a @ b, transc)

        def values(a, b):
            return CooMatMulGradSP(
                **places(coo), transa=transa, transb=transb, transc=transc).apply((a, b))

        inputs = swap(a, transa), swap(b, transb)
        found = values(*inputs)[0].array
        # What is no padding, put where it belongs.
        dense = chainer.utils.CooMatrix(found, coo.row, coo.col, coo.shape, coo.order).to_dense()
        np.testing.assert_allclose(dense, np.where(matrix != 0, product, 0))
        gy = np.random.randn(*found.shape)
        gradient_check.check_backward(values, inputs, gy)
        gradient_check.check_double_backward(values, inputs, gy, inputs)


@pytest.mark.parametrize('given, dtype, expected', [
    ('ff', None, 'f'), ('fd', None, 'd'), ('ff', 'd', 'd'), ('ff', 'e', 'e'), ('dd', 'f', 'f')])
def test_dtypes(given, dtype, expected):
    _, coo = sparse(())
    data = chainer.Variable(coo.data.array.astype(given[0]))
    dense = chainer.Variable(np.ones((N, K), given[1]))
    y, = CooMatMul(coo.row, coo.col, coo.shape, dtype=dtype).apply((data, dense))
    assert y.dtype == expected
    F.sum(y).backward()
    assert (data.grad.dtype, dense.grad.dtype) == (data.dtype, dense.dtype)


def test_defaults_and_attributes():
    _, coo = sparse(())
    f = CooMatMul(coo.row, coo.col, coo.shape)
    assert (f.sp_order, f.dtype) == ('other', None)
    assert not (f.transa or f.transb or f.transc)
    assert f.sp_row is coo.row
    assert f.label == 'CooMatMul'


def test_operands_are_inputs_of_one_node():
    matrix, _ = sparse(())
    coo = chainer.utils.to_coo(matrix, requires_grad=True)
    for y in (F.sparse_matmul(coo, np.ones((M, K)), transa=True),
              F.sparse_matmul(np.ones((M, K)), coo, transa=True)):
        assert isinstance(y.creator, CooMatMul)
        assert y.creator.inputs[0] is coo.data.node


@pytest.mark.parametrize('transb, shape', [(False, (M, K)), (True, (K, M)), (False, (N,))])
def test_wrong_shapes(transb, shape):
    _, coo = sparse(())
    with pytest.raises(type_check.InvalidType):
        CooMatMul(**places(coo), transb=transb).apply((coo.data, np.ones(shape)))


@pytest.mark.parametrize('a, b', [
    ((M, K), (K, M)), ((N, K), (K, N)), ((M, K), (K + 1, N)), ((M, K), (1, K, N)), ((M,), (N,))])
def test_wrong_shapes_of_a_product(a, b):
    _, coo = sparse(())
    with pytest.raises(type_check.InvalidType):
        CooMatMulGradSP(**places(coo)).apply((np.ones(a), np.ones(b)))
