"""Flattening into a vector."""
from chainer import functions as F
from chainer.utils import _errors
from chainer.variable import Variable


def flatten(x) -> Variable:
    """The elements of an array as a vector, in row-major order.

    Args:
        x (Variable or array): array of any shape.

    Returns:
        Variable: vector of the dtype of ``x``.

    >>> F.flatten(np.array([[1, 2], [3, 4]])).array
    array([1, 2, 3, 4])
    """
    _errors.check_arrays('flatten', x=x)
    return F.reshape(x, (-1,))
