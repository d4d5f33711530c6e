"""RMSprop."""
from chainer import backend, optimizer


class RMSpropRule(optimizer.UpdateRule):
    """Update rule of :class:`~chainer.optimizers.RMSprop`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, alpha, eps, eps_inside_sqrt: See :class:`~chainer.optimizers.RMSprop`.
    """

    is_elementwise = True

    def __init__(self, parent_hyperparam=None, lr=None, alpha=None, eps=None,
                 eps_inside_sqrt=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(
            self.hyperparam, lr=lr, alpha=alpha, eps=eps, eps_inside_sqrt=eps_inside_sqrt)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['ms'] = xp.zeros_like(param.array)

    def update_core_cpu(self, param):
        grad = param.grad
        if grad is None:
            return
        hp = self.hyperparam
        if hp.eps != 0 and grad.dtype.type(hp.eps) == 0:
            raise ValueError(
                f'eps of RMSprop optimizer is too small for {grad.dtype.name} ({hp.eps})')
        xp = backend.get_array_module(grad)
        array, ms = param.array, self.state['ms']
        ms *= hp.alpha
        square = (1 - hp.alpha) * grad
        square *= grad
        ms += square
        del square
        if hp.eps_inside_sqrt:
            denominator = xp.sqrt(ms + hp.eps)
        else:
            denominator = xp.sqrt(ms)
            denominator += hp.eps
        step = hp.lr * grad
        step /= denominator
        array -= step

    update_core_gpu = update_core_cpu


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
