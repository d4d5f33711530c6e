"""Categorical distribution."""
import numpy

import chainer
from chainer import distribution
from chainer import functions as F
from chainer.distributions import _array_code
from chainer.utils import cache


def choose(xp, p, n):
    """Draws categories, by one call of ``choice`` for each row of the probabilities ``p``.

    Returns:
        array: Integers of shape ``(n,) + p.shape[:-1]``.
    """
    rows = p.reshape(-1, p.shape[-1])
    columns = [xp.random.choice(p.shape[-1], size=n, p=rows[i]) for i in range(len(rows))]
    return xp.stack(columns, axis=-1).reshape((n,) + p.shape[:-1])


class Categorical(distribution.Distribution):
    """Categorical distribution: category ``i`` with probability ``p[..., i]``.

    Exactly one of ``p`` and ``logit`` is given.

    Args:
        p (Variable or array): Probabilities; those along the last axis sum up to one.
        logit (Variable or array): Logarithms of the probabilities up to a constant.

    Raises:
        ValueError: If both or none of ``p`` and ``logit`` are given.

    .. doctest::

        >>> d = chainer.distributions.Categorical(np.array([[0.25, 0.75], [0.5, 0.5]]))
        >>> F.exp(d.log_prob(np.array([1, 0])))
        variable([0.75, 0.5 ])
    """

    def __init__(self, p=None, *, logit=None):
        _array_code.either('`p` or `logit`', (p,), (logit,))
        self._given_p = None if p is None else chainer.as_variable(p)
        self._logit = None if logit is None else chainer.as_variable(logit)

    @cache.cached_property
    def p(self):
        """Probabilities."""
        return F.exp(self.log_p) if self._given_p is None else self._given_p

    @cache.cached_property
    def log_p(self):
        """Logarithms of the probabilities."""
        if self._logit is None:
            return F.log(self.p)
        return F.log_softmax(self._logit, axis=-1)

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
        """``()``, as an event is a single integer."""
        return ()

    def log_prob(self, x):
        """Returns the logarithm of the probability of the category ``x`` (integers)."""
        x = _array_code.as_point(x, self.p)
        if x.dtype.kind != 'i':
            x = F.cast(x, numpy.int32)
        n = self.p.shape[-1]
        shape = numpy.broadcast_shapes(x.shape, self.batch_shape)
        rows = F.broadcast_to(self.log_p, (*shape, n)).reshape((-1, n))
        return F.select_item(rows, F.broadcast_to(x, shape).reshape((-1,))).reshape(shape)

    def sample_n(self, n):
        """Draws ``n`` random points, integers, without gradients."""
        return _array_code.without_gradient(choose, self.p, constants=(n,))

    @property
    def entropy(self):
        """Entropy in nats."""
        return -F.sum(_array_code.xlogx(self.p), axis=-1)


@distribution.register_kl(Categorical, Categorical)
def _kl_categorical_categorical(dist1, dist2):
    return F.sum(dist1.p * (dist1.log_p - dist2.log_p), axis=-1)
