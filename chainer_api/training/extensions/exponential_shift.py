"""An attribute of the optimizer that grows or shrinks by a factor."""
from chainer.training.extensions import _shift


class ExponentialShift(_shift.Shift):
    """Extension that multiplies an attribute of an optimizer by a factor at each call.

    It is set before the training, and again when that is resumed.

    Args:
        attr (str): Name of the attribute, such as ``'lr'``.
        rate (float): The factor.
        init (float): Initial value; that which the attribute has before the training if ``None``.
        target (float): Value to stop at; none if ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.

    Raises:
        ValueError: ``rate`` is negative.
    """

    def __init__(self, attr, rate, init=None, target=None, optimizer=None):
        super().__init__(attr, init, optimizer)
        if rate < 0:
            raise ValueError('ExponentialShift does not support negative rate')
        self._rate = rate
        self._target = target

    def _value(self, t):
        value = self._init * self._rate ** t
        return _shift.limited(value, self._target, growing=self._rate > 1)
