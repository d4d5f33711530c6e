"""Poisson distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Poisson(_elementwise.Elementwise):
    r"""Poisson distribution.

    .. math:: P(x) = \frac{\lambda^x e^{-\lambda}}{x!}, \quad x = 0, 1, \ldots

    Args:
        lam (Variable or array): Rate :math:`\lambda > 0`.

    .. doctest::

        >>> F.exp(chainer.distributions.Poisson(np.ones(1)).log_prob(np.zeros(1)))
        variable([0.36787944])
    """

    _names = 'lam',

    def __init__(self, lam):
        self._lam = chainer.as_variable(lam)

    @property
    def lam(self):
        """Rate."""
        return self._lam

    @cache.cached_property
    def _log_lam(self):
        return F.log(self.lam)

    def log_prob(self, x):
        """Returns the logarithm of the probability of ``x``, a constant for gradients."""
        x = chainer.as_variable(_array_code.as_float(x, self.lam).array)
        return self._log_lam * x - F.lgamma(x + 1) - self.lam

    def sample_n(self, n):
        """Draws ``n`` random points, of the dtype of ``lam``, without gradients."""
        return _array_code.draw('poisson', n, self.lam, (self.lam,))

    @property
    def mean(self):
        """Mean, ``lam``."""
        return self.lam

    @property
    def variance(self):
        """Variance, ``lam``."""
        return self.lam

    @property
    def support(self):
        """``'non negative integer'``."""
        return 'non negative integer'


@distribution.register_kl(Poisson, Poisson)
def _kl_poisson_poisson(dist1, dist2):
    return dist1.lam * (dist1._log_lam - dist2._log_lam) - dist1.lam + dist2.lam
