"""One-hot categorical distribution."""
import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code, categorical
from chainer.utils import cache


class OneHotCategorical(distribution.Distribution):
    """Categorical distribution whose points are one-hot vectors.

    Args:
        p (Variable or array): Probabilities; those along the last axis sum up to one.

    .. doctest::

        >>> d = chainer.distributions.OneHotCategorical(np.array([0.25, 0.75]))
        >>> F.sum(d.sample_n(3), axis=1)
        variable([1., 1., 1.])
    """

    def __init__(self, p):
        self._p = chainer.as_variable(p)

    @property
    def p(self):
        """Probabilities."""
        return self._p

    @cache.cached_property
    def log_p(self):
        """Logarithms of the probabilities."""
        return F.log(self.p)

    @property
    def params(self):
        """Dictionary of the parameter ``p``."""
        return {'p': self.p}

    @property
    def batch_shape(self):
        """Shape of the parameter without the last axis."""
        return self.p.shape[:-1]

    @property
    def event_shape(self):
        """Number of categories, as a tuple."""
        return self.p.shape[-1:]

    def log_prob(self, x):
        """Returns the logarithm of the probability of the one-hot vectors ``x``."""
        return F.sum(self.log_p * _array_code.as_float(x, self.p), axis=-1)

    def sample_n(self, n):
        """Draws ``n`` random points, of the dtype of ``p``, without gradients."""
        return _array_code.without_gradient(_chosen_rows, self.p, constants=(n,))

    @property
    def mean(self):
        """Mean, ``p``."""
        return self.p

    @property
    def variance(self):
        """Variance of each element."""
        return self.p * (1 - self.p)


def _chosen_rows(xp, p, n):
    return xp.eye(p.shape[-1], dtype=p.dtype)[categorical.choose(xp, p, n)]


@distribution.register_kl(OneHotCategorical, OneHotCategorical)
def _kl_one_hot_categorical_one_hot_categorical(dist1, dist2):
    return F.sum(dist1.p * (dist1.log_p - dist2.log_p), axis=-1)
