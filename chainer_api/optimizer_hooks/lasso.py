"""Lasso regularization."""
import chainer


class Lasso:
    """Hook that adds ``rate`` times the sign of the parameter to its gradient.

    Args:
        rate (float): Coefficient.

    Attributes:
        rate (float): The value given to the constructor.
        timing (str): When the hook is called, ``'pre'`` or ``'post'`` the update.
        call_for_each_param (bool): ``True``: the hook is called with a rule and a parameter.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('W', initializer=np.array([3.0, -4.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=1).setup(link)
        >>> optimizer.add_hook(chainer.optimizer_hooks.Lasso(0.25))
        >>> link.W.grad = np.array([3.0, 4.0])
        >>> optimizer.update()
        >>> link.W.grad
        array([3.25, 3.75])
    """

    name = 'Lasso'
    call_for_each_param = True
    timing = 'pre'

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, rule, param):
        p, g = param.array, param.grad
        if p is None or g is None:
            return
        xp = chainer.backend.get_array_module(p)
        with chainer.using_device(param.device):
            rate = self.rate if param._loss_scale is None else self.rate * param._loss_scale
            grad = xp.sign(p)
            grad *= rate
            grad += g
            param.grad = grad
