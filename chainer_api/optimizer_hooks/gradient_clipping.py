"""Clipping of the norm of all gradients."""
import math

import chainer


class GradientClipping:
    """Hook that scales all gradients down to a total L2 norm.

    Gradients whose total norm is not greater than the threshold are left alone.

    Args:
        threshold (float): Largest total norm.

    Attributes:
        threshold (float): The value given to the constructor.
        timing (str): When the hook is called, ``'pre'`` or ``'post'`` the update.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('W', initializer=np.array([3.0, -4.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=1).setup(link)
        >>> optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(2.5))
        >>> link.W.grad = np.array([3.0, 4.0])
        >>> optimizer.update()
        >>> link.W.grad
        array([1.5, 2. ])
    """

    name = 'GradientClipping'
    timing = 'pre'

    def __init__(self, threshold):
        self.threshold = threshold

    def __call__(self, opt):
        params = [
            param for param in opt.target.params(False) if param.grad is not None]
        norm = math.sqrt(sum(_sqnorm(param) for param in params))
        if norm == 0:
            return
        rate = self.threshold / norm
        if not rate >= 1:  # where a gradient is NaN, all are: nothing of it passes unclipped
            for param in params:
                with chainer.using_device(param.device):
                    param.grad = chainer.utils.force_array(param.grad * rate, param.grad.dtype)


def _sqnorm(param):
    grad = param.grad.ravel()
    with chainer.using_device(param.device):
        sqnorm = float(grad.dot(grad))
    return sqnorm if param._loss_scale is None else sqnorm / param._loss_scale ** 2
