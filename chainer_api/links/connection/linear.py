"""Linear (fully connected) layer."""
from chainer import functions as F
from chainer import initializers, link, utils, variable
from chainer.utils import _errors


class Linear(link.Link):
    r"""Linear layer :math:`y = W x + b`, also called fully connected or affine.

    Args:
        in_size (int or None): Number of elements of an input vector. If it is ``None`` or left out
            (``Linear(out_size)``), the first call decides.
        out_size (int): Number of elements of an output vector.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the weight: an initializer, a scalar or an array of
            shape (out_size, in_size). The default is :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.

    Attributes:
        W (Parameter): Weight of shape (out_size, in_size).
        b (Parameter): Bias of shape (out_size,), or ``None``.
        in_size (int or None): As given.
        out_size (int): As given.

    .. seealso:: :func:`chainer.functions.linear`

    Example:
        >>> x = np.arange(10, dtype=np.float32).reshape(5, 2)
        >>> L.Linear(2, 4)(x).shape
        (5, 4)
        >>> layer = L.Linear(4)  # its input size is not known yet
        >>> layer.W.is_initialized
        False
        >>> layer(x).shape, layer.W.shape
        ((5, 4), (4, 2))
    """

    in_size = None  # of links in pickles of Chainer 5

    def __init__(self, in_size, out_size=None, nobias=False, initialW=None, initial_bias=None):
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size = in_size
        self.out_size = out_size
        with self.init_scope():
            self.W = variable.Parameter(initializers._get_initializer(initialW))
            if in_size is not None:
                self._initialize_params(in_size)
            if nobias:
                self.b = None
            else:
                self.b = variable.Parameter(
                    initializers._get_initializer(0 if initial_bias is None else initial_bias),
                    out_size)

    def _initialize_params(self, in_size):
        self.W.initialize((self.out_size, in_size))

    @classmethod
    def from_params(cls, W, b=None, nobias=False):
        """Makes a layer with copies of a weight and of a bias.

        Args:
            W (Variable or array): Weight of shape (out_size, in_size).
            b (Variable, array or None): Bias of shape (out_size,); without it there is none.
            nobias (bool): Must not be true if ``b`` is given.

        Returns:
            Linear: The layer.

        Raises:
            ValueError: ``nobias`` contradicts ``b``.

        Example:
            >>> L.Linear.from_params(np.ones((2, 3), np.float32)).W.shape
            (2, 3)
        """
        if b is not None and nobias:
            raise ValueError('`nobias` must not be True when the bias `b` is given.')
        out_size, in_size = W.shape
        return cls(
            in_size, out_size, nobias=b is None,
            initialW=variable.as_array(W), initial_bias=variable.as_array(b))

    @property
    def printable_specs(self):
        yield 'in_size', self.in_size
        yield 'out_size', self.out_size
        yield 'nobias', self.b is None

    def forward(self, x, n_batch_axes=1):
        """Applies the layer.

        Args:
            x (Variable or array): Batch of inputs. Its axes after the first ``n_batch_axes`` are
                taken as one.
            n_batch_axes (int): Number of the batch axes.

        Returns:
            Variable: The batch axes, then one of size ``out_size``.
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(utils.size_of_shape(x.shape[n_batch_axes:]))
        return F.linear(x, self.W, self.b, n_batch_axes=n_batch_axes)
