"""Weight decay."""
from chainer.optimizer_hooks._elementwise import ElementwiseHook


class WeightDecay(ElementwiseHook):
    """Hook that adds ``rate`` times the parameter to its gradient.

    Args:
        rate (float): Coefficient.

    Attributes:
        rate (float): The value given to the constructor.
        timing (str): When the hook is called, ``'pre'`` or ``'post'`` the update.
        call_for_each_param (bool): ``True``: the hook is called with a rule and a parameter.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('W', initializer=np.array([2.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=1).setup(link)
        >>> optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.25))
        >>> link.W.grad = np.array([1.0])
        >>> optimizer.update()
        >>> link.W.array
        array([0.5])
    """

    name = 'WeightDecay'

    def __init__(self, rate):
        self.rate = rate

    def _numbers(self, scale):
        return self.rate if scale == 1 else self.rate * scale,

    @staticmethod
    def _changed(xp, array, grad, numbers):
        rate, = numbers
        decayed = rate * array
        decayed += grad
        return decayed
