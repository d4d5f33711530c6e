"""Laplace distribution."""
import math

import chainer
from chainer import backend, distribution, function_node, utils
from chainer import functions as F
from chainer.distributions import _array_code, _elementwise


class Laplace(_elementwise.Elementwise):
    r"""Laplace distribution.

    .. math:: p(x) = \frac{1}{2 b} \exp\left(-\frac{|x - \mu|}{b}\right)

    Args:
        loc (Variable or array): Location :math:`\mu`.
        scale (Variable or array): Scale :math:`b > 0`.

    .. doctest::

        >>> chainer.distributions.Laplace(np.zeros(1), np.ones(1)).prob(np.zeros(1))
        variable([0.5])
    """

    _names = 'loc', 'scale'

    def __init__(self, loc, scale):
        self._loc = chainer.as_variable(loc)
        self._scale = chainer.as_variable(scale)

    @property
    def loc(self):
        """Location."""
        return self._loc

    @property
    def scale(self):
        """Scale."""
        return self._scale

    def _minus_distance(self, x):
        return -abs(_array_code.as_float(x, self.loc) - self.loc) / self.scale

    def log_prob(self, x):
        """Returns the logarithm of the density at ``x``."""
        return self._minus_distance(x) - F.log(2 * self.scale)

    def prob(self, x):
        """Returns the density at ``x``."""
        return F.exp(self._minus_distance(x)) / (2 * self.scale)

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        x = _array_code.as_float(x, self.loc)
        return _CDF().apply(((x - self.loc) / self.scale,))[0]

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        x = _array_code.as_float(x, self.loc)
        return self.loc + self.scale * _ICDF().apply((x,))[0]

    def sample_n(self, n):
        """Draws ``n`` random points, differentiable by location and scale."""
        noise = _array_code.draw('laplace', n, self.loc)
        return self.loc + self.scale * noise

    @property
    def mean(self):
        """Mean, ``loc``."""
        return self.loc

    @property
    def mode(self):
        """Mode, ``loc``."""
        return self.loc

    @property
    def variance(self):
        """Variance."""
        return 2 * self.scale ** 2

    @property
    def stddev(self):
        """Standard deviation."""
        return math.sqrt(2) * self.scale

    @property
    def entropy(self):
        """Entropy in nats."""
        return 1 + F.log(2 * self.scale)

    @property
    def support(self):
        """``'real'``."""
        return 'real'


# Both are differentiable at their middle, which a composition with abs() would not know.

class _CDF(function_node.FunctionNode):
    """Cumulative distribution function of location 0 and scale 1."""

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        xp = backend.get_array_module(x)
        tail = xp.exp(-abs(x)) / 2
        return xp.where(x < 0, tail, 1 - tail),

    def backward(self, indexes, gy):
        x, = self.get_retained_inputs()
        return gy[0] * F.exp(-abs(x)) / 2,


class _ICDF(function_node.FunctionNode):
    """Its inverse."""

    def forward(self, inputs):
        p, = inputs
        self.retain_inputs((0,))
        h = p - 0.5
        xp = backend.get_array_module(p)
        return utils.force_array(-xp.sign(h) * xp.log1p(-2 * abs(h))),

    def backward(self, indexes, gy):
        p, = self.get_retained_inputs()
        return gy[0] / (0.5 - abs(p - 0.5)),


@distribution.register_kl(Laplace, Laplace)
def _kl_laplace_laplace(dist1, dist2):
    distance = abs(dist1.loc - dist2.loc)
    return (F.log(dist2.scale) - F.log(dist1.scale) + distance / dist2.scale
            + dist1.scale / dist2.scale * F.exp(-distance / dist1.scale) - 1)
