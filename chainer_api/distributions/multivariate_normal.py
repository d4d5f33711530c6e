"""Multivariate normal distribution."""
import math

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code
from chainer.utils import cache


def _ones_of_triangle(xp, x):
    return xp.tril(xp.ones_like(x))


def _triangular_inverse(matrix):
    """Inverse of the lower triangle of the matrices."""
    triangle = matrix * _array_code.without_gradient(_ones_of_triangle, matrix)
    size = matrix.shape[-1]
    return F.batch_inv(triangle.reshape((-1, size, size))).reshape(matrix.shape)


class MultivariateNormal(distribution.Distribution):
    r"""Multivariate normal distribution.

    .. math::
        p(x) = \frac{1}{\sqrt{\det(2 \pi V)}}
        \exp\left(-\frac{1}{2} (x - \mu)^T V^{-1} (x - \mu)\right)

    Args:
        loc (Variable or array): Mean :math:`\mu` of shape ``(..., d)``.
        scale_tril (Variable or array): Lower triangular matrices :math:`L` of shape
            ``(..., d, d)`` with :math:`V = L L^T`.

    Raises:
        ValueError: If ``scale_tril`` is not given.

    .. doctest::

        >>> scale_tril = np.array([[1.0, 0.0], [2.0, 1.0]])
        >>> chainer.distributions.MultivariateNormal(np.zeros(2), scale_tril=scale_tril).covariance
        variable([[1., 2.],
                  [2., 5.]])
    """

    def __init__(self, loc, *, scale_tril=None):
        if scale_tril is None:
            raise ValueError('`scale_tril` must have a value.')
        self._loc = chainer.as_variable(loc)
        self._scale_tril = chainer.as_variable(scale_tril)

    def __copy__(self):
        return self._copy_to(object.__new__(type(self)))

    @property
    def loc(self):
        """Mean."""
        return self._loc

    @property
    def scale_tril(self):
        """Lower triangular factor of the covariance."""
        return self._scale_tril

    @property
    def d(self):
        """Number of dimensions."""
        return self.loc.shape[-1]

    @property
    def params(self):
        """Dictionary of the parameters ``loc`` and ``scale_tril``."""
        return {'loc': self.loc, 'scale_tril': self.scale_tril}

    @property
    def batch_shape(self):
        """Shape of the mean without the last axis."""
        return self.loc.shape[:-1]

    @property
    def event_shape(self):
        """Number of dimensions, as a tuple."""
        return self.loc.shape[-1:]

    @cache.cached_property
    def _log_det(self):
        diagonal = F.diagonal(self.scale_tril, axis1=-2, axis2=-1)
        return F.sum(F.log(abs(diagonal)), axis=-1)

    @cache.cached_property
    def _inverse(self):
        return _triangular_inverse(self.scale_tril)

    def _standardized(self, difference):
        """``L^-1`` times vectors of shape ``(..., d)``."""
        inverse = F.broadcast_to(
            self._inverse, difference.shape[:-1] + self._inverse.shape[-2:])
        return F.squeeze(F.matmul(inverse, F.expand_dims(difference, axis=-1)), axis=-1)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        z = self._standardized(_array_code.as_float(x, self.loc) - self.loc)
        constant = 0.5 * self.event_shape[0] * math.log(2 * math.pi)
        return -constant - self._log_det - 0.5 * F.sum(z ** 2, axis=-1)

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by both parameters."""
        noise = _array_code.draw('standard_normal', n, self.loc)
        scale = F.broadcast_to(self.scale_tril, (n, *self.scale_tril.shape))
        return self.loc + F.squeeze(F.matmul(scale, F.expand_dims(noise, axis=-1)), axis=-1)

    @property
    def mean(self):
        """Mean, ``loc``."""
        return self.loc

    @cache.cached_property
    def covariance(self):
        """Covariance matrices of shape ``batch_shape + (d, d)``."""
        axes = (*range(self.scale_tril.ndim - 2), -1, -2)
        return F.matmul(self.scale_tril, F.transpose(self.scale_tril, axes))

    @property
    def entropy(self):
        """Entropy in nats."""
        return self._log_det + 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi))

    @property
    def support(self):
        """``'real'``."""
        return 'real'


@distribution.register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariate_normal_multivariate_normal(dist1, dist2):
    ratio = F.matmul(dist2._inverse, dist1.scale_tril)
    z = dist2._standardized(dist2.loc - dist1.loc)
    return (dist2._log_det - dist1._log_det
            + 0.5 * (F.sum(ratio ** 2, axis=(-2, -1)) + F.sum(z ** 2, axis=-1)
                     - dist1.event_shape[0]))
