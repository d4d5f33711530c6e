"""AdaDelta."""
from chainer import backend, optimizer


class AdaDeltaRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.AdaDelta`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        rho, eps: See :class:`~chainer.optimizers.AdaDelta`.
    """

    def __init__(self, parent_hyperparam=None, rho=None, eps=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(self.hyperparam, rho=rho, eps=eps)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['msg'] = xp.zeros_like(param.array)
        self.state['msdx'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        rho = hp.rho
        return rho, 1 - rho, hp.eps

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        rho, rest, eps = numbers
        msg, msdx = state['msg'], state['msdx']
        msg *= rho
        square = rest * grad
        square *= grad
        msg += square
        del square
        dx = msdx + eps
        dx /= msg + eps
        dx = xp.sqrt(dx, out=dx if dx.ndim else None)
        dx *= grad
        array -= dx
        msdx *= rho
        square = rest * dx
        square *= dx
        msdx += square


class AdaDelta(optimizer.GradientMethod):
    r"""AdaDelta, which needs no learning rate.

    .. math::

        m \leftarrow \rho m + (1 - \rho) g^2, \quad
        d = \sqrt{\frac{n + \mathrm{eps}}{m + \mathrm{eps}}}\, g, \quad
        n \leftarrow \rho n + (1 - \rho) d^2, \quad
        w \leftarrow w - d

    Reference: Zeiler, `ADADELTA: An Adaptive Learning Rate Method
    <https://arxiv.org/abs/1212.5701>`_.

    Args:
        rho (float): Decay rate of the mean squares of gradients and steps.
        eps (float): Small value for numerical stability.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.AdaDelta(rho=0.9).setup(model)
        >>> optimizer.rho
        0.9
    """

    rho = optimizer.HyperparameterProxy('rho')
    eps = optimizer.HyperparameterProxy('eps')

    def __init__(self, rho=0.95, eps=1e-6):
        super().__init__()
        self.hyperparam.rho = rho
        self.hyperparam.eps = eps

    def create_update_rule(self):
        return AdaDeltaRule(self.hyperparam)


_default_hyperparam = AdaDelta().hyperparam
