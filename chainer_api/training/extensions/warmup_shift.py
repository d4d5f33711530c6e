"""An attribute of the optimizer that is brought to its value at the beginning."""
from chainer.training.extensions import _shift


class WarmupShift(_shift.Shift):
    """Extension that takes an attribute of an optimizer to its initial value in even steps.

    It is set before the training, and again when that is resumed. Once the value is reached the
    attribute is left to others.

    Args:
        attr (str): Name of the attribute, such as ``'lr'``.
        warmup_start (float): The first value.
        warmup_iter (int): Number of calls until ``init`` is reached.
        init (float): The value to reach; that which the attribute has before the training if
            ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.
    """

    def __init__(self, attr, warmup_start, warmup_iter, init, optimizer=None):
        super().__init__(attr, init, optimizer)
        self._warmup_start = warmup_start
        self._warmup_iter = warmup_iter

    def _first_value(self):
        return self._warmup_start

    def __call__(self, trainer):
        """Sets the attribute to its next value, while warming up."""
        if self._t < self._warmup_iter:
            super().__call__(trainer)

    def _value(self, t):
        if not self._warmup_iter:
            return self._init
        # Chainer counts on after the last step, in the snapshots that it writes.
        t = min(t, self._warmup_iter)
        return self._warmup_start + (self._init - self._warmup_start) * t / self._warmup_iter
