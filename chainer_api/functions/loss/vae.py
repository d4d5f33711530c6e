"""Losses of variational autoencoders."""
import math

import chainer
from chainer import functions as F
from chainer.utils import _errors
from chainer.variable import Variable


def _reduce(loss, reduce):
    if reduce == 'sum':
        return F.sum(loss)
    return F.mean(loss) if reduce == 'mean' else loss


def _check_reduce(reduce):
    if reduce not in ('sum', 'mean', 'no'):
        raise ValueError(
            f"only 'sum', 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")


def gaussian_kl_divergence(mean, ln_var, reduce='sum') -> Variable:
    r"""Kullback-Leibler divergence of normal distributions from the standard one.

    .. math:: \frac{1}{2} (\mu^2 + \sigma^2 - \log \sigma^2 - 1)

    See: `Kingma and Welling, Auto-Encoding Variational Bayes
    <https://arxiv.org/abs/1312.6114>`_.

    Args:
        mean (Variable or array): means, a floating-point array.
        ln_var (Variable or array): logarithms of the variances.
        reduce (str): ``'sum'``, ``'mean'``, or ``'no'`` for that of each element.

    Returns:
        Variable: without dimensions, or in the shape of ``mean``.

    Raises:
        ValueError: if ``reduce`` is something else.

    >>> F.gaussian_kl_divergence(np.array([1., 2.]), np.zeros(2)).array
    array(2.5)
    """
    _check_reduce(reduce)
    return _reduce((F.square(mean) + F.exp(ln_var) - ln_var - 1) * 0.5, reduce)


def bernoulli_nll(x, y, reduce='sum') -> Variable:
    r"""Negative log-likelihood of Bernoulli distributions.

    .. math:: -x \log \sigma(y) - (1 - x) \log (1 - \sigma(y))

    Args:
        x (Variable or array): observations from 0 to 1; an array may be of any dtype, a Variable
            is of that of ``y``.
        y (Variable or array): scores of the probabilities, which are the sigmoids of ``y``.
        reduce (str): ``'sum'``, ``'mean'``, or ``'no'`` for that of each element.

    Returns:
        Variable: without dimensions, or in the shape of ``x``.

    Raises:
        ValueError: if ``reduce`` is something else.

    >>> F.bernoulli_nll(np.array([1., 0.]), np.array([0., 2.]), reduce='no').array
    array([0.69314718, 2.12692801])
    """
    _check_reduce(reduce)
    y = chainer.as_variable(y)
    if isinstance(x, chainer.get_array_types()) and x.dtype != y.dtype:
        x = x.astype(y.dtype)  # observations are often integers
    return _reduce(F.softplus(y) - chainer.as_variable(x) * y, reduce)


def gaussian_nll(x, mean, ln_var, reduce='sum') -> Variable:
    r"""Negative log-likelihood of normal distributions.

    .. math:: \frac{1}{2} (\log 2 \pi + \log \sigma^2 + (x - \mu)^2 / \sigma^2)

    Args:
        x (Variable or array): observations, a floating-point array.
        mean (Variable or array): means.
        ln_var (Variable or array): logarithms of the variances.
        reduce (str): ``'sum'``, ``'mean'``, or ``'no'`` for that of each element.

    Returns:
        Variable: without dimensions, or in the shape of ``x``.

    Raises:
        ValueError: if ``reduce`` is something else.

    >>> F.gaussian_nll(np.zeros(2), np.array([0., 1.]), np.zeros(2), reduce='no').array
    array([0.91893853, 1.41893853])
    """
    _check_reduce(reduce)
    _errors.check_arrays('gaussian_nll', x=x, mean=mean, ln_var=ln_var)
    square = F.square(chainer.as_variable(x) - mean)
    loss = (ln_var + square * F.exp(-ln_var) + math.log(2 * math.pi)) * 0.5
    return _reduce(loss, reduce)
