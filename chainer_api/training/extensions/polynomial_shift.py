"""An attribute of the optimizer that goes to zero like a power of the remaining time."""
from chainer.training.extensions import _shift


class PolynomialShift(_shift.Shift):
    """Extension that sets an attribute of an optimizer to ``init * (1 - t / max_count) ** rate``.

    ``t`` is the number of calls. The attribute is set before the training, and again when that is
    resumed.

    Args:
        attr (str): Name of the attribute, such as ``'lr'``.
        rate (float): The exponent.
        max_count (int): Number of calls after which the attribute is zero.
        init (float): Initial value; that which the attribute has before the training if ``None``.
        target (float): Value to stop at; none if ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.
    """

    invoke_before_training = True

    def __init__(self, attr, rate, max_count, init=None, target=None, optimizer=None):
        super().__init__(attr, init, optimizer)
        self._rate = rate
        self._max_count = max_count
        self._target = target

    def _value(self, t):
        value = self._init * max(1 - t / self._max_count, 0) ** self._rate
        return _shift.limited(value, self._target, growing=self._rate < 0)
