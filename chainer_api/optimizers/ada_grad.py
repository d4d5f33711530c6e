"""AdaGrad."""
from chainer import backend, optimizer


class AdaGradRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.AdaGrad`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, eps: See :class:`~chainer.optimizers.AdaGrad`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr, eps=eps)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['h'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        return hp.lr, hp.eps

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, eps = numbers
        h = state['h']
        h += grad * grad
        denominator = xp.sqrt(h)
        denominator += eps
        step = lr * grad
        step /= denominator
        array -= step


class AdaGrad(optimizer.GradientMethod):
    r"""AdaGrad.

    .. math::

        h \leftarrow h + g^2, \qquad
        w \leftarrow w - \mathrm{lr} \frac{g}{\sqrt{h} + \mathrm{eps}}

    Reference: Duchi et al., `Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization <http://jmlr.org/papers/v12/duchi11a.html>`_.

    Args:
        lr (float): Learning rate.
        eps (float): Small value for numerical stability.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.AdaGrad(lr=0.1).setup(model)
        >>> optimizer.lr
        0.1
    """

    lr = optimizer.HyperparameterProxy('lr')
    eps = optimizer.HyperparameterProxy('eps')

    def __init__(self, lr=0.001, eps=1e-8):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.eps = eps

    def create_update_rule(self):
        return AdaGradRule(self.hyperparam)


_default_hyperparam = AdaGrad().hyperparam
