"""A parameter as a link."""
from chainer import functions as F
from chainer import link, variable


class Parameter(link.Link):
    """Link that is nothing but a parameter.

    .. deprecated:: v1.5
        Set a :class:`chainer.Parameter` as an attribute inside of
        :meth:`~chainer.Link.init_scope`.

    Args:
        array (numpy.ndarray or cupy.ndarray): Initial value.

    Attributes:
        W (Parameter): The parameter.

    Example:
        >>> L.Parameter(np.ones(2, np.float32))().array
        array([1., 1.], dtype=float32)
    """

    def __init__(self, array):
        super().__init__()
        with self.init_scope():
            self.W = variable.Parameter(array)

    def forward(self, volatile='off'):
        """Returns the value of the parameter.

        Args:
            volatile: Ignored; it was an option of Chainer 1.

        Returns:
            Variable: A new one, through which gradients reach the parameter.
        """
        return F.identity(self.W)
