"""Beta distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Beta(_elementwise.Elementwise):
    r"""Beta distribution.

    .. math:: p(x) = \frac{x^{a - 1} (1 - x)^{b - 1}}{B(a, b)}, \quad 0 \le x \le 1

    Args:
        a (Variable or array): Parameter :math:`a > 0`.
        b (Variable or array): Parameter :math:`b > 0`.

    .. doctest::

        >>> chainer.distributions.Beta(np.array([1.0]), np.array([3.0])).mean
        variable([0.25])
    """

    _names = 'a', 'b'

    def __init__(self, a, b):
        self._a = chainer.as_variable(a)
        self._b = chainer.as_variable(b)

    @property
    def a(self):
        """Parameter of the powers of the value."""
        return self._a

    @property
    def b(self):
        """Parameter of the powers of one minus the value."""
        return self._b

    @cache.cached_property
    def _sum(self):
        return self.a + self.b

    @cache.cached_property
    def _log_beta(self):
        return F.lgamma(self.a) + F.lgamma(self.b) - F.lgamma(self._sum)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.a)
        value = (self.a - 1) * F.log(x) + (self.b - 1) * F.log1p(-x) - self._log_beta
        return _array_code.on_support(value, _array_code.is_a_part, x)

    def sample_n(self, n):
        """Draws ``n`` random points, without gradients."""
        return _array_code.draw('beta', n, self.a, (self.a, self.b))

    @property
    def mean(self):
        """Mean."""
        return self.a / self._sum

    @property
    def variance(self):
        """Variance."""
        return self.a * self.b / self._sum ** 2 / (self._sum + 1)

    @property
    def entropy(self):
        """Entropy in nats."""
        a, b, total = self.a, self.b, self._sum
        return (self._log_beta - (a - 1) * F.digamma(a) - (b - 1) * F.digamma(b)
                + (total - 2) * F.digamma(total))

    @property
    def support(self):
        """``'[0, 1]'``."""
        return '[0, 1]'


@distribution.register_kl(Beta, Beta)
def _kl_beta_beta(dist1, dist2):
    return (dist2._log_beta - dist1._log_beta
            + (dist1.a - dist2.a) * F.digamma(dist1.a)
            + (dist1.b - dist2.b) * F.digamma(dist1.b)
            + (dist2._sum - dist1._sum) * F.digamma(dist1._sum))
