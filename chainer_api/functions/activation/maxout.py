"""Maxout."""
from chainer import functions as F
from chainer.utils import _errors, type_check
from chainer.variable import Variable


def maxout(x, pool_size, axis=1) -> Variable:
    """Largest of each group of ``pool_size`` neighbours along an axis.

    See: `Goodfellow et al., Maxout Networks <https://arxiv.org/abs/1302.4389>`_.

    Args:
        x (Variable or array): floating-point array.
        pool_size (int): how many values make one group; it divides the length of ``axis``.
        axis (int): the axis of the groups, counted from the first.

    Returns:
        Variable: of the dtype of ``x`` and its shape, ``axis`` shorter by ``pool_size``.

    Raises:
        ValueError: if ``pool_size`` is not positive.
        InvalidType: if ``pool_size`` does not divide the length of the axis.

    >>> F.maxout(np.array([[1, 5, 2, 3]], np.float32), 2).array
    array([[5., 3.]], dtype=float32)
    """
    if pool_size <= 0:
        raise ValueError('pool_size must be a positive integer.')
    _errors.check_arrays('maxout', x=x)
    length = x.shape[axis]
    if length % pool_size != 0:
        expect = 'x.shape[axis] % pool_size == 0'
        actual = f'x.shape[axis]={length}, pool_size={pool_size}'
        raise type_check.InvalidType(
            expect, actual, msg='axis dimension must be divided by pool_size')
    axis %= x.ndim
    shape = x.shape[:axis] + (length // pool_size, pool_size) + x.shape[axis + 1:]
    return F.max(F.reshape(x, shape), axis=axis + 1)
