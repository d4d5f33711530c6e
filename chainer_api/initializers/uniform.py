"""Initializers that draw from a uniform distribution."""
import math

from chainer import backend, initializer


class Uniform(initializer.Initializer):
    """Draws each element independently and uniformly from ``[-scale, scale]``.

    Args:
        scale (float): Half the width of the interval.
        dtype: See :class:`chainer.Initializer`.
        rng (numpy.random.RandomState or cupy.random.RandomState): Generator to draw from. The
            default is the global one, ``numpy.random`` or ``cupy.random``.

    Attributes:
        scale (float): The value given to the constructor.

    Example:
        >>> import numpy as np, chainer
        >>> a = np.empty((100,), np.float32)
        >>> chainer.initializers.Uniform(0.2)(a)
        >>> bool((abs(a) <= 0.2).all())
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
        array[...] = rng.uniform(low=-scale, high=scale, size=array.shape)


class LeCunUniform(Uniform):
    """Uniform distribution over ``[-s, s]``, where ``s = scale * sqrt(3 / fan_in)``.

    Reference: LeCun et al., `Efficient BackProp
    <http://yann.lecun.com/exdb/publis/pdf/lecun-98b.pdf>`_ (1998).

    Args:
        scale (float): Factor of ``s``.
        dtype: See :class:`chainer.Initializer`.
        rng: See :class:`Uniform`.

    Raises:
        ValueError: When called with an array of fewer than two axes.

    Example:
        >>> import numpy as np, chainer
        >>> initializer = chainer.initializers.LeCunUniform()
        >>> a = chainer.initializers.generate_array(initializer, (50, 100), np)
        >>> bool(abs(a).max() <= (3 / 100) ** 0.5)
        True
    """

    def __init__(self, scale=1.0, dtype=None, *, rng=None):
        super().__init__(scale, dtype, rng=rng)

    def __call__(self, array):
        self._check_dtype(array)
        fan_in, _ = initializer.get_fans(array.shape)
        self._draw(array, self.scale * math.sqrt(3. / fan_in))


class GlorotUniform(Uniform):
    """Uniform distribution over ``[-s, s]``, where ``s = scale * sqrt(6 / (fan_in + fan_out))``.

    Reference: Glorot and Bengio, Understanding the difficulty of training deep feedforward
    neural networks, AISTATS 2010.

    Args:
        scale (float): Factor of ``s``.
        dtype: See :class:`chainer.Initializer`.
        rng: See :class:`Uniform`.

    Raises:
        ValueError: When called with an array of fewer than two axes.

    Example:
        >>> import numpy as np, chainer
        >>> initializer = chainer.initializers.GlorotUniform()
        >>> a = chainer.initializers.generate_array(initializer, (50, 100), np)
        >>> bool(abs(a).max() <= (6 / 150) ** 0.5)
        True
    """

    def __init__(self, scale=1.0, dtype=None, *, rng=None):
        super().__init__(scale, dtype, rng=rng)

    def __call__(self, array):
        self._check_dtype(array)
        fan_in, fan_out = initializer.get_fans(array.shape)
        self._draw(array, self.scale * math.sqrt(6. / (fan_in + fan_out)))


class HeUniform(Uniform):
    """Uniform distribution over ``[-s, s]``, where ``s = scale * sqrt(6 / fan_in)``.

    Reference: He et al., `Delving Deep into Rectifiers <https://arxiv.org/abs/1502.01852>`_.

    Args:
        scale (float): Factor of ``s``.
        dtype: See :class:`chainer.Initializer`.
        rng: See :class:`Uniform`.

    Raises:
        ValueError: When called with an array of fewer than two axes.

    Example:
        >>> import numpy as np, chainer
        >>> initializer = chainer.initializers.HeUniform()
        >>> a = chainer.initializers.generate_array(initializer, (50, 100), np)
        >>> bool(abs(a).max() <= (6 / 100) ** 0.5)
        True
    """

    def __init__(self, scale=1.0, dtype=None, *, rng=None):
        super().__init__(scale, dtype, rng=rng)

    def __call__(self, array):
        self._check_dtype(array)
        fan_in, _ = initializer.get_fans(array.shape)
        self._draw(array, self.scale * math.sqrt(6. / fan_in))
