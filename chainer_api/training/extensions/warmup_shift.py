"""An attribute of the optimizer that is brought to its value at the beginning."""
from chainer.training.extensions import _shift


class WarmupShift(_shift.Shift):
    """Extension that takes an attribute of an optimizer to its initial value in even steps.

    It is set before the training, and again when that is resumed.

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

    def _value(self, t):
        done = min(t / self._warmup_iter, 1.)
        return self._warmup_start + (self._init - self._warmup_start) * done
