"""Pareto distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Pareto(_elementwise.Elementwise):
    r"""Pareto distribution.

    .. math:: p(x) = \alpha \frac{s^\alpha}{x^{\alpha + 1}}, \quad x \ge s

    Args:
        scale (Variable or array): Smallest value :math:`s > 0`.
        alpha (Variable or array): Parameter :math:`\alpha > 0`.

    .. doctest::

        >>> chainer.distributions.Pareto(np.array([2.0]), np.array([2.0])).mean
        variable([4.])
    """

    _names = 'scale', 'alpha'

    def __init__(self, scale, alpha):
        self._scale = chainer.as_variable(scale)
        self._alpha = chainer.as_variable(alpha)

    @property
    def scale(self):
        """Smallest value."""
        return self._scale

    @property
    def alpha(self):
        """Exponent."""
        return self._alpha

    @cache.cached_property
    def _log_scale(self):
        return F.log(self.scale)

    @cache.cached_property
    def _log_alpha(self):
        return F.log(self.alpha)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.scale)
        value = (self._log_alpha + self.alpha * self._log_scale
                 - (self.alpha + 1) * F.log(x))
        return _array_code.on_support(value, _is_at_least, x, self.scale)

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by the scale."""
        noise = _array_code.draw('pareto', n, self.alpha, (self.alpha,))
        return self.scale * (noise + 1)

    def _moment(self, value, order):
        """``value``, or infinity where ``alpha`` is too small for it."""
        return _array_code.infinite_unless(value, _is_above, self.alpha, constants=(order,))

    @property
    def mean(self):
        """Mean, infinite if ``alpha`` is not greater than 1."""
        return self._moment(self.alpha * self.scale / (self.alpha - 1), 1)

    @property
    def variance(self):
        """Variance, infinite if ``alpha`` is not greater than 2."""
        return self._moment(
            self.scale ** 2 * self.alpha / (self.alpha - 1) ** 2 / (self.alpha - 2), 2)

    @property
    def entropy(self):
        """Entropy in nats."""
        return self._log_scale - self._log_alpha + 1 / self.alpha + 1

    @property
    def support(self):
        """``'[scale, inf]'``."""
        return '[scale, inf]'


def _is_at_least(xp, x, y):
    return x >= y


def _is_above(xp, x, limit):
    return x > limit


@distribution.register_kl(Pareto, Pareto)
def _kl_pareto_pareto(dist1, dist2):
    value = (dist2.alpha * (dist1._log_scale - dist2._log_scale)
             + dist1._log_alpha - dist2._log_alpha + dist2.alpha / dist1.alpha - 1)
    return _array_code.infinite_unless(value, _is_at_least, dist1.scale, dist2.scale)
