"""Sparse matrices."""
import numpy as np
import pytest

from chainer import utils


@pytest.mark.parametrize(('row', 'col'), [
    ([-1], [0]), ([0], [-1]), ([-1, 0], [0, 0]), ([0, 0], [0, -1]), ([[0, -1], [0, 1]],
                                                                     [[0, 0], [0, 1]])])
def test_a_place_is_unused_by_row_and_column(row, col):
    row, col = np.array(row), np.array(col)
    with pytest.raises(ValueError, match='invalid index combination'):
        utils.get_order(row, col)
    with pytest.raises(ValueError, match='invalid index combination'):
        utils.CooMatrix(np.ones(row.shape), row, col, (3, 3))


def test_lengths_must_be_equal():
    with pytest.raises(ValueError, match='shape of row and col'):
        utils.get_order(np.array([0, 1]), np.array([0, 1, 2]))


@pytest.mark.parametrize(('row', 'col', 'order'), [  # as 5.4 and 7.8.1 say
    ([0, 0, 1], [0, 1, 0], 'C'), ([0, 1, 0], [0, 0, 1], 'F'), ([0, 1], [1, 0], 'C'),
    ([1, 0], [0, 1], 'F'), ([0, -1], [0, -1], 'C'), ([2, 1, 0], [0, 1, 2], 'F'),
    ([1, 1, 0], [0, 1, 0], 'other'), ([], [], 'C')])
def test_order(row, col, order):
    assert utils.get_order(np.array(row, 'i'), np.array(col, 'i')) == order
