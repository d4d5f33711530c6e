"""RMSprop."""
from chainer import backend, optimizer


class RMSpropRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.RMSprop`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, alpha, eps, eps_inside_sqrt: See :class:`~chainer.optimizers.RMSprop`.
    """

    def __init__(self, parent_hyperparam=None, lr=None, alpha=None, eps=None,
                 eps_inside_sqrt=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(
            self.hyperparam, lr=lr, alpha=alpha, eps=eps, eps_inside_sqrt=eps_inside_sqrt)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['ms'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        if hp.eps != 0 and dtype.type(hp.eps) == 0:
            raise ValueError(f'eps of RMSprop optimizer is too small for {dtype.name} ({hp.eps})')
        eps = (hp.eps, None) if hp.eps_inside_sqrt else (None, hp.eps)
        return hp.lr, hp.alpha, 1 - hp.alpha, *eps

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, alpha, rest, eps_inside, eps = numbers
        ms = state['ms']
        ms *= alpha
        square = rest * grad
        square *= grad
        ms += square
        del square
        if eps_inside is not None:
            denominator = xp.sqrt(ms + eps_inside)
        else:
            denominator = xp.sqrt(ms)
            denominator += eps
        step = lr * grad
        step /= denominator
        array -= step


class RMSprop(optimizer.GradientMethod):
    r"""RMSprop.

    .. math::

        m \leftarrow \alpha m + (1 - \alpha) g^2, \qquad
        w \leftarrow w - \mathrm{lr} \frac{g}{\sqrt{m} + \mathrm{eps}}

    Reference: Tieleman and Hinton, Lecture 6.5 - rmsprop, COURSERA: Neural Networks for Machine
    Learning (2012).

    Args:
        lr (float): Learning rate.
        alpha (float): Decay rate of the mean square of gradients.
        eps (float): Small value for numerical stability.
        eps_inside_sqrt (bool): Whether to divide by :math:`\sqrt{m + \mathrm{eps}}` instead, as
            TensorFlow does.

    Raises:
        ValueError: In the update, where ``eps`` is zero in the type of the parameter.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.RMSprop(lr=0.001).setup(model)
        >>> optimizer.lr
        0.001
    """

    lr = optimizer.HyperparameterProxy('lr')
    alpha = optimizer.HyperparameterProxy('alpha')
    eps = optimizer.HyperparameterProxy('eps')
    eps_inside_sqrt = optimizer.HyperparameterProxy('eps_inside_sqrt')

    def __init__(self, lr=0.01, alpha=0.99, eps=1e-8, eps_inside_sqrt=False):
        super().__init__()
        self.hyperparam.lr = lr
        self.hyperparam.alpha = alpha
        self.hyperparam.eps = eps
        self.hyperparam.eps_inside_sqrt = eps_inside_sqrt

    def create_update_rule(self):
        return RMSpropRule(self.hyperparam)


_default_hyperparam = RMSprop().hyperparam
