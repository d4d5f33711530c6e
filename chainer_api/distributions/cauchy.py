"""Cauchy distribution."""
import math
import warnings

import numpy

import chainer
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise


class Cauchy(_elementwise.Elementwise):
    r"""Cauchy distribution.

    .. math:: p(x) = \frac{1}{\pi} \frac{\gamma}{(x - x_0)^2 + \gamma^2}

    Args:
        loc (Variable or array): Location :math:`x_0`.
        scale (Variable or array): Scale :math:`\gamma > 0`.

    .. doctest::

        >>> chainer.distributions.Cauchy(np.zeros(1), np.ones(1)).cdf(np.array([1.0]))
        variable([0.75])
    """

    _names = 'loc', 'scale'

    def __init__(self, loc, scale):
        self._loc = chainer.as_variable(loc)
        self._scale = chainer.as_variable(scale)

    @property
    def loc(self):
        """Location, the median."""
        return self._loc

    @property
    def scale(self):
        """Scale."""
        return self._scale

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        d = _array_code.as_float(x, self.loc) - self.loc
        return F.log(self.scale / (d ** 2 + self.scale ** 2)) - math.log(math.pi)

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        return F.arctan((_array_code.as_float(x, self.loc) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        return self.loc + self.scale * F.tan(math.pi * (_array_code.as_float(x, self.loc) - 0.5))

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by location and scale."""
        noise = _array_code.draw('standard_cauchy', n, self.loc)
        return self.loc + self.scale * noise

    def _undefined(self, what):
        warnings.warn(
            f'{what} of the cauchy distribution is undefined.', RuntimeWarning, stacklevel=3)
        return chainer.as_variable(_array_code.filled(self.loc, numpy.nan))

    @property
    def mean(self):
        """NaN, as the mean is undefined."""
        return self._undefined('Mean')

    @property
    def variance(self):
        """NaN, as the variance is undefined."""
        return self._undefined('Variance')

    @property
    def entropy(self):
        """Entropy in nats."""
        return F.log(4 * math.pi * self.scale)

    @property
    def support(self):
        """``'real'``."""
        return 'real'
