"""Dirichlet distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code
from chainer.utils import cache


class Dirichlet(distribution.Distribution):
    r"""Dirichlet distribution.

    .. math::
        p(x) = \frac{\Gamma(\sum_i \alpha_i)}{\prod_i \Gamma(\alpha_i)}
        \prod_i x_i^{\alpha_i - 1}

    Args:
        alpha (Variable or array): Parameters :math:`\alpha_i > 0` along the last axis.

    .. doctest::

        >>> chainer.distributions.Dirichlet(np.array([1.0, 3.0])).mean
        variable([0.25, 0.75])
    """

    def __init__(self, alpha):
        self._alpha = chainer.as_variable(alpha)

    @property
    def alpha(self):
        """Parameters."""
        return self._alpha

    @cache.cached_property
    def alpha0(self):
        """Sum of the parameters along the last axis."""
        return F.sum(self.alpha, axis=-1)

    @property
    def params(self):
        """Dictionary of the parameter ``alpha``."""
        return {'alpha': self.alpha}

    @property
    def batch_shape(self):
        """Shape of the parameter without the last axis."""
        return self.alpha.shape[:-1]

    @property
    def event_shape(self):
        """Length of the last axis, as a tuple."""
        return self.alpha.shape[-1:]

    @cache.cached_property
    def _log_beta(self):
        return F.sum(F.lgamma(self.alpha), axis=-1) - F.lgamma(self.alpha0)

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        x = _array_code.as_float(x, self.alpha)
        return F.sum((self.alpha - 1) * F.log(x), axis=-1) - self._log_beta

    def sample_n(self, n):
        """Draws ``n`` random points, without gradients."""
        return _array_code.without_gradient(_drawn, self.alpha, constants=(n,))

    @cache.cached_property
    def _alpha0_beside(self):
        return F.expand_dims(self.alpha0, axis=-1)

    @property
    def mean(self):
        """Mean."""
        return self.alpha / self._alpha0_beside

    @property
    def variance(self):
        """Variance of each element."""
        total = self._alpha0_beside
        return self.mean * (total - self.alpha) / total / (total + 1)

    @property
    def entropy(self):
        """Entropy in nats."""
        return (self._log_beta
                + (self.alpha0 - self.event_shape[0]) * F.digamma(self.alpha0)
                - F.sum((self.alpha - 1) * F.digamma(self.alpha), axis=-1))

    @property
    def support(self):
        """``'[0, 1]'``."""
        return '[0, 1]'


def _drawn(xp, alpha, n):
    rows = alpha.reshape(-1, alpha.shape[-1])
    columns = [xp.random.dirichlet(rows[i], size=n) for i in range(len(rows))]
    return xp.stack(columns, axis=1).reshape((n, *alpha.shape)).astype(alpha.dtype)


@distribution.register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(dist1, dist2):
    digammas = F.digamma(dist1.alpha) - F.expand_dims(F.digamma(dist1.alpha0), axis=-1)
    return (dist2._log_beta - dist1._log_beta
            + F.sum((dist1.alpha - dist2.alpha) * digammas, axis=-1))
