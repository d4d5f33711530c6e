"""An attribute of the optimizer that is multiplied at given times."""
import bisect

from chainer import serializer as serializer_module
from chainer.training.extensions import _shift


class MultistepShift(_shift.Shift):
    """Extension that multiplies an attribute of an optimizer by a factor at given calls.

    It is set before the training, and again when that is resumed.

    Args:
        attr (str): Name of the attribute, such as ``'lr'``.
        gamma (float): The factor.
        step_value (tuple of int): Numbers of the calls, in ascending order.
        init (float): Initial value; that which the attribute has before the training if ``None``.
        optimizer (~chainer.Optimizer): The optimizer; 'main' of the updater if ``None``.
    """

    def __init__(self, attr, gamma, step_value, init, optimizer=None):
        super().__init__(attr, init, optimizer)
        self._gamma = gamma
        self._step_value = sorted(step_value)

    def _value(self, t):
        return self._init * self._gamma ** self._steps(t)

    def _steps(self, t):
        return bisect.bisect_right(self._step_value, t)

    def serialize(self, serializer):
        """Saves or restores the number of calls, the initial value and that of now."""
        super().serialize(serializer)
        if not isinstance(serializer, serializer_module.Deserializer):
            serializer('_current_step', self._steps(self._t))  # Chainer 7 asks for it
