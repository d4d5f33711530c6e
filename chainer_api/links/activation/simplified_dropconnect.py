"""Layer with simplified DropConnect."""
from chainer import functions as F
from chainer import initializers, link, utils, variable
from chainer.utils import _errors


class SimplifiedDropconnect(link.Link):
    """Fully connected layer, some of whose weights are dropped in each call of the training.

    The method is simpler than the paper's, which draws from a normal distribution before the
    activation: here the weights are averaged. See: `Wan et al., Regularization of Neural Networks
    using DropConnect <https://proceedings.mlr.press/v28/wan13.html>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of an output.
        ratio (float): Probability to drop a weight.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the weight: an initializer, a scalar or an array of
            shape (out_size, in_size). The default is the same distribution as
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.

    Attributes:
        W (Parameter): Weight of shape (out_size, in_size).
        b (Parameter): Bias of shape (out_size,), or ``None``.

    .. seealso:: :func:`chainer.functions.simplified_dropconnect`

    Example:
        >>> L.SimplifiedDropconnect(3, 2)(np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def __init__(self, in_size, out_size, ratio=0.5, nobias=False, initialW=None,
                 initial_bias=None):
        super().__init__()
        self.out_size = out_size
        self.ratio = ratio
        if initialW is None:
            initialW = initializers.HeNormal(0.5 ** 0.5)
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

    def forward(self, x, train=True, mask=None, use_batchwise_mask=True):
        """Applies the layer.

        Args:
            x (Variable or array): Batch of inputs.
            train (bool): Whether weights are dropped.
            mask (Variable, array or None): Which weights are kept; drawn by default.
            use_batchwise_mask (bool): Whether each sample has a mask of its own.

        Returns:
            Variable: Shape (batch, out_size).
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(utils.size_of_shape(x.shape[1:]))
        return F.simplified_dropconnect(
            x, self.W, self.b, self.ratio, train, mask, use_batchwise_mask)
