"""What the extensions that change an optimizer's attribute share."""
from chainer.training import extension


class Shift(extension.Extension):
    """Base of extensions that set an attribute of an optimizer by the number of their calls.

    The attribute is set before the training as well, and again when it was resumed. Subclasses
    define :meth:`_value`.

    Args:
        attr (str): Name of the attribute.
        init (float): Its initial value; the one that it has before the training if ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.
    """

    def __init__(self, attr, init=None, optimizer=None):
        self._attr = attr
        self._init = init
        self._optimizer = optimizer
        self._t = 0
        self._last_value = None

    def initialize(self, trainer):
        """Sets the attribute to its initial value, or to the last one of a resumed training."""
        optimizer = self._get_optimizer(trainer)
        if self._init is None:
            self._init = getattr(optimizer, self._attr)
        self._set(optimizer, self._first_value() if self._last_value is None else self._last_value)

    def __call__(self, trainer):
        """Sets the attribute to its next value."""
        self._t += 1
        self._set(self._get_optimizer(trainer), self._value(self._t))

    def _first_value(self):
        return self._init

    def _value(self, t):
        """The value after ``t`` calls."""
        raise NotImplementedError

    def _get_optimizer(self, trainer):
        return self._optimizer or trainer.updater.get_optimizer('main')

    def _set(self, optimizer, value):
        setattr(optimizer, self._attr, value)
        self._last_value = value

    def serialize(self, serializer):
        """Saves or restores the number of calls and the last value."""
        self._t = serializer('_t', self._t)
        last_value = serializer('_last_value', self._last_value)
        self._last_value = None if last_value is None else float(last_value)


def limited(value, target, rising):
    """``value``, but not beyond ``target``."""
    if target is None:
        return value
    return min(value, target) if rising else max(value, target)
