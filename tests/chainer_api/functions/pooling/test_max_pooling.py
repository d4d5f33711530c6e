"""What downstream code reads of pooling functions."""
import numpy as np

import chainer
import chainer.functions as F
from chainer.functions.pooling.max_pooling_2d import MaxPooling2D
from chainer.functions.pooling.max_pooling_nd import MaxPoolingND


def test_indexes_are_left_on_the_function():
    x = chainer.Variable(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    y, indexes = F.max_pooling_2d(x, 2, return_indices=True)
    function = y.creator
    assert isinstance(function, MaxPooling2D)
    np.testing.assert_array_equal(function.indexes, indexes)
    np.testing.assert_array_equal(indexes, np.full((1, 1, 2, 2), 3))


def test_settings_are_left_on_the_function():
    x = chainer.Variable(np.zeros((1, 1, 6, 6), np.float32))
    function = F.max_pooling_2d(x, (2, 3), 1, (1, 0), cover_all=False).creator
    assert [getattr(function, name) for name in 'kh kw sy sx ph pw cover_all'.split()] == [
        2, 3, 1, 1, 1, 0, False]
    function = F.max_pooling_nd(x, (2, 3), 1, (1, 0)).creator
    assert isinstance(function, MaxPoolingND)
    assert (function.ndim, function.ksize, function.stride, function.pad) == (
        2, (2, 3), (1, 1), (1, 0))


def test_classes_can_be_applied():
    x = np.random.RandomState(0).standard_normal((2, 3, 5, 5)).astype(np.float32)
    y, = MaxPooling2D(2, 2, 0, True).apply((x,))
    np.testing.assert_array_equal(y.array, F.max_pooling_2d(x, 2).array)
