"""Noise that is added to gradients."""
import chainer


def exponential_decay_noise(xp, shape, dtype, hook, opt):
    """Draws Gaussian noise whose variance ``eta / (1 + t) ** 0.55`` decays with the updates.

    Reference: Neelakantan et al., `Adding Gradient Noise Improves Learning for Very Deep Networks
    <https://arxiv.org/abs/1511.06807>`_.

    Args:
        xp (module): ``numpy`` or ``cupy``.
        shape (tuple of ints): Shape of the noise.
        dtype: Type of the noise.
        hook (GradientNoise): Hook, which has ``eta``.
        opt (chainer.UpdateRule): Update rule, which has ``t``.

    Returns:
        N-dimensional array: The noise.
    """
    std = (hook.eta / (1 + opt.t) ** 0.55) ** 0.5
    return xp.random.normal(0, std, shape).astype(dtype)


class GradientNoise:
    """Hook that adds noise to a gradient.

    Args:
        eta (float): Scale of the noise; 0.01, 0.3 and 1.0 are recommended for the default one.
        noise_func (function): Function that makes the noise. The default is
            :func:`~chainer.optimizer_hooks.gradient_noise.exponential_decay_noise`, whose
            arguments it takes.

    Attributes:
        timing (str): When the hook is called, ``'pre'`` or ``'post'`` the update.
        call_for_each_param (bool): ``True``: the hook is called with a rule and a parameter.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('W', initializer=np.array([3.0, -4.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=1).setup(link)
        >>> def noise(xp, shape, dtype, hook, rule):
        ...     return xp.full(shape, hook.eta, dtype)
        >>> optimizer.add_hook(chainer.optimizer_hooks.GradientNoise(0.3, noise))
        >>> link.W.grad = np.array([3.0, 4.0])
        >>> optimizer.update()
        >>> link.W.grad
        array([3.3, 4.3])
    """

    name = 'GradientNoise'
    call_for_each_param = True
    timing = 'pre'

    def __init__(self, eta, noise_func=exponential_decay_noise):
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule, param):
        g = param.grad
        if param.array is None or g is None:
            return
        xp = chainer.backend.get_array_module(g)
        with chainer.using_device(param.device):
            noise = self.noise_func(xp, g.shape, g.dtype, self, rule)
            if param._loss_scale is not None:
                noise = noise * g.dtype.type(param._loss_scale)
            param.grad = chainer.utils.force_array(g + noise, g.dtype)
