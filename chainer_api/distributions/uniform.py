"""Uniform distribution."""
import math

import numpy

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Uniform(_elementwise.Elementwise):
    r"""Uniform distribution.

    .. math:: p(x) = \frac{1}{h - l}, \quad l \le x \le h

    Either ``low`` and ``high``, or ``loc`` and ``scale`` are given.

    Args:
        low (Variable or array): Lower bound :math:`l`.
        high (Variable or array): Higher bound :math:`h`.
        loc (Variable or array): Lower bound :math:`l`.
        scale (Variable or array): Width :math:`h - l`.

    Raises:
        ValueError: If not exactly one pair is given.

    .. doctest::

        >>> d = chainer.distributions.Uniform(low=np.array([1.0]), high=np.array([3.0]))
        >>> d.mean, d.cdf(np.array([1.5]))
        (variable([2.]), variable([0.25]))
    """

    def __init__(self, *, low=None, high=None, loc=None, scale=None):
        _array_code.either('`low, high` or `loc, scale`', (low, high), (loc, scale))
        self._by_bounds = low is not None
        self._low = chainer.as_variable(low if self._by_bounds else loc)
        self._end = chainer.as_variable(high if self._by_bounds else scale)
        self._names = ('low', 'high') if self._by_bounds else ('loc', 'scale')

    @property
    def low(self):
        """Lower bound."""
        return self._low

    @property
    def loc(self):
        """Lower bound."""
        return self._low

    @cache.cached_property
    def high(self):
        """Higher bound."""
        return self._end if self._by_bounds else self._low + self._end

    @cache.cached_property
    def scale(self):
        """Width."""
        return self._end - self._low if self._by_bounds else self._end

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.low)
        shape = numpy.broadcast_shapes(x.shape, self.scale.shape)
        value = F.broadcast_to(-F.log(self.scale), shape)
        return _array_code.on_support(value, _is_within, x, self.low, self.high)

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        return F.clip((_array_code.as_float(x, self.low) - self.low) / self.scale, 0.0, 1.0)

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        return self.low + self.scale * _array_code.as_float(x, self.low)

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by the parameters."""
        noise = _array_code.draw('uniform', n, self.low)
        return self.low + self.scale * noise

    @property
    def mean(self):
        """Mean."""
        return 0.5 * (self.low + self.high)

    @property
    def variance(self):
        """Variance."""
        return self.scale ** 2 / 12

    @property
    def stddev(self):
        """Standard deviation."""
        return self.scale * math.sqrt(1 / 12)

    @property
    def entropy(self):
        """Entropy in nats."""
        return F.log(self.scale)

    @property
    def support(self):
        """``'[low, high]'``."""
        return '[low, high]'


def _is_within(xp, x, low, high):
    return (x >= low) & (x <= high)


def _is_part_of(xp, low, high, of_low, of_high):
    return (low >= of_low) & (high <= of_high)


@distribution.register_kl(Uniform, Uniform)
def _kl_uniform_uniform(dist1, dist2):
    value = F.log(dist2.scale) - F.log(dist1.scale)
    return _array_code.infinite_unless(
        value, _is_part_of, dist1.low, dist1.high, dist2.low, dist2.high)
