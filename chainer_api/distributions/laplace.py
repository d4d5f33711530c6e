"""Laplace distribution."""
import math

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise


class Laplace(_elementwise.Elementwise):
    r"""Laplace distribution.

    .. math:: p(x) = \frac{1}{2 b} \exp\left(-\frac{|x - \mu|}{b}\right)

    Args:
        loc (Variable or array): Location :math:`\mu`.
        scale (Variable or array): Scale :math:`b > 0`.

    .. doctest::

        >>> chainer.distributions.Laplace(np.zeros(1), np.ones(1)).prob(np.zeros(1))
        variable([0.5])
    """

    _names = 'loc', 'scale'

    def __init__(self, loc, scale):
        self._loc = chainer.as_variable(loc)
        self._scale = chainer.as_variable(scale)

    @property
    def loc(self):
        """Location."""
        return self._loc

    @property
    def scale(self):
        """Scale."""
        return self._scale

    def _minus_distance(self, x):
        return -abs(_array_code.as_float(x, self.loc) - self.loc) / self.scale

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        return self._minus_distance(x) - F.log(2 * self.scale)

    def prob(self, x):
        """Returns the density at ``x``."""
        return F.exp(self._minus_distance(x)) / (2 * self.scale)

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        x = _array_code.as_float(x, self.loc)
        tail = 0.5 * F.exp(self._minus_distance(x))
        below = _array_code.without_gradient(lambda xp, x, loc: x < loc, x, self.loc)
        return F.where(below, tail, 1 - tail)

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        h = 0.5 - chainer.as_variable(x)
        return self.loc + self.scale * F.sign(h) * F.log1p(-2 * abs(h))

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by location and scale."""
        noise = _array_code.draw(lambda random, size, _: random.laplace(size=size), n, self.loc)
        return self.loc + self.scale * noise

    @property
    def mean(self):
        """Mean, ``loc``."""
        return self.loc

    @property
    def mode(self):
        """Mode, ``loc``."""
        return self.loc

    @property
    def variance(self):
        """Variance."""
        return 2 * self.scale ** 2

    @property
    def stddev(self):
        """Standard deviation."""
        return math.sqrt(2) * self.scale

    @property
    def entropy(self):
        """Entropy in nats."""
        return 1 + F.log(2 * self.scale)

    @property
    def support(self):
        """``'real'``."""
        return 'real'


@distribution.register_kl(Laplace, Laplace)
def _kl_laplace_laplace(dist1, dist2):
    distance = abs(dist1.loc - dist2.loc)
    return (F.log(dist2.scale) - F.log(dist1.scale) + distance / dist2.scale
            + dist1.scale / dist2.scale * F.exp(-distance / dist1.scale) - 1)
