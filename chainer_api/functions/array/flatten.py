"""Flattening into a vector."""
from chainer import functions as F


def flatten(x):
    """The elements of an array as a vector, in row-major order.

    Args:
        x (Variable or array): array of any shape.

    Returns:
        Variable: vector of the dtype of ``x``.

    >>> F.flatten(np.array([[1, 2], [3, 4]])).array
    array([1, 2, 3, 4])
    """
    return F.reshape(x, (-1,))
