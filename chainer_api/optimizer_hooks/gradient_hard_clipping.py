"""Clipping of each number of a gradient."""
import chainer


class GradientHardClipping:
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
    call_for_each_param = True
    timing = 'pre'

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __call__(self, rule, param):
        g = param.grad
        if param.array is None or g is None:
            return
        xp = chainer.backend.get_array_module(g)
        scale = 1 if param._loss_scale is None else param._loss_scale
        with chainer.using_device(param.device):
            param.grad = xp.clip(g, self.lower_bound * scale, self.upper_bound * scale)
