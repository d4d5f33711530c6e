"""Gradient descent with momentum correction."""
from chainer.optimizers import _momentum


class CorrectedMomentumSGDRule(_momentum.MomentumRule):
    """Update rule of :class:`~chainer.optimizers.CorrectedMomentumSGD`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, momentum: See :class:`~chainer.optimizers.CorrectedMomentumSGD`.
    """

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, momentum = numbers
        v = state['v']
        v *= momentum
        v -= grad
        array += lr * v


class CorrectedMomentumSGD(_momentum.MomentumMethod):
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

    _rule = CorrectedMomentumSGDRule


CorrectedMomentumSGDRule._default = CorrectedMomentumSGD().hyperparam
