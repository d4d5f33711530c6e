"""Layer normalization layer."""
from chainer import functions as F
from chainer import initializers, link, utils, variable
from chainer.utils import _errors


class LayerNormalization(link.Link):
    """Layer normalization layer: makes each vector of a batch standard.

    See: `Ba et al., Layer Normalization <https://arxiv.org/abs/1607.06450>`_.

    Args:
        size (int or None): Size of a vector. If it is ``None``, the first call decides.
        eps (float): Added to the variance.
        initial_gamma (initializer): Initializes the scale: an initializer, a scalar or an array.
            The default is one.
        initial_beta (initializer): Likewise for the shift. The default is zero.

    Attributes:
        gamma (Parameter): Scale, of shape (size,).
        beta (Parameter): Shift, of shape (size,).
        eps (float): As given.

    .. seealso:: :func:`chainer.functions.layer_normalization`

    Example:
        >>> L.LayerNormalization(3)(np.ones((5, 3), np.float32)).shape
        (5, 3)
    """

    def __init__(self, size=None, eps=1e-6, initial_gamma=None, initial_beta=None):
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.gamma = variable.Parameter(
                initializers._get_initializer(1 if initial_gamma is None else initial_gamma))
            self.beta = variable.Parameter(
                initializers._get_initializer(0 if initial_beta is None else initial_beta))
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size):
        self.gamma.initialize(size)
        self.beta.initialize(size)

    def forward(self, x):
        """Normalizes a batch.

        Args:
            x (Variable or array): Shape (batch, size).

        Returns:
            Variable: Shape and dtype of the input.
        """
        if self.gamma._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(utils.size_of_shape(x.shape[1:]))
        return F.layer_normalization(x, self.gamma, self.beta, self.eps)
