"""Sum with a broadcast bias."""
import chainer
from chainer.functions.math import scale
from chainer.variable import Variable


def bias(x, y, axis=1) -> Variable:
    """Add an array whose axes are some of those of ``x``.

    Args:
        x (Variable or array): the array.
        y (Variable or array): summands; their axes are those of ``x`` from ``axis`` on.
        axis (int): the first axis of ``x`` that ``y`` has.

    Returns:
        Variable: of the shape of ``x``.

    Raises:
        InvalidType: if the shape of ``y`` does not fit.

    .. seealso:: :class:`chainer.links.Bias`

    >>> x = np.arange(6.).reshape(2, 3)
    >>> F.bias(x, np.array([10., 20., 30.])).array
    array([[10., 21., 32.],
           [13., 24., 35.]])
    """
    return chainer.as_variable(x) + scale.spread(y, x, axis)
