"""An attribute of the optimizer that is multiplied every so many times."""
from chainer.training.extensions import _shift


class StepShift(_shift.Shift):
    """Extension that sets an attribute of an optimizer to ``init * gamma ** (t // step)``.

    ``t`` is the number of calls. The attribute is set before the training, and again when that is
    resumed.

    Args:
        attr (str): Name of the attribute, such as ``'lr'``.
        gamma (float): The factor.
        step (int): Number of calls between two multiplications.
        init (float): Initial value; that which the attribute has before the training if ``None``.
        target (float): Value to stop at; none if ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.
    """

    def __init__(self, attr, gamma, step, init=None, target=None, optimizer=None):
        super().__init__(attr, init, optimizer)
        self._gamma = gamma
        self._step = step
        self._target = target

    def _value(self, t):
        value = self._init * self._gamma ** (t // self._step)
        return _shift.limited(value, self._target, growing=self._gamma > 1)
