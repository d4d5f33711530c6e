"""Parametric ReLU layer."""
from chainer import functions as F
from chainer import initializers, link, variable


class PReLU(link.Link):
    """Parametric rectified linear unit, with a learned slope of the negative part.

    See: `He et al., Delving Deep into Rectifiers: Surpassing Human-Level Performance on ImageNet
    Classification <https://arxiv.org/abs/1502.01852>`_.

    Args:
        shape (tuple of ints): Shape of the slopes: that of the input without its batch axis, or a
            leading part of it; one slope for all by default.
        init (initializer): Initializes the slopes: an initializer, a scalar or an array.

    Attributes:
        W (Parameter): Slopes.

    .. seealso:: :func:`chainer.functions.prelu`

    Example:
        >>> L.PReLU()(np.array([[-1, 2]], np.float32)).array
        array([[-0.25,  2.  ]], dtype=float32)
    """

    def __init__(self, shape=(), init=0.25):
        super().__init__()
        with self.init_scope():
            self.W = variable.Parameter(initializers._get_initializer(init), shape)

    def forward(self, x):
        """Applies the function.

        Args:
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: Shape of the input.
        """
        return F.prelu(x, self.W)
