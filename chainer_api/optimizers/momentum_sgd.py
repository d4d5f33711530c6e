"""Gradient descent with momentum."""
from chainer.optimizers import _momentum


class MomentumSGDRule(_momentum.MomentumRule):
    """Update rule of :class:`~chainer.optimizers.MomentumSGD`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        lr, momentum: See :class:`~chainer.optimizers.MomentumSGD`.
    """

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        lr, momentum = numbers
        v = state['v']
        v *= momentum
        v -= lr * grad
        array += v


class MomentumSGD(_momentum.MomentumMethod):
    r"""Gradient descent with momentum.

    .. math::

        v \leftarrow \mathrm{momentum}\, v - \mathrm{lr}\, g, \qquad w \leftarrow w + v

    Args:
        lr (float): Learning rate.
        momentum (float): Decay rate of the velocity.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.MomentumSGD(lr=0.1, momentum=0.8).setup(model)
        >>> optimizer.lr
        0.1
    """

    _rule = MomentumSGDRule


MomentumSGDRule._default = MomentumSGD().hyperparam
