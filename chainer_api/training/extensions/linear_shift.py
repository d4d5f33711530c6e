"""An attribute of the optimizer that goes from one value to another."""
from chainer.training.extensions import _shift


class LinearShift(_shift.Shift):
    """Extension that takes an attribute of an optimizer from one value to another, linearly.

    It is set before the training, and again when that is resumed.

    Args:
        attr (str): Name of the attribute, such as ``'momentum'``.
        value_range (tuple of float): The first and the last value.
        time_range (tuple of int): The numbers of calls up to which the first value, and from which
            on the last value holds.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.
    """

    def __init__(self, attr, value_range, time_range, optimizer=None):
        super().__init__(attr, value_range[0], optimizer)
        self._value_range = value_range
        self._time_range = time_range

    def _first_value(self):
        return self._value(self._t)

    def _value(self, t):
        first, last = self._value_range
        start, end = self._time_range
        if t <= start:
            return first
        if t >= end:
            return last
        return first + (t - start) / (end - start) * (last - first)
