"""Clipping of each number of a gradient."""
from chainer.optimizer_hooks._elementwise import ElementwiseHook


class GradientHardClipping(ElementwiseHook):
    """Hook that clips each number of a gradient to an interval.

    Args:
        lower_bound (float): Smallest value.
        upper_bound (float): Largest value.

    Attributes:
        lower_bound (float): The value given to the constructor.
        upper_bound (float): The value given to the constructor.
        timing (str): When the hook is called, ``'pre'`` or ``'post'`` the update.
        call_for_each_param (bool): ``True``: the hook is called with a rule and a parameter.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('W', initializer=np.array([3.0, -4.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=1).setup(link)
        >>> optimizer.add_hook(chainer.optimizer_hooks.GradientHardClipping(-1, 3.5))
        >>> link.W.grad = np.array([3.0, 4.0])
        >>> optimizer.update()
        >>> link.W.grad
        array([3. , 3.5])
    """

    name = 'GradientHardClipping'

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _numbers(self, scale):
        return self.lower_bound * scale, self.upper_bound * scale

    @staticmethod
    def _changed(xp, array, grad, numbers):
        return xp.clip(grad, *numbers)
