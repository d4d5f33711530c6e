"""Sparse matrices."""
import numpy

import chainer
from chainer import backend

_ORDERS = ('C', 'F', 'other', None)


class CooMatrix:
    """Matrix, or batch of matrices, in COO format (coordinate list).

    Args:
        data (array): The elements that are stored, ``(n,)`` or ``(batch, n)``.
        row (array): Their row indexes, of the same shape; negative for unused places.
        col (array): Their column indexes.
        shape (tuple of int): Shape of (one of) the dense matrices.
        order ({'C', 'F', 'other', None}): ``'C'`` if the elements are sorted by row, ``'F'`` by
            column, ``'other'`` by neither; found out if it is ``None``.
        requires_grad (bool): Whether the gradient of ``data`` is computed.

    Attributes:
        data (Variable): The elements.

    .. doctest::

        >>> m = chainer.utils.CooMatrix(
        ...     np.array([2., 3.]), np.array([0, 1]), np.array([1, 0]), (2, 2))
        >>> m.to_dense()
        array([[0., 2.],
               [3., 0.]])
    """

    def __init__(self, data, row, col, shape, order=None, requires_grad=False):
        if data.ndim not in (1, 2):
            raise ValueError(f'data must have 1 or 2 axes, not {data.ndim}')
        if not data.shape == row.shape == col.shape:
            raise ValueError(
                f'data, row and col must have the same shape, not {data.shape}, {row.shape} and '
                f'{col.shape}')
        if len(shape) != 2:
            raise ValueError(f'shape must be that of a matrix, not {shape}')
        if order not in _ORDERS:
            raise ValueError(f"order must be 'C', 'F', 'other' or None, not {order!r}")
        self.data = chainer.Variable(data, requires_grad=requires_grad)
        self.row = row
        self.col = col
        self.shape = tuple(shape)
        self.order = get_order(row, col) if order is None else order

    def to_dense(self):
        """Return the dense array, ``(m, n)`` or ``(batch, m, n)``; elements at one place add up."""
        data = self.data.array
        xp = backend.get_array_module(data)
        used = self.row >= 0
        dense = xp.zeros(data.shape[:-1] + self.shape, data.dtype)
        places = (self.row[used], self.col[used])
        if data.ndim == 2:
            places = (xp.nonzero(used)[0],) + places
        xp.add.at(dense, places, data[used])
        return dense


def to_coo(x, ldnz=None, requires_grad=False):
    """Return a dense matrix, or a batch of them, in COO format.

    Args:
        x (array): ``(m, n)`` or ``(batch, m, n)``.
        ldnz (int): Smallest number of places for elements; unused ones have row and column -1.
        requires_grad (bool): Whether the gradient of the elements is computed.

    Returns:
        CooMatrix: The non-zero elements.

    .. doctest::

        >>> m = chainer.utils.to_coo(np.array([[0, 2, 0], [-1, 0, 0]], np.float32))
        >>> m.data
        variable([ 2., -1.])
        >>> m.row, m.col
        (array([0, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    if x.ndim not in (2, 3):
        raise ValueError(f'x must be a matrix or a batch of matrices, not of shape {x.shape}')
    xp = backend.get_array_module(x)
    batch = x.reshape((-1,) + x.shape[-2:])
    places = [xp.nonzero(matrix) for matrix in batch]
    length = max([len(row) for row, _ in places], default=0)
    length = max(length, ldnz or 0)
    data = xp.zeros((len(batch), length), x.dtype)
    row = xp.full((len(batch), length), -1, numpy.int32)
    col = xp.full((len(batch), length), -1, numpy.int32)
    for i, (r, c) in enumerate(places):
        data[i, :len(r)] = batch[i][r, c]
        row[i, :len(r)] = r
        col[i, :len(r)] = c
    if x.ndim == 2:
        data, row, col = data[0], row[0], col[0]
    return CooMatrix(data, row, col, x.shape[-2:], order='C', requires_grad=requires_grad)


def get_order(row, col):
    """Return how elements at ``row`` and ``col`` are sorted: ``'C'``, ``'F'`` or ``'other'``.

    Raises:
        ValueError: If shapes differ, or only one of the row and column of an element is negative.

    .. doctest::

        >>> chainer.utils.get_order(np.array([0, 0, 1]), np.array([0, 1, 0]))
        'C'
    """
    if row.shape != col.shape:
        raise ValueError(f'shape of row and col must be the same, not {row.shape} and {col.shape}')
    if ((row < 0) != (col < 0)).any():
        raise ValueError(
            'invalid index combination of row and col: an unused place has a negative row and a '
            'negative column')
    if _is_sorted(row, col):
        return 'C'
    if _is_sorted(col, row):
        return 'F'
    return 'other'


def _is_sorted(major, minor):
    """Whether the used places of each matrix are sorted by ``major``, then by ``minor``."""
    step = major[..., 1:] - major[..., :-1]
    later = (step > 0) | ((step == 0) & (minor[..., 1:] >= minor[..., :-1]))
    return bool((later | (major[..., 1:] < 0)).all())
