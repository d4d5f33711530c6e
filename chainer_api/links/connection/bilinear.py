"""Bilinear layer."""
from chainer import functions as F
from chainer import initializers, link, variable


class Bilinear(link.Link):
    r"""Bilinear layer.

    .. math:: y_l = e^1 W_l e^2 + e^1 V^1_l + e^2 V^2_l + b_l

    Args:
        left_size (int): Size :math:`J` of the first input.
        right_size (int): Size :math:`K` of the second input.
        out_size (int): Size :math:`L` of the output.
        nobias (bool): Leaves out ``V1``, ``V2`` and ``b``.
        initialW (initializer): Initializes ``W``: an initializer, a scalar or an array of shape
            (left_size, right_size, out_size). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (tuple of initializers): Initialize ``V1``, ``V2`` and ``b``. By default they
            are :class:`~chainer.initializers.LeCunNormal` twice, and zero.

    Attributes:
        W (Parameter): Weight of shape (left_size, right_size, out_size).
        V1 (Parameter): Weight of the first input, of shape (left_size, out_size).
        V2 (Parameter): Weight of the second input, of shape (right_size, out_size).
        b (Parameter): Bias of shape (out_size,).

    Raises:
        ValueError: ``initial_bias`` is not a tuple of three, or an array does not fit.

    .. seealso:: :func:`chainer.functions.bilinear`

    Example:
        >>> layer = L.Bilinear(3, 2, 4)
        >>> layer(np.ones((5, 3), np.float32), np.ones((5, 2), np.float32)).shape
        (5, 4)
    """

    def __init__(self, left_size, right_size, out_size, nobias=False, initialW=None,
                 initial_bias=None):
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        if initial_bias is None:
            initial_bias = (None, None, 0)
        elif not isinstance(initial_bias, tuple):
            raise ValueError('initial_bias must be tuple or None')
        with self.init_scope():
            self.W = _parameter('initialW', initialW, (left_size, right_size, out_size))
            if not nobias:
                V1, V2, b = initial_bias
                self.V1 = _parameter('initial_bias[0]', V1, (left_size, out_size))
                self.V2 = _parameter('initial_bias[1]', V2, (right_size, out_size))
                self.b = _parameter('initial_bias[2]', b, (out_size,))

    def forward(self, e1, e2):
        """Applies the layer.

        Args:
            e1 (Variable or array): Batch of first inputs.
            e2 (Variable or array): Batch of second inputs.

        Returns:
            Variable: Shape (batch, out_size).
        """
        if self.nobias:
            return F.bilinear(e1, e2, self.W)
        return F.bilinear(e1, e2, self.W, self.V1, self.V2, self.b)

    def zero_grads(self):
        """Fills the gradients of all parameters with zeros."""
        for param in self.params():
            param._fill_grad_with_zeros()


def _parameter(name, initial, shape):
    initial_shape = getattr(initial, 'shape', shape)
    if initial_shape not in (shape, ()):
        raise ValueError(f'{name} must have the shape {shape}, not {initial_shape}')
    return variable.Parameter(initializers._get_initializer(initial), shape)
