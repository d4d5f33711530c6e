"""Alex Graves's RMSprop."""
from chainer import backend, optimizer


class RMSpropGravesRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.RMSpropGraves`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, alpha, momentum, eps: See :class:`~chainer.optimizers.RMSpropGraves`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, alpha=None, momentum=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['n'] = xp.zeros_like(param.array)
        self.state['g'] = xp.zeros_like(param.array)
        self.state['delta'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        return hp.lr, hp.alpha, 1 - hp.alpha, hp.momentum, hp.eps

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, alpha, rest, momentum, eps = numbers
        n, g, delta = state['n'], state['g'], state['delta']
        n *= alpha
        n += rest * grad * grad
        g *= alpha
        g += rest * grad
        variance = n - g * g
        variance += eps
        step = lr * grad
        step /= xp.sqrt(variance)
        delta *= momentum
        delta -= step
        array += delta


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
