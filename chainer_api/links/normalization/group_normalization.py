"""Group normalization layer."""
import numpy

import chainer
from chainer import functions as F
from chainer import link
from chainer.links.normalization import batch_normalization
from chainer.utils import _errors


class GroupNormalization(link.Link):
    """Group normalization layer: makes each group of channels of each sample standard.

    See: `Wu and He, Group Normalization <https://arxiv.org/abs/1803.08494>`_.

    Args:
        groups (int): Number of groups, a divisor of the number of channels.
        size (int or None): Number of channels. If it is ``None``, the first call decides.
        eps (float): Added to the variance.
        initial_gamma (initializer): Initializes the scale: an initializer, a scalar or an array.
            The default is one.
        initial_beta (initializer): Likewise for the shift. The default is zero.

    Attributes:
        groups (int): As given.
        gamma (Parameter): Scale, of shape (size,).
        beta (Parameter): Shift, of shape (size,).
        eps (float): As given.

    .. seealso:: :func:`chainer.functions.group_normalization`

    Example:
        >>> L.GroupNormalization(2)(np.ones((5, 4, 6, 6), np.float32)).shape
        (5, 4, 6, 6)
    """

    def __init__(self, groups, size=None, eps=1e-5, initial_gamma=None, initial_beta=None):
        super().__init__()
        self.groups = groups
        self.eps = eps
        dtype = chainer.get_dtype(map_mixed16=numpy.float32)
        with self.init_scope():
            self.gamma = batch_normalization.scale_parameter(initial_gamma, 1, dtype)
            self.beta = batch_normalization.scale_parameter(initial_beta, 0, dtype)
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size):
        self.gamma.initialize(size)
        self.beta.initialize(size)

    def forward(self, x):
        """Normalizes a batch.

        Args:
            x (Variable or array): Shape (batch, channels, ...).

        Returns:
            Variable: Shape and dtype of the input.

        Raises:
            ValueError: The input has no axis of channels.
        """
        _errors.check_arrays(type(self).__name__, x=x)
        if x.ndim < 2:
            raise ValueError(
                'Input dimension must be at least 2, including batch size dimension (first '
                f'dimension), not {x.ndim}.')
        if self.gamma._array is None:
            self._initialize_params(x.shape[1])
        return F.group_normalization(x, self.groups, self.gamma, self.beta, self.eps)
