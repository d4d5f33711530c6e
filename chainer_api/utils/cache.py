"""Properties that are computed once."""
import chainer


class cached_property:
    """Property whose value is computed at the first access and kept in the instance.

    The value is kept separately for ``enable_backprop`` on and off, as a variable computed in
    :func:`chainer.no_backprop_mode` cannot be differentiated.

    Args:
        func (callable): The getter.
    """

    def __init__(self, func):
        self.func = func
        self.__name__ = func.__name__
        self.__doc__ = func.__doc__
        self.__module__ = func.__module__

    def __get__(self, obj, cls=None):
        if obj is None:
            return self
        values = obj.__dict__.setdefault('_cached_properties', {})
        key = self.__name__, bool(chainer.config.enable_backprop)
        if key not in values:
            values[key] = self.func(obj)
        return values[key]

    def __set__(self, obj, value):
        raise AttributeError(f'{self.__name__} cannot be set, it is computed')
