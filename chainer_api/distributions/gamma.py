"""Gamma distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise


class Gamma(_elementwise.Elementwise):
    r"""Gamma distribution.

    .. math:: p(x) = \frac{x^{k - 1} e^{-x / \theta}}{\Gamma(k) \theta^k}, \quad x \ge 0

    Args:
        k (Variable or array): Shape parameter :math:`k > 0`.
        theta (Variable or array): Scale :math:`\theta > 0`.

    .. doctest::

        >>> chainer.distributions.Gamma(np.array([2.0]), np.array([3.0])).mean
        variable([6.])
    """

    _names = 'k', 'theta'

    def __init__(self, k, theta):
        self._k = chainer.as_variable(k)
        self._theta = chainer.as_variable(theta)

    @property
    def k(self):
        """Shape parameter."""
        return self._k

    @property
    def theta(self):
        """Scale."""
        return self._theta

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.k)
        value = ((self.k - 1) * F.log(x) - x / self.theta
                 - F.lgamma(self.k) - self.k * F.log(self.theta))
        return _array_code.on_support(value, _array_code.is_not_negative, x)

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by the scale."""
        return self.theta * _array_code.draw('standard_gamma', n, self.k, (self.k,))

    @property
    def mean(self):
        """Mean."""
        return self.k * self.theta

    @property
    def variance(self):
        """Variance."""
        return self.mean * self.theta

    @property
    def entropy(self):
        """Entropy in nats."""
        return (self.k + F.log(self.theta) + F.lgamma(self.k)
                + (1 - self.k) * F.digamma(self.k))

    @property
    def support(self):
        """``'positive'``."""
        return 'positive'


@distribution.register_kl(Gamma, Gamma)
def _kl_gamma_gamma(dist1, dist2):
    return ((dist1.k - dist2.k) * F.digamma(dist1.k) - F.lgamma(dist1.k) + F.lgamma(dist2.k)
            + dist2.k * (F.log(dist2.theta) - F.log(dist1.theta))
            + dist1.k * (dist1.theta / dist2.theta - 1))
