"""Helpers on shapes and arrays."""
import math

import numpy

from chainer.backends import cuda


def as_vec(x):
    """Return the array as a vector. Deprecated: use ``x.ravel()``."""
    return x.ravel()


def as_mat(x):
    """Return an array as a matrix, one row for each element of the first axis. Deprecated: use
    ``x.reshape(len(x), -1)``."""
    return x.reshape(len(x), -1)


def empty_like(x):
    """Return an uninitialized array like ``x``."""
    if cuda.available and isinstance(x, cuda.ndarray):
        return cuda.cupy.empty_like(x)
    return numpy.empty_like(x)


def size_of_shape(shape):
    """Return the number of elements of an array of the given shape.

    .. doctest::

        >>> chainer.utils.size_of_shape((2, 3))
        6
    """
    return math.prod(shape)


def sum_to(x, shape):
    """Sum an array over the axes along which ``shape`` would be broadcast to its shape.

    Args:
        x (array): An array.
        shape (tuple of int): A shape that broadcasts to ``x.shape``.

    .. doctest::

        >>> chainer.utils.sum_to(np.ones((2, 3)), (1, 3))
        array([[2., 2., 2.]])
    """
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    lead_axes = tuple(range(lead))
    axes = tuple([i + lead for i, size in enumerate(shape) if size == 1])
    y = x.sum(lead_axes + axes, keepdims=True)
    return y.squeeze(lead_axes) if lead else y
