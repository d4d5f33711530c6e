"""Bernoulli distribution."""
import chainer
from chainer import backend, distribution, function_node
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise
from chainer.utils import cache


class Bernoulli(_elementwise.Elementwise):
    r"""Bernoulli distribution: one with probability :math:`p`, else zero.

    Exactly one of ``p`` and ``logit`` is given.

    Args:
        p (Variable or array): Probability :math:`p` of one.
        logit (Variable or array): :math:`\log(p / (1 - p))`.
        binary_check (bool): Whether values between zero and one have the probability zero, too.
            Without it, the formula for zero and one is taken there.

    Raises:
        ValueError: If both or none of ``p`` and ``logit`` are given.

    .. doctest::

        >>> d = chainer.distributions.Bernoulli(np.array([0.25, 0.5]))
        >>> d.prob(np.array([1.0, 0.0]))
        variable([0.25, 0.5 ])
    """

    _names = 'logit',

    def __init__(self, p=None, logit=None, binary_check=False):
        _array_code.either('`p` or `logit`', (p,), (logit,))
        self._given_p = None if p is None else chainer.as_variable(p)
        self._given_logit = None if logit is None else chainer.as_variable(logit)
        self.binary_check = binary_check

    @cache.cached_property
    def p(self):
        """Probability of one."""
        return F.sigmoid(self._given_logit) if self._given_p is None else self._given_p

    @cache.cached_property
    def logit(self):
        """Logarithm of the odds of one."""
        if self._given_logit is not None:
            return self._given_logit
        return F.log(self.p) - F.log1p(-self.p)

    def log_prob(self, x):
        """Returns the logarithm of the probability of ``x``."""
        x = _array_code.as_float(x, self.logit)
        value, = _LogProb().apply((self.logit, x))
        possible = _is_binary if self.binary_check else _array_code.is_a_part
        return _array_code.on_support(value, possible, x)

    def prob(self, x):
        """Returns the probability of ``x``."""
        x = _array_code.as_float(x, self.p)
        value = x * self.p + (1 - x) * (1 - self.p)
        if not self.binary_check:
            return value
        return value * _array_code.without_gradient(_ones_at_binary, x)

    def sample_n(self, n):
        """Draws ``n`` random points, integers, without gradients."""
        return _array_code.without_gradient(_drawn, self.p, constants=(n,))

    @property
    def mean(self):
        """Mean, ``p``."""
        return self.p

    @property
    def variance(self):
        """Variance."""
        return self.p * (1 - self.p)

    @property
    def stddev(self):
        """Standard deviation."""
        return F.sqrt(self.variance)

    @property
    def entropy(self):
        """Entropy in nats."""
        return -_array_code.xlogx(self.p) - _array_code.xlogx(1 - self.p)

    @property
    def support(self):
        """``'{0, 1}'``."""
        return '{0, 1}'


def _is_binary(xp, x):
    return (x == 0) | (x == 1)


def _ones_at_binary(xp, x):
    return _is_binary(xp, x).astype(x.dtype)


def _drawn(xp, p, n):
    return xp.random.binomial(1, p, size=(n,) + p.shape)


class _LogProb(function_node.FunctionNode):
    """``x logit - softplus(logit)``, and its limits where the logit is infinite."""

    def forward(self, inputs):
        logit, x = inputs
        xp = backend.get_array_module(logit)
        self.retain_inputs((0, 1))
        certain = xp.isinf(logit)
        zero, minus_inf = logit.dtype.type(0), logit.dtype.type('-inf')
        finite = xp.where(certain, zero, logit)
        value = x * finite - xp.maximum(finite, 0) - xp.log1p(xp.exp(-abs(finite)))
        limit = xp.where((x > 0) == (logit > 0), zero, minus_inf)
        return xp.where(certain, limit, value).astype(logit.dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        logit, x = self.get_retained_inputs()
        return F.sum_to(grad_outputs[0] * (x - F.sigmoid(logit)), logit.shape), None


@distribution.register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(dist1, dist2):
    return (dist1.p * (dist1.logit - dist2.logit)
            - F.softplus(dist1.logit) + F.softplus(dist2.logit))
