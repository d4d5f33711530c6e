"""Weight decay."""
import chainer


class WeightDecay:
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
    call_for_each_param = True
    timing = 'pre'

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, rule, param):
        p, g = param.array, param.grad
        if p is None or g is None:
            return
        with chainer.using_device(param.device):
            rate = self.rate if param._loss_scale is None else self.rate * param._loss_scale
            grad = rate * p
            grad += g
            param.grad = grad
