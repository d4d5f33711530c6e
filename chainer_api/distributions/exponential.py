"""Exponential distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Exponential(_elementwise.Elementwise):
    r"""Exponential distribution.

    .. math:: p(x) = \lambda e^{-\lambda x}, \quad x \ge 0

    Args:
        lam (Variable or array): Rate :math:`\lambda > 0`.

    .. doctest::

        >>> chainer.distributions.Exponential(np.array([4.0])).mean
        variable([0.25])
    """

    _names = 'lam',

    def __init__(self, lam):
        self._lam = chainer.as_variable(lam)

    @property
    def lam(self):
        """Rate."""
        return self._lam

    @cache.cached_property
    def _log_lam(self):
        return F.log(self.lam)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.lam)
        return _array_code.on_support(self._log_lam - self.lam * x, _array_code.is_not_negative, x)

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        return -F.expm1(-self.lam * _array_code.as_float(x, self.lam))

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        return -F.log1p(-_array_code.as_float(x, self.lam)) / self.lam

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by the rate."""
        noise = _array_code.draw('standard_exponential', n, self.lam)
        return noise / self.lam

    @property
    def mean(self):
        """Mean."""
        return 1 / self.lam

    @property
    def variance(self):
        """Variance."""
        return 1 / self.lam ** 2

    @property
    def entropy(self):
        """Entropy in nats."""
        return 1 - self._log_lam

    @property
    def support(self):
        """``'positive'``."""
        return 'positive'


@distribution.register_kl(Exponential, Exponential)
def _kl_exponential_exponential(dist1, dist2):
    return dist1._log_lam - dist2._log_lam + dist2.lam / dist1.lam - 1
