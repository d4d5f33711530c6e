"""The larger of two arrays' elements."""
from chainer.functions.math import _choice
from chainer.variable import Variable


class Maximum(_choice.Choice):
    """The larger of two elements (see :func:`maximum`)."""


def maximum(x1, x2) -> Variable:
    """The larger of each two elements.

    Args:
        x1 (Variable or array): floating-point array.
        x2 (Variable or array): floating-point array of the same dtype. The two shapes broadcast
            together.

    Returns:
        Variable: of the common shape. Where both are equal, ``x1`` gets the gradient.

    Raises:
        InvalidType: if dtypes or shapes do not fit.

    >>> F.maximum(np.array([1., 3.]), np.array([2., 2.])).array
    array([2., 3.])
    """
    return Maximum().apply((x1, x2))[0]
