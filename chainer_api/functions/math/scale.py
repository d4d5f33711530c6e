"""Product with broadcast weights."""
import chainer
from chainer import functions as F
from chainer.utils import _errors
from chainer.variable import Variable


def scale(x, y, axis=1) -> Variable:
    """Multiply by an array whose axes are some of those of ``x``.

    Args:
        x (Variable or array): the array.
        y (Variable or array): factors; their axes are those of ``x`` from ``axis`` on.
        axis (int): the first axis of ``x`` that ``y`` has.

    Returns:
        Variable: of the shape of ``x``.

    Raises:
        InvalidType: if the shape of ``y`` does not fit.

    .. seealso:: :class:`chainer.links.Scale`

    >>> x = np.arange(6.).reshape(2, 3)
    >>> F.scale(x, np.array([1., 10., 100.])).array
    array([[  0.,  10., 200.],
           [  3.,  40., 500.]])
    """
    return chainer.as_variable(x) * spread(y, x, axis)


def spread(y, x, axis):
    """``y``, whose axes are those of ``x`` from ``axis`` on, in the shape of ``x``."""
    _errors.check_arrays('scale or bias', x=x, y=y)
    shape = (1,) * axis + y.shape + (1,) * (x.ndim - axis - y.ndim)
    return F.broadcast_to(F.reshape(y, shape), x.shape)
