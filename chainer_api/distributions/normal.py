"""Normal distribution."""
import math

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


class Normal(_elementwise.Elementwise):
    r"""Normal distribution.

    .. math::
        p(x) = \frac{1}{\sqrt{2 \pi} \sigma} \exp\left(-\frac{(x - \mu)^2}{2 \sigma^2}\right)

    Exactly one of ``scale`` and ``log_scale`` is given.

    Args:
        loc (Variable or array): Mean :math:`\mu`.
        scale (Variable or array): Standard deviation :math:`\sigma > 0`.
        log_scale (Variable or array): :math:`\log \sigma`.

    Raises:
        ValueError: If both or none of ``scale`` and ``log_scale`` are given.

    .. doctest::

        >>> d = chainer.distributions.Normal(np.zeros(1), np.ones(1))
        >>> d.cdf(np.array([1.0]))
        variable([0.84134475])
        >>> d.sample((3,)).shape
        (3, 1)
    """

    _names = 'loc', 'scale'

    def __init__(self, loc, scale=None, *, log_scale=None):
        _array_code.either('`scale` or `log_scale`', (scale,), (log_scale,))
        self._loc = chainer.as_variable(loc)
        self._given_scale = None if scale is None else chainer.as_variable(scale)
        self._given_log_scale = None if log_scale is None else chainer.as_variable(log_scale)

    @property
    def loc(self):
        """Mean."""
        return self._loc

    @cache.cached_property
    def scale(self):
        """Standard deviation."""
        if self._given_scale is None:
            return F.exp(self._given_log_scale)
        return self._given_scale

    @cache.cached_property
    def log_scale(self):
        """Logarithm of the standard deviation."""
        if self._given_log_scale is None:
            return F.log(self._given_scale)
        return self._given_log_scale

    def _standardized(self, x):
        return (_array_code.as_float(x, self.loc) - self.loc) / self.scale

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        return -_HALF_LOG_2_PI - self.log_scale - 0.5 * self._standardized(x) ** 2

    def prob(self, x):
        """Returns the density at ``x``."""
        factor = 1 / math.sqrt(2 * math.pi)
        return factor / self.scale * F.exp(-0.5 * self._standardized(x) ** 2)

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        return F.ndtr(self._standardized(x))

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        return self.loc + self.scale * F.ndtri(_array_code.as_float(x, self.loc))

    def log_cdf(self, x):
        """Returns the logarithm of the cumulative distribution function at ``x``."""
        return F.log_ndtr(self._standardized(x))

    def survival_function(self, x):
        """Returns the survival function at ``x``."""
        return F.ndtr(-self._standardized(x))

    def log_survival_function(self, x):
        """Returns the logarithm of the survival function at ``x``."""
        return F.log_ndtr(-self._standardized(x))

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by mean and standard deviation."""
        noise = _array_code.draw('standard_normal', n, self.loc)
        return self.loc + self.scale * noise

    @property
    def mean(self):
        """Mean, ``loc``."""
        return self.loc

    @property
    def variance(self):
        """Variance."""
        return self.scale ** 2

    @property
    def stddev(self):
        """Standard deviation, ``scale``."""
        return self.scale

    @property
    def entropy(self):
        """Entropy in nats."""
        return 0.5 + _HALF_LOG_2_PI + self.log_scale

    @property
    def support(self):
        """``'real'``."""
        return 'real'


@distribution.register_kl(Normal, Normal)
def _kl_normal_normal(dist1, dist2):
    distance = (dist1.loc - dist2.loc) / dist2.scale
    ratio = dist1.scale / dist2.scale
    return dist2.log_scale - dist1.log_scale + 0.5 * (ratio ** 2 + distance ** 2 - 1)
