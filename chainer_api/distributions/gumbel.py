"""Gumbel distribution."""
import math

import numpy

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Gumbel(_elementwise.Elementwise):
    r"""Gumbel distribution.

    .. math::
        p(x) = \frac{1}{\eta} \exp\left(-z - e^{-z}\right), \quad z = \frac{x - \mu}{\eta}

    Args:
        loc (Variable or array): Location :math:`\mu`, the mode.
        scale (Variable or array): Scale :math:`\eta > 0`.

    .. doctest::

        >>> chainer.distributions.Gumbel(np.zeros(1), np.ones(1)).mean
        variable([0.57721566])
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

    @cache.cached_property
    def _log_scale(self):
        return F.log(self.scale)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        z = (_array_code.as_float(x, self.loc) - self.loc) / self.scale
        return -self._log_scale - z - F.exp(-z)

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by location and scale."""
        noise = _array_code.draw('gumbel', n, self.loc)
        return self.loc + self.scale * noise

    @property
    def mean(self):
        """Mean."""
        return self.loc + numpy.euler_gamma * self.scale

    @property
    def variance(self):
        """Variance."""
        return math.pi ** 2 / 6 * self.scale ** 2

    @property
    def entropy(self):
        """Entropy in nats."""
        return self._log_scale + (numpy.euler_gamma + 1)

    @property
    def support(self):
        """``'real'``."""
        return 'real'


@distribution.register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(dist1, dist2):
    ratio = dist1.scale / dist2.scale
    distance = (dist1.loc - dist2.loc) / dist2.scale
    return (dist2._log_scale - dist1._log_scale + numpy.euler_gamma * (ratio - 1) + distance
            + F.exp(F.lgamma(ratio + 1) - distance) - 1)
