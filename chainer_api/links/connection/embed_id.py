"""Table of embedding vectors."""
from chainer import functions as F
from chainer import initializers, link, variable


class EmbedID(link.Link):
    """Table of vectors, looked up by identifiers.

    Args:
        in_size (int): Number of identifiers.
        out_size (int): Number of elements of a vector.
        initialW (initializer): Initializes the table: an initializer, a scalar or an array of
            shape (in_size, out_size). The default is :class:`~chainer.initializers.Normal` of
            standard deviation 1.
        ignore_label (int or None): Identifier that stands for nothing; its vectors are zero.

    Attributes:
        W (Parameter): The table.
        ignore_label (int or None): As given.

    .. seealso:: :func:`chainer.functions.embed_id`

    Example:
        >>> table = L.EmbedID(3, 2, initialW=np.array([[0, 0], [1, 2], [3, 4]], np.float32))
        >>> table(np.array([2, 1], np.int32)).array
        array([[3., 4.],
               [1., 2.]], dtype=float32)
    """

    ignore_label = None

    def __init__(self, in_size, out_size, initialW=None, ignore_label=None):
        super().__init__()
        self.ignore_label = ignore_label
        if initialW is None:
            initialW = initializers.Normal(1.0)
        with self.init_scope():
            self.W = variable.Parameter(
                initializers._get_initializer(initialW), (in_size, out_size))

    @classmethod
    def from_params(cls, W, ignore_label=None):
        """Makes a link with a copy of a table.

        Args:
            W (Variable or array): Table of shape (in_size, out_size).
            ignore_label (int or None): See :class:`EmbedID`.

        Returns:
            EmbedID: The link.
        """
        in_size, out_size = W.shape
        return cls(in_size, out_size, initialW=variable.as_array(W), ignore_label=ignore_label)

    def forward(self, x):
        """Looks up the vectors of identifiers.

        Args:
            x (Variable or array): Identifiers, signed integers of any shape.

        Returns:
            Variable: The shape of ``x``, then ``out_size``.
        """
        return F.embed_id(x, self.W, ignore_label=self.ignore_label)
