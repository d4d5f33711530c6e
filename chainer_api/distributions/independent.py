"""Distributions whose batch is taken as one event."""
import math

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.utils import cache


class Independent(distribution.Distribution):
    """Distribution whose last batch axes are part of the event.

    Args:
        distribution (Distribution): The distribution of the elements.
        reinterpreted_batch_ndims (int): Number of the batch axes that become event axes; all
            but the first by default.

    Raises:
        ValueError: If there are not that many batch axes.

    .. doctest::

        >>> d = chainer.distributions.Normal(np.zeros((2, 3)), np.ones((2, 3)))
        >>> i = chainer.distributions.Independent(d)
        >>> i.batch_shape, i.event_shape
        ((2,), (3,))
        >>> i.log_prob(np.zeros((5, 2, 3))).shape
        (5, 2)
    """

    def __init__(self, distribution, reinterpreted_batch_ndims=None):
        ndim = len(distribution.batch_shape)
        if reinterpreted_batch_ndims is None:
            reinterpreted_batch_ndims = max(0, ndim - 1)
        if not 0 <= reinterpreted_batch_ndims <= ndim:
            raise ValueError(
                'reinterpreted_batch_ndims must be less than or equal to the number of '
                f'dimensions of distribution.batch_shape, which is {ndim}, and not negative; '
                f'it is {reinterpreted_batch_ndims}')
        self._distribution = distribution
        self._ndims = reinterpreted_batch_ndims

    @property
    def distribution(self):
        """The distribution of the elements."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self):
        """Number of batch axes that are event axes."""
        return self._ndims

    @property
    def batch_shape(self):
        """Shape of the batch that remains."""
        shape = self.distribution.batch_shape
        return shape[:len(shape) - self._ndims]

    @property
    def event_shape(self):
        """Batch axes that are event axes, then the event axes of the distribution."""
        shape = self.distribution.batch_shape
        return shape[len(shape) - self._ndims:] + self.distribution.event_shape

    @property
    def params(self):
        """Dictionary of the parameters of the distribution."""
        return self.distribution.params

    @property
    def support(self):
        """Support of the elements."""
        return self.distribution.support

    @property
    def xp(self):
        """Array module of the parameters."""
        return self.distribution.xp

    @property
    def mean(self):
        """Mean of the elements."""
        return self.distribution.mean

    @property
    def mode(self):
        """Mode of the elements."""
        return self.distribution.mode

    @property
    def variance(self):
        """Variance of the elements."""
        return self.distribution.variance

    @property
    def stddev(self):
        """Standard deviation of the elements."""
        return self.distribution.stddev

    @cache.cached_property
    def covariance(self):
        """Covariance matrix of an event, flattened: block diagonal."""
        inner = self.distribution.covariance
        count = math.prod(self.distribution.batch_shape[len(self.batch_shape):])
        size = inner.shape[-1]
        blocks = inner.reshape((*self.batch_shape, count, size, 1, size))
        dtype = inner.dtype
        places = self.xp.eye(count, dtype=dtype).reshape((count, 1, count, 1))
        return (blocks * places).reshape((*self.batch_shape, count * size, count * size))

    @property
    def entropy(self):
        """Entropy in nats."""
        return self._sum(self.distribution.entropy)

    def _axes(self):
        return tuple(range(-self._ndims, 0))

    def _sum(self, x):
        return F.sum(x, axis=self._axes()) if self._ndims else x

    def _product(self, x):
        return F.prod(x, axis=self._axes()) if self._ndims else x

    def prob(self, x):
        """Returns the density at ``x``, the product of those of the elements."""
        return self._product(self.distribution.prob(x))

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        return self._sum(self.distribution.log_prob(x))

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        return self._product(self.distribution.cdf(x))

    def log_cdf(self, x):
        """Returns the logarithm of the cumulative distribution function at ``x``."""
        return self._sum(self.distribution.log_cdf(x))

    def icdf(self, x):
        """Raises ``RuntimeError``: the function of several variables has no inverse."""
        raise RuntimeError(
            'the cumulative distribution function of several variables is not invertible; '
            'use icdf of the attribute distribution')

    def survival_function(self, x):
        """Returns the probability that all elements are greater than those of ``x``."""
        return self._product(self.distribution.survival_function(x))

    def log_survival_function(self, x):
        """Returns the logarithm of the survival function at ``x``."""
        return self._sum(self.distribution.log_survival_function(x))

    def perplexity(self, x):
        """Returns the product of the perplexities of the elements at ``x``."""
        return self._product(self.distribution.perplexity(x))

    def sample_n(self, n):
        """Draws ``n`` random points."""
        return self.distribution.sample_n(n)


@distribution.register_kl(Independent, Independent)
def _kl_independent_independent(dist1, dist2):
    if dist1.event_shape != dist2.event_shape:
        raise ValueError(
            'the divergence needs equal event shapes, not '
            f'{dist1.event_shape} and {dist2.event_shape}')
    if dist1.reinterpreted_batch_ndims != dist2.reinterpreted_batch_ndims:
        raise ValueError(
            'the divergence needs equal reinterpreted_batch_ndims, not '
            f'{dist1.reinterpreted_batch_ndims} and {dist2.reinterpreted_batch_ndims}')
    return dist1._sum(chainer.kl_divergence(dist1.distribution, dist2.distribution))
