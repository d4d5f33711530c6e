"""Stochastic gradient descent."""
from chainer import optimizer


class SGDRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.SGD`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr: See :class:`~chainer.optimizers.SGD`.
    """

    def __init__(self, parent_hyperparam=None, lr=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        return hp.lr,

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, = numbers
        array -= lr * grad


class SGD(optimizer.GradientMethod):
    r"""Stochastic gradient descent: :math:`w \leftarrow w - \mathrm{lr}\, g`.

    Args:
        lr (float): Learning rate.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.SGD(lr=0.1).setup(model)
        >>> optimizer.lr
        0.1
    """

    lr = optimizer.HyperparameterProxy('lr')

    def __init__(self, lr=0.01):
        super().__init__()
        self.hyperparam.lr = lr

    def create_update_rule(self):
        return SGDRule(self.hyperparam)


_default_hyperparam = SGD().hyperparam
