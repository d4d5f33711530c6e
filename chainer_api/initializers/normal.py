"""Initializers that draw from a normal distribution."""
import math

from chainer import backend, initializer


class Normal(initializer.Initializer):
    """Draws each element independently from a normal distribution of mean 0.

    Args:
        scale (float): Standard deviation.
        dtype: See :class:`chainer.Initializer`.
        rng (numpy.random.RandomState or cupy.random.RandomState): Generator to draw from. The
            default is the global one, ``numpy.random`` or ``cupy.random``.

    Example:
        >>> import numpy as np, chainer
        >>> a = np.empty((100, 100), np.float32)
        >>> chainer.initializers.Normal(0.2, rng=np.random.RandomState(0))(a)
        >>> bool(abs(a.std() - 0.2) < 0.01)
        True
    """

    rng = None  # also for pickles of Chainer 5

    def __init__(self, scale=0.05, dtype=None, *, rng=None):
        self.scale = scale
        self.rng = rng
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        self._draw(array, self.scale)

    def _draw(self, array, scale):
        rng = self.rng
        if rng is None:
            rng = backend.get_array_module(array).random
        array[...] = rng.normal(loc=0.0, scale=scale, size=array.shape)


class LeCunNormal(Normal):
    """Normal distribution of standard deviation ``scale * sqrt(1 / fan_in)``.

    Reference: LeCun et al., `Efficient BackProp
    <http://yann.lecun.com/exdb/publis/pdf/lecun-98b.pdf>`_ (1998).

    Args:
        scale (float): Factor of the standard deviation.
        dtype: See :class:`chainer.Initializer`.
        rng: See :class:`Normal`.

    Raises:
        ValueError: When called with an array of fewer than two axes.

    Example:
        >>> import numpy as np, chainer
        >>> initializer = chainer.initializers.LeCunNormal()
        >>> a = chainer.initializers.generate_array(initializer, (50, 100), np)
        >>> bool(abs(a.std() - (1 / 100) ** 0.5) < 0.01)
        True
    """

    def __init__(self, scale=1.0, dtype=None, *, rng=None):
        super().__init__(scale, dtype, rng=rng)

    def __call__(self, array):
        self._check_dtype(array)
        fan_in, _ = initializer.get_fans(array.shape)
        self._draw(array, self.scale * math.sqrt(1. / fan_in))


class GlorotNormal(Normal):
    """Normal distribution of standard deviation ``scale * sqrt(2 / (fan_in + fan_out))``.

    Reference: Glorot and Bengio, Understanding the difficulty of training deep feedforward
    neural networks, AISTATS 2010.

    Args:
        scale (float): Factor of the standard deviation.
        dtype: See :class:`chainer.Initializer`.
        rng: See :class:`Normal`.

    Raises:
        ValueError: When called with an array of fewer than two axes.

    Example:
        >>> import numpy as np, chainer
        >>> initializer = chainer.initializers.GlorotNormal()
        >>> a = chainer.initializers.generate_array(initializer, (50, 100), np)
        >>> bool(abs(a.std() - (2 / 150) ** 0.5) < 0.01)
        True
    """

    def __init__(self, scale=1.0, dtype=None, *, rng=None):
        super().__init__(scale, dtype, rng=rng)

    def __call__(self, array):
        self._check_dtype(array)
        fan_in, fan_out = initializer.get_fans(array.shape)
        self._draw(array, self.scale * math.sqrt(2. / (fan_in + fan_out)))


class HeNormal(Normal):
    """Normal distribution of standard deviation ``scale * sqrt(2 / fan)``.

    Reference: He et al., `Delving Deep into Rectifiers <https://arxiv.org/abs/1502.01852>`_.

    Args:
        scale (float): Factor of the standard deviation.
        dtype: See :class:`chainer.Initializer`.
        fan_option (str): ``'fan_in'`` (the default) or ``'fan_out'``: which of the two ``fan`` is.
        rng: See :class:`Normal`.

    Raises:
        ValueError: When called with an array of fewer than two axes, or with another
            ``fan_option``.

    Example:
        >>> import numpy as np, chainer
        >>> initializer = chainer.initializers.HeNormal()
        >>> a = chainer.initializers.generate_array(initializer, (50, 100), np)
        >>> bool(abs(a.std() - (2 / 100) ** 0.5) < 0.01)
        True
    """

    def __init__(self, scale=1.0, dtype=None, fan_option='fan_in', *, rng=None):
        self.fan_option = fan_option
        super().__init__(scale, dtype, rng=rng)

    def __call__(self, array):
        self._check_dtype(array)
        fan_in, fan_out = initializer.get_fans(array.shape)
        fans = {'fan_in': fan_in, 'fan_out': fan_out}
        if self.fan_option not in fans:
            raise ValueError(
                "fan_option should be either 'fan_in' or 'fan_out'. "
                f'Actual: {self.fan_option!r}')
        self._draw(array, self.scale * math.sqrt(2. / fans[self.fan_option]))
