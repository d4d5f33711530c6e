"""Nesterov's accelerated gradient."""
from chainer.optimizers import _momentum


class NesterovAGRule(_momentum.MomentumRule):
    """Update rule of :class:`~chainer.optimizers.NesterovAG`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, momentum: See :class:`~chainer.optimizers.NesterovAG`.
    """

    def _numbers(self, dtype):
        lr, momentum = super()._numbers(dtype)
        return lr, momentum, momentum * momentum, (1 + momentum) * lr

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, momentum, squared_momentum, rate = numbers
        v = state['v']
        v *= momentum
        v -= lr * grad
        array += squared_momentum * v
        array -= rate * grad


class NesterovAG(_momentum.MomentumMethod):
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

    _rule = NesterovAGRule


NesterovAGRule._default = NesterovAG().hyperparam
