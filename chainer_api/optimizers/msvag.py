"""M-SVAG."""
from chainer import backend, optimizer


class MSVAGRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.MSVAG`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, beta, eta, weight_decay_rate: See :class:`~chainer.optimizers.MSVAG`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, beta=None, eta=None,
                 weight_decay_rate=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(
            self.hyperparam, lr=lr, beta=beta, eta=eta, weight_decay_rate=weight_decay_rate)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['m'] = xp.zeros_like(param.array)
        self.state['v'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        # rho is the variance of the mean of t gradients, for a variance of one.
        power = hp.beta ** self.t
        rho = ((1 - hp.beta) ** 2 * (1 - power * power)
               / ((1 - power) ** 2 * (1 - hp.beta * hp.beta)))
        rho = min(rho, 0.9999)
        decay = None if hp.weight_decay_rate == 0 else hp.weight_decay_rate
        eta = None if hp.eta == 1 else hp.eta
        return hp.lr, 1 - hp.beta, 1 - power, rho, 1 - rho, decay, eta

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, rest, correction, rho, unlike_rho, decay, eta = numbers
        m, v = state['m'], state['v']
        m += rest * (grad - m)
        v += rest * (grad * grad - v)

        mean = m / correction
        squared_mean = mean * mean
        noise = (v / correction - squared_mean) / unlike_rho
        noise *= rho
        noise += squared_mean
        # Where the mean is zero there is no step, whatever the factor.
        factor = squared_mean / xp.where(noise == 0, 1, noise)
        factor = xp.clip(factor, 0, 1)

        step = lr * mean
        step *= factor
        if decay is not None:
            step += decay * array
        if eta is not None:
            step *= eta
        array -= step


class MSVAG(optimizer.GradientMethod):
    """M-SVAG: momentum with stochastic variance-adapted gradients.

    Each step is the momentum, scaled in each element by an estimate of how much of it is signal.

    Reference: Balles and Hennig, `Dissecting Adam: The Sign, Magnitude and Variance of Stochastic
    Gradients <https://arxiv.org/abs/1705.07774>`_.

    Args:
        lr (float): Learning rate.
        beta (float): Decay rate of the means of gradients and squared gradients.
        eta (float): Schedule multiplier, for warm restarts.
        weight_decay_rate (float): Weight decay rate, decoupled from the learning rate.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.MSVAG(lr=0.01).setup(model)
        >>> optimizer.lr
        0.01
    """

    lr = optimizer.HyperparameterProxy('lr')
    beta = optimizer.HyperparameterProxy('beta')
    eta = optimizer.HyperparameterProxy('eta')
    weight_decay_rate = optimizer.HyperparameterProxy('weight_decay_rate')

    def __init__(self, lr=0.1, beta=0.9, eta=1.0, weight_decay_rate=0):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.beta = beta
        self.hyperparam.eta = eta
        self.hyperparam.weight_decay_rate = weight_decay_rate

    def create_update_rule(self):
        return MSVAGRule(self.hyperparam)


_default_hyperparam = MSVAG().hyperparam
