"""Simon Funk's SMORMS3."""
from chainer import backend, optimizer


class SMORMS3Rule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.SMORMS3`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, eps: See :class:`~chainer.optimizers.SMORMS3`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, lr=lr, eps=eps)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['mem'] = xp.ones_like(param.array)
        self.state['g'] = xp.zeros_like(param.array)
        self.state['g2'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        return hp.lr, hp.eps

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, eps = numbers
        mem, g, g2 = state['mem'], state['g'], state['g2']
        r = 1 / (mem + 1)
        kept = 1 - r
        g *= kept
        g += r * grad
        g2 *= kept
        g2 += r * grad * grad
        x = g * g / (g2 + eps)
        array -= grad * xp.minimum(x, lr) / (xp.sqrt(g2) + eps)
        mem *= 1 - x
        mem += 1


class SMORMS3(optimizer.GradientMethod):
    """Simon Funk's SMORMS3, "squared mean over root mean squared cubed".

    Reference: `Simon Funk's journal, RMSprop loses to SMORMS3
    <https://sifter.org/~simon/journal/20150420.html>`_.

    Args:
        lr (float): Largest learning rate.
        eps (float): Small value for numerical stability.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.SMORMS3(lr=0.01).setup(model)
        >>> optimizer.lr
        0.01
    """

    lr = optimizer.HyperparameterProxy('lr')
    eps = optimizer.HyperparameterProxy('eps')

    def __init__(self, lr=0.001, eps=1e-16):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.eps = eps

    def create_update_rule(self):
        return SMORMS3Rule(self.hyperparam)


_default_hyperparam = SMORMS3().hyperparam
