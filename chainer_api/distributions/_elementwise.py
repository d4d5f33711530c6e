"""Distributions of single numbers."""
from chainer import distribution


class Elementwise(distribution.Distribution):
    """Distribution of single numbers, one for each element of its parameters.

    A child class names its parameters in ``_names``.
    """

    _names = ()

    @property
    def params(self):
        """Dictionary of the parameters (Variables) by their names."""
        return {name: getattr(self, name) for name in self._names}

    @property
    def batch_shape(self):
        """Shape of the parameters."""
        return getattr(self, self._names[0]).shape

    @property
    def event_shape(self):
        """``()``, as an event is a single number."""
        return ()
