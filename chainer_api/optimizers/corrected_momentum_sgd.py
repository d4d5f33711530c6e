"""Gradient descent with momentum correction."""
from chainer import backend, optimizer


class CorrectedMomentumSGDRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.CorrectedMomentumSGD`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, momentum: See :class:`~chainer.optimizers.CorrectedMomentumSGD`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, momentum=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr, momentum=momentum)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['v'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        return hp.lr, hp.momentum

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, momentum = numbers
        v = state['v']
        v *= momentum
        v -= grad
        array += lr * v


class CorrectedMomentumSGD(optimizer.GradientMethod):
    r"""Gradient descent with momentum that stays right when the learning rate changes.

    .. math::

        v \leftarrow \mathrm{momentum}\, v - g, \qquad w \leftarrow w + \mathrm{lr}\, v

    :class:`~chainer.optimizers.MomentumSGD` is equation (10) of the paper, this is equation (9).

    Reference: Goyal et al., `Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour
    <https://arxiv.org/abs/1706.02677>`_.

    Args:
        lr (float): Learning rate.
        momentum (float): Decay rate of the velocity.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.CorrectedMomentumSGD(lr=0.1).setup(model)
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
        return CorrectedMomentumSGDRule(self.hyperparam)


_default_hyperparam = CorrectedMomentumSGD().hyperparam
