"""Swish layer."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.utils import _errors


class Swish(link.Link):
    r"""Swish activation :math:`x \sigma(\beta x)` with a learned :math:`\beta`.

    See: `Ramachandran et al., Searching for Activation Functions
    <https://arxiv.org/abs/1710.05941>`_.

    Args:
        beta_shape (tuple of ints or None): Shape of beta: that of the input without its batch
            axis, or a leading part of it. ``None`` stands for the whole shape, which the first
            call decides.
        beta_init (initializer): Initializes beta: an initializer, a scalar or an array.

    Attributes:
        beta (Parameter): The factor.

    .. seealso:: :func:`chainer.functions.swish`

    Example:
        >>> L.Swish(())(np.zeros((2, 3), np.float32)).shape
        (2, 3)
    """

    def __init__(self, beta_shape, beta_init=1.0):
        super().__init__()
        with self.init_scope():
            self.beta = variable.Parameter(initializers._get_initializer(beta_init))
            if beta_shape is not None:
                self.beta.initialize(beta_shape)

    def forward(self, x):
        """Applies the function.

        Args:
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: Shape of the input.
        """
        if self.beta._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self.beta.initialize(x.shape[1:])
        return F.swish(x, self.beta)
