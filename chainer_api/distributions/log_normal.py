"""Log-normal distribution."""
import math

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


class LogNormal(_elementwise.Elementwise):
    r"""Log-normal distribution: that of :math:`e^y` for normal :math:`y`.

    .. math::
        p(x) = \frac{1}{\sqrt{2 \pi} \sigma x}
        \exp\left(-\frac{(\log x - \mu)^2}{2 \sigma^2}\right), \quad x > 0

    Args:
        mu (Variable or array): Mean :math:`\mu` of the logarithm.
        sigma (Variable or array): Standard deviation :math:`\sigma > 0` of the logarithm.

    .. doctest::

        >>> chainer.distributions.LogNormal(np.zeros(1), np.ones(1)).mean
        variable([1.64872127])
    """

    _names = 'mu', 'sigma'

    def __init__(self, mu, sigma):
        self._mu = chainer.as_variable(mu)
        self._sigma = chainer.as_variable(sigma)

    @property
    def mu(self):
        """Mean of the logarithm."""
        return self._mu

    @property
    def sigma(self):
        """Standard deviation of the logarithm."""
        return self._sigma

    @cache.cached_property
    def _log_sigma(self):
        return F.log(self.sigma)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        log_x = F.log(_array_code.as_float(x, self.mu))
        z = (log_x - self.mu) / self.sigma
        return -_HALF_LOG_2_PI - self._log_sigma - log_x - 0.5 * z ** 2

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by both parameters."""
        noise = _array_code.draw('standard_normal', n, self.mu)
        return F.exp(self.mu + self.sigma * noise)

    @property
    def mean(self):
        """Mean."""
        return F.exp(self.mu + 0.5 * self.sigma ** 2)

    @property
    def variance(self):
        """Variance."""
        return F.exp(2 * self.mu + self.sigma ** 2) * F.expm1(self.sigma ** 2)

    @property
    def entropy(self):
        """Entropy in nats."""
        return 0.5 + _HALF_LOG_2_PI + self._log_sigma + self.mu

    @property
    def support(self):
        """``'positive'``."""
        return 'positive'


@distribution.register_kl(LogNormal, LogNormal)
def _kl_log_normal_log_normal(dist1, dist2):
    distance = (dist1.mu - dist2.mu) / dist2.sigma
    ratio = dist1.sigma / dist2.sigma
    return dist2._log_sigma - dist1._log_sigma + 0.5 * (ratio ** 2 + distance ** 2 - 1)
