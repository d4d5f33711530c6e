"""Layer that adds a bias."""
from chainer import functions as F
from chainer import link, variable


class Bias(link.Link):
    """Sum of an input and a bias that is broadcast to its shape.

    Args:
        axis (int): First axis of the input to which the axes of the bias belong.
        shape (tuple of ints): Shape of the learned bias. Without it the bias is the second
            argument of each call.

    Attributes:
        b (Parameter): The bias, if ``shape`` was given. Its initial value is zero.

    .. seealso:: :func:`chainer.functions.bias`

    Example:
        >>> L.Bias(1, (3,))(np.ones((2, 3, 4), np.float32)).shape
        (2, 3, 4)
        >>> L.Bias(axis=0)(np.ones((2, 3), np.float32), np.array([0, 10], np.float32)).array
        array([[ 1.,  1.,  1.],
               [11., 11., 11.]], dtype=float32)
    """

    def __init__(self, axis=1, shape=None):
        super().__init__()
        self.axis = axis
        if shape is not None:
            with self.init_scope():
                self.b = variable.Parameter(0, shape)

    def forward(self, *xs):
        """Adds the bias.

        Args:
            xs: The input, and the bias if it is not learned.

        Returns:
            Variable: Shape of the input.

        Raises:
            ValueError: The number of the arguments is another one.
        """
        if 'b' in self._params:
            x, = xs
            return F.bias(x, self.b, self.axis)
        x, b = xs
        return F.bias(x, b, self.axis)
