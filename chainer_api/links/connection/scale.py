"""Layer that multiplies by a scale."""
from chainer import functions as F
from chainer import link, variable
from chainer.links.connection import bias


class Scale(link.Chain):
    """Product of an input and a scale that is broadcast to its shape, and maybe a bias.

    Args:
        axis (int): First axis of the input to which the axes of the scale belong.
        W_shape (tuple of ints): Shape of the learned scale. Without it the scale is the second
            argument of each call.
        bias_term (bool): Whether a learned bias is added.
        bias_shape (tuple of ints): Shape of the bias, needed if the scale is not learned.

    Attributes:
        W (Parameter): The scale, if ``W_shape`` was given. Its initial value is one.
        bias (Bias): The bias, if ``bias_term``.

    Raises:
        ValueError: The shape of the bias is not known.

    .. seealso:: :func:`chainer.functions.scale`

    Example:
        >>> L.Scale(1, (3,))(np.ones((2, 3, 4), np.float32)).shape
        (2, 3, 4)
        >>> L.Scale(axis=0)(np.ones((2, 3), np.float32), np.array([0, 10], np.float32)).array
        array([[ 0.,  0.,  0.],
               [10., 10., 10.]], dtype=float32)
    """

    def __init__(self, axis=1, W_shape=None, bias_term=False, bias_shape=None):
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = variable.Parameter(1, W_shape)
                bias_shape = W_shape
            elif bias_term and bias_shape is None:
                raise ValueError(
                    'bias_shape should be given if W is not learnt parameter and bias_term is '
                    'True.')
            if bias_term:
                self.bias = bias.Bias(axis, bias_shape)

    def forward(self, *xs):
        """Multiplies by the scale, and adds the bias if there is one.

        Args:
            xs: The input, and the scale if it is not learned.

        Returns:
            Variable: Shape of the input.

        Raises:
            ValueError: The number of the arguments is another one.
        """
        if 'W' in self._params:
            x, = xs
            y = F.scale(x, self.W, self.axis)
        else:
            x, W = xs
            y = F.scale(x, W, self.axis)
        return self.bias(y) if 'bias' in self._children else y
