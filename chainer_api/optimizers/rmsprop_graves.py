"""Alex Graves's RMSprop."""
from chainer import backend, optimizer


class RMSpropGravesRule(optimizer.UpdateRule):
    """Update rule of :class:`~chainer.optimizers.RMSpropGraves`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, alpha, momentum, eps: See :class:`~chainer.optimizers.RMSpropGraves`.
    """

    is_elementwise = True

    def __init__(self, parent_hyperparam=None, lr=None, alpha=None, momentum=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['n'] = xp.zeros_like(param.array)
        self.state['g'] = xp.zeros_like(param.array)
        self.state['delta'] = xp.zeros_like(param.array)

    def update_core_cpu(self, param):
        grad = param.grad
        if grad is None:
            return
        xp = backend.get_array_module(grad)
        hp = self.hyperparam
        array = param.array
        n, g, delta = self.state['n'], self.state['g'], self.state['delta']
        n *= hp.alpha
        n += (1 - hp.alpha) * grad * grad
        g *= hp.alpha
        g += (1 - hp.alpha) * grad
        variance = n - g * g
        variance += hp.eps
        step = hp.lr * grad
        step /= xp.sqrt(variance)
        delta *= hp.momentum
        delta -= step
        array += delta

    update_core_gpu = update_core_cpu


class RMSpropGraves(optimizer.GradientMethod):
    r"""Alex Graves's RMSprop.

    .. math::

        n \leftarrow \alpha n + (1 - \alpha) g^2, \quad
        m \leftarrow \alpha m + (1 - \alpha) g, \quad
        d \leftarrow \mathrm{momentum}\, d
            - \mathrm{lr} \frac{g}{\sqrt{n - m^2 + \mathrm{eps}}}, \quad
        w \leftarrow w + d

    Reference: Graves, `Generating Sequences With Recurrent Neural Networks
    <https://arxiv.org/abs/1308.0850>`_.

    Args:
        lr (float): Learning rate.
        alpha (float): Decay rate of the means of gradients and squared gradients.
        momentum (float): Decay rate of the step.
        eps (float): Small value for numerical stability.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.RMSpropGraves(lr=0.001).setup(model)
        >>> optimizer.lr
        0.001
    """

    lr = optimizer.HyperparameterProxy('lr')
    alpha = optimizer.HyperparameterProxy('alpha')
    momentum = optimizer.HyperparameterProxy('momentum')
    eps = optimizer.HyperparameterProxy('eps')

    def __init__(self, lr=1e-4, alpha=0.95, momentum=0.9, eps=1e-4):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.alpha = alpha
        self.hyperparam.momentum = momentum
        self.hyperparam.eps = eps

    def create_update_rule(self):
        return RMSpropGravesRule(self.hyperparam)


_default_hyperparam = RMSpropGraves().hyperparam
