"""An attribute of the optimizer that shrinks like a negative power of time."""
from chainer.training.extensions import _shift


class InverseShift(_shift.Shift):
    """Extension that sets an attribute of an optimizer to ``init * (1 + gamma * t) ** -power``.

    ``t`` is the number of calls. This is Caffe's learning rate policy 'inv'. The attribute is set
    before the training, and again when that is resumed.

    Args:
        attr (str): Name of the attribute, such as ``'lr'``.
        gamma (float): See the formula.
        power (float): See the formula.
        init (float): Initial value; that which the attribute has before the training if ``None``.
        target (float): Value to stop at; none if ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.

    Raises:
        ValueError: ``gamma`` is negative.
    """

    def __init__(self, attr, gamma, power, init=None, target=None, optimizer=None):
        super().__init__(attr, init, optimizer)
        if gamma < 0:
            raise ValueError('InverseShift does not support negative gamma')
        self._gamma = gamma
        self._power = power
        self._target = target

    def _value(self, t):
        value = self._init * (1 + self._gamma * t) ** (-self._power)
        return _shift.limited(value, self._target, growing=self._power < 0)
