"""What the optimizers with a velocity share."""
from chainer import backend, optimizer


class MomentumRule(optimizer._StepRule):
    """Rule with the hyperparameters ``lr`` and ``momentum`` and a velocity.

    A subclass has ``_default``, where hyperparameters come from that nothing else gives.
    """

    def __init__(self, parent_hyperparam=None, lr=None, momentum=None):
        super().__init__(parent_hyperparam or self._default)
        optimizer._set_given(self.hyperparam, lr=lr, momentum=momentum)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['v'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        return hp.lr, hp.momentum


class MomentumMethod(optimizer.GradientMethod):
    """Optimizer with such a rule, which a subclass names ``_rule``."""

    lr = optimizer.HyperparameterProxy('lr')
    momentum = optimizer.HyperparameterProxy('momentum')

    def __init__(self, lr=0.01, momentum=0.9):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum

    def create_update_rule(self):
        return self._rule(self.hyperparam)
