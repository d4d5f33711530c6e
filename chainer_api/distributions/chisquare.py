"""Chi-square distribution."""
import math

import chainer
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Chisquare(_elementwise.Elementwise):
    r"""Chi-square distribution.

    .. math:: p(x) = \frac{x^{k / 2 - 1} e^{-x / 2}}{2^{k / 2} \Gamma(k / 2)}, \quad x > 0

    Args:
        k (Variable or array): Degrees of freedom :math:`k`, floating point.

    .. doctest::

        >>> chainer.distributions.Chisquare(np.array([3.0])).variance
        variable([6.])
    """

    _names = 'k',

    def __init__(self, k):
        self._k = chainer.as_variable(k)

    @property
    def k(self):
        """Degrees of freedom."""
        return self._k

    @cache.cached_property
    def _half_k(self):
        return 0.5 * self.k

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.k)
        half = self._half_k
        value = (half - 1) * F.log(x) - 0.5 * x - half * math.log(2) - F.lgamma(half)
        return _array_code.on_support(value, _array_code.is_not_negative, x)

    def sample_n(self, n):
        """Draws ``n`` random points, without gradients."""
        return _array_code.draw('chisquare', n, self.k, (self.k,))

    @property
    def mean(self):
        """Mean, ``k``."""
        return self.k

    @property
    def variance(self):
        """Variance."""
        return 2 * self.k

    @property
    def entropy(self):
        """Entropy in nats."""
        half = self._half_k
        return half + math.log(2) + F.lgamma(half) + (1 - half) * F.digamma(half)

    @property
    def support(self):
        """``'positive'``."""
        return 'positive'
