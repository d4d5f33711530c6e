"""Interface of probability distributions, and divergences between two of them."""
import copy

import numpy


class Distribution:
    """Interface of probability distributions.

    A distribution draws random points, evaluates functions such as densities at points, and
    knows moments and other properties. All of them are :class:`~chainer.Variable` objects that
    can be differentiated, as far as mathematics allows.

    Points have three parts of shape, ``sample_shape + batch_shape + event_shape``: an event is
    what cannot be drawn in parts (the vector of a multivariate normal distribution); a batch
    holds independent events of distributions with different parameters; the sample shape
    counts repeated draws of the batch. Functions of points have ``sample_shape + batch_shape``.

    Child classes override what they can compute; everything else raises
    ``NotImplementedError``.

    .. doctest::

        >>> loc = np.zeros((4, 3, 2), np.float32)
        >>> scale_tril = np.tile(np.eye(2, dtype=np.float32), (4, 3, 1, 1))
        >>> d = chainer.distributions.MultivariateNormal(loc, scale_tril=scale_tril)
        >>> d.batch_shape, d.event_shape
        ((4, 3), (2,))
        >>> d.sample((6, 5)).shape
        (6, 5, 4, 3, 2)
    """

    def _copy_to(self, target):
        target.__dict__.update(copy.copy(self.__dict__))
        return target

    def _lacks(self, what):
        return NotImplementedError(
            f'{what} is not defined for {type(self).__name__}; a child class may override it')

    @property
    def batch_shape(self):
        """Shape of the batch, a tuple of int."""
        raise self._lacks('batch_shape')

    @property
    def event_shape(self):
        """Shape of an event, a tuple of int."""
        raise self._lacks('event_shape')

    @property
    def params(self):
        """Dictionary of the parameters (Variables) by their names."""
        raise self._lacks('params')

    @property
    def support(self):
        """Text that tells which values the points have."""
        raise self._lacks('support')

    @property
    def xp(self):
        """Array module of the parameters, ``numpy`` or ``cupy``; ``None`` without parameters."""
        for param in self.params.values():
            return param.xp
        return None

    @property
    def mean(self):
        """Mean."""
        raise self._lacks('mean')

    @property
    def mode(self):
        """Mode, the most probable value."""
        raise self._lacks('mode')

    @property
    def variance(self):
        """Variance."""
        raise self._lacks('variance')

    @property
    def stddev(self):
        """Standard deviation."""
        raise self._lacks('stddev')

    @property
    def covariance(self):
        """Covariance matrix of the elements of an event."""
        raise self._lacks('covariance')

    @property
    def entropy(self):
        """Entropy in nats."""
        raise self._lacks('entropy')

    def cdf(self, x):
        """Returns the cumulative distribution function at ``x``."""
        raise self._lacks('cdf')

    def icdf(self, x):
        """Returns the inverse of the cumulative distribution function at ``x``."""
        raise self._lacks('icdf')

    def log_cdf(self, x):
        """Returns the logarithm of the cumulative distribution function at ``x``."""
        raise self._lacks('log_cdf')

    def log_prob(self, x):
        """Returns the logarithm of the probability (or its density) at ``x``."""
        raise self._lacks('log_prob')

    def log_survival_function(self, x):
        """Returns the logarithm of the survival function at ``x``."""
        raise self._lacks('log_survival_function')

    def perplexity(self, x):
        """Returns the perplexity at ``x``."""
        raise self._lacks('perplexity')

    def prob(self, x):
        """Returns the probability (or its density) at ``x``."""
        raise self._lacks('prob')

    def survival_function(self, x):
        """Returns the survival function, one minus the cumulative one, at ``x``."""
        raise self._lacks('survival_function')

    def sample(self, sample_shape=()):
        """Draws random points.

        Child classes override :meth:`sample_n`, on which this method rests.

        Args:
            sample_shape (int or tuple of int): How many points, and in which shape.

        Returns:
            Variable: Points of shape ``sample_shape + batch_shape + event_shape``.
        """
        if not isinstance(sample_shape, tuple):
            sample_shape = sample_shape,
        points = self.sample_n(int(numpy.prod(sample_shape)))
        return points.reshape(sample_shape + points.shape[1:])

    def sample_n(self, n):
        """Draws ``n`` random points.

        Args:
            n (int): How many.

        Returns:
            Variable: Points of shape ``(n,) + batch_shape + event_shape``.
        """
        raise self._lacks('sample_n')


_divergences = {}


def register_kl(Dist1, Dist2):
    """Decorator of a function that computes the Kullback-Leibler divergence of two classes.

    :func:`kl_divergence` calls the function for distributions of exactly these classes.

    Args:
        Dist1 (type): Class of the first distribution.
        Dist2 (type): Class of the second distribution.

    .. doctest::

        >>> class Zero(chainer.distributions.Normal):
        ...     def __init__(self):
        ...         super().__init__(np.zeros(1, 'f'), np.ones(1, 'f'))
        >>> @chainer.register_kl(Zero, Zero)
        ... def _kl_zero_zero(dist1, dist2):
        ...     return chainer.Variable(np.zeros(1, 'f'))
        >>> chainer.kl_divergence(Zero(), Zero())
        variable([0.])
    """
    def register(function):
        _divergences[Dist1, Dist2] = function
        return function
    return register


def kl_divergence(dist1, dist2):
    r"""Computes the Kullback-Leibler divergence.

    .. math:: D_{KL}(p \| q) = \int p(x) \log \frac{p(x)}{q(x)} dx

    for distributions of numbers, and the sum instead of the integral for discrete ones.

    Args:
        dist1 (Distribution): Distribution :math:`p`.
        dist2 (Distribution): Distribution :math:`q`.

    Returns:
        Variable: Divergences of the shape of the batch.

    Raises:
        KeyError: If no function is registered for the two classes, see :func:`register_kl`.

    .. doctest::

        >>> D = chainer.distributions
        >>> p = D.Normal(np.array([0.0]), np.array([1.0]))
        >>> q = D.Normal(np.array([1.0]), np.array([1.0]))
        >>> chainer.kl_divergence(p, q)
        variable([0.5])
    """
    try:
        function = _divergences[type(dist1), type(dist2)]
    except KeyError:
        names = f'{type(dist1).__name__}, {type(dist2).__name__}'
        raise KeyError(
            f'no Kullback-Leibler divergence is known from {type(dist1)} to {type(dist2)}; '
            f'decorate a function that computes it with @chainer.register_kl({names})') from None
    return function(dist1, dist2)


def cross_entropy(dist1, dist2):
    r"""Computes the cross entropy.

    .. math:: H(p, q) = - \int p(x) \log q(x) dx

    for distributions of numbers, and the sum instead of the integral for discrete ones. It is
    the entropy of ``dist1`` plus :func:`kl_divergence`, both of which must be known.

    Args:
        dist1 (Distribution): Distribution :math:`p`.
        dist2 (Distribution): Distribution :math:`q`.

    Returns:
        Variable: Cross entropies of the shape of the batch.

    Raises:
        KeyError: If the divergence is not known.
        NotImplementedError: If the entropy of ``dist1`` is not known.

    .. doctest::

        >>> p = chainer.distributions.Categorical(np.array([0.5, 0.5]))
        >>> chainer.cross_entropy(p, p)
        variable(0.69314718)
    """
    return dist1.entropy + kl_divergence(dist1, dist2)
