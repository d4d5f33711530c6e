"""What the extensions that change an optimizer's attribute share."""
from chainer import serializer as serializer_module
from chainer.training import extension


class Shift(extension.Extension):
    """Base of extensions that set an attribute of an optimizer by the number of their calls.

    The attribute is set before the training as well. Optimizers do not save such attributes: the
    extension saves what the attribute is, and sets it again when the training is resumed.
    Subclasses define :meth:`_value`.

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
        self._resumed_value = None

    def initialize(self, trainer):
        """Sets the attribute to its initial value, or to the last one of a resumed training."""
        if self._optimizer is None:
            self._optimizer = trainer.updater.get_optimizer('main')
        if self._init is None:
            self._init = getattr(self._optimizer, self._attr)
        value = self._resumed_value
        if value is None:
            value = self._value(self._t) if self._t else self._first_value()
        setattr(self._optimizer, self._attr, value)

    def __call__(self, trainer):
        """Sets the attribute to its next value."""
        self._t += 1
        setattr(self._optimizer, self._attr, self._value(self._t))

    def _first_value(self):
        return self._init

    def _value(self, t):
        """The value after ``t`` calls."""
        raise NotImplementedError

    def serialize(self, serializer):
        """Saves or restores the number of calls, the initial value and that of now."""
        self._t = serializer('_t', self._t)
        if isinstance(serializer, serializer_module.Deserializer):
            self._resumed_value = _load(serializer, '_last_value')
            if self._init is None:
                self._init = _load(serializer, '_init')
        elif self._optimizer is not None and self._init is not None:
            serializer('_last_value', float(getattr(self._optimizer, self._attr)))
            serializer('_init', float(self._init))


def _load(serializer, key):
    try:
        value = serializer(key, None)
    except KeyError:  # Chainer saves some of these for some of the extensions
        return None
    return None if value is None else float(value)


def limited(value, target, growing):
    """``value``, or ``target`` where ``value`` is beyond it.

    It is measured by the quotient of both, which is to grow or to shrink: so a negative value
    shrinks up to a negative target.
    """
    if target is None:
        return value
    if not target:
        return min(value, target) if growing else max(value, target)
    quotient = value / target
    beyond = quotient > 1 if growing else quotient < 1
    return target if beyond else value
