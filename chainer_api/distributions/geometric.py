"""Geometric distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise


class Geometric(_elementwise.Elementwise):
    r"""Geometric distribution: the number of trials up to the first success.

    .. math:: P(x) = p (1 - p)^{x - 1}, \quad x = 1, 2, \ldots

    Args:
        p (Variable or array): Probability :math:`p` of success.

    .. doctest::

        >>> chainer.distributions.Geometric(np.array([0.25])).mean
        variable([4.])
    """

    _names = 'p',

    def __init__(self, p):
        self._p = chainer.as_variable(p)

    @property
    def p(self):
        """Probability of success."""
        return self._p

    def log_prob(self, x):
        """Returns the logarithm of the probability of ``x``."""
        x = _array_code.as_float(x, self.p)
        return (x - 1) * F.log1p(-self.p) + F.log(self.p)

    def sample_n(self, n):
        """Draws ``n`` random points, of the dtype of ``p``, without gradients."""
        return _array_code.draw('geometric', n, self.p, (self.p,))

    @property
    def mean(self):
        """Mean."""
        return 1 / self.p

    @property
    def variance(self):
        """Variance."""
        return (1 - self.p) / self.p ** 2

    @property
    def support(self):
        """``'positive integer'``."""
        return 'positive integer'


@distribution.register_kl(Geometric, Geometric)
def _kl_geometric_geometric(dist1, dist2):
    return ((1 / dist1.p - 1) * (F.log1p(-dist1.p) - F.log1p(-dist2.p))
            + F.log(dist1.p) - F.log(dist2.p))
