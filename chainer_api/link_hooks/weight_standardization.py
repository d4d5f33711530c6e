"""Weight standardization."""
from chainer import functions as F
from chainer.link_hooks import _weight_hook


class WeightStandardization(_weight_hook.WeightHook):
    r"""Link hook that gives the weight mean 0 and variance 1 in each output channel.

    The link computes with :math:`(W - \mu) / \sqrt{\sigma^2 + \epsilon}`, the mean and the variance
    being those over all axes but the first; the parameter itself is trained.

    Reference: Qiao et al., `Weight Standardization <https://arxiv.org/abs/1903.10520>`_.

    Args:
        eps (float): Small value for numerical stability.
        weight_name (str): Name of the parameter.
        name (str): Name of the hook.

    Raises:
        ValueError: When it is added to a link without such a parameter.
        NotImplementedError: When it is used in a ``with`` statement.

    Example:
        >>> import numpy as np, chainer
        >>> class Weight(chainer.Link):
        ...     def forward(self):
        ...         return self.W
        >>> link = Weight(W=(2, 3))
        >>> link.W.array[...] = np.arange(6).reshape(2, 3)
        >>> _ = link.add_hook(chainer.link_hooks.WeightStandardization())
        >>> link().array.round(3)
        array([[-1.225,  0.   ,  1.225],
               [-1.225,  0.   ,  1.225]], dtype=float32)
    """

    name = 'WeightStandardization'

    def __init__(self, *, eps=1e-5, weight_name='W', name=None):
        super().__init__(weight_name, name)
        self.eps = eps

    def normalize_weight(self, link):
        weight = getattr(link, self.weight_name)
        axes = tuple(range(1, weight.ndim))
        mean = F.mean(weight, axis=axes, keepdims=True)
        centred = weight - F.broadcast_to(mean, weight.shape)
        variance = F.mean(centred * centred, axis=axes, keepdims=True)
        return centred / F.broadcast_to(F.sqrt(variance + self.eps), weight.shape)
