"""The smaller of two arrays' elements."""
from chainer.functions.math import _choice
from chainer.variable import Variable


class Minimum(_choice.Choice):
    """The smaller of two elements (see :func:`minimum`)."""

    larger = False


def minimum(x1, x2) -> Variable:
    """The smaller of each two elements.

    Args:
        x1 (Variable or array): floating-point array.
        x2 (Variable or array): floating-point array of the same dtype. The two shapes broadcast
            together.

    Returns:
        Variable: of the common shape. Where both are equal, ``x1`` gets the gradient.

    Raises:
        InvalidType: if dtypes or shapes do not fit.

    >>> F.minimum(np.array([1., 3.]), np.array([2., 2.])).array
    array([1., 2.])
    """
    return Minimum().apply((x1, x2))[0]
