"""Nesterov's accelerated gradient."""
from chainer import backend, optimizer


class NesterovAGRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.NesterovAG`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, momentum: See :class:`~chainer.optimizers.NesterovAG`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, momentum=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr, momentum=momentum)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['v'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        lr, momentum = hp.lr, hp.momentum
        return lr, momentum, momentum * momentum, (1 + momentum) * lr

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, momentum, squared_momentum, rate = numbers
        v = state['v']
        v *= momentum
        v -= lr * grad
        array += squared_momentum * v
        array -= rate * grad


class NesterovAG(optimizer.GradientMethod):
    r"""Nesterov's accelerated gradient.

    With :math:`\mu` the momentum:

    .. math::

        v \leftarrow \mu v - \mathrm{lr}\, g, \qquad
        w \leftarrow w + \mu^2 v_{\mathrm{old}} - (1 + \mu)\, \mathrm{lr}\, g

    Reference: Bengio et al., `Advances in Optimizing Recurrent Networks
    <https://arxiv.org/abs/1212.0901>`_.

    Args:
        lr (float): Learning rate.
        momentum (float): Decay rate of the velocity.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.NesterovAG(lr=0.1).setup(model)
        >>> optimizer.lr
        0.1
    """

    lr = optimizer.HyperparameterProxy('lr')
    momentum = optimizer.HyperparameterProxy('momentum')

    def __init__(self, lr=0.01, momentum=0.9):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum

    def create_update_rule(self):
        return NesterovAGRule(self.hyperparam)


_default_hyperparam = NesterovAG().hyperparam
