"""Highway layer."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import linear


class Highway(link.Chain):
    r"""Highway layer: a gate chooses between a nonlinear transformation and the input.

    .. math::
        t &= \sigma(W_t x + b_t), \\
        y &= \mathrm{activate}(W_h x + b_h) \odot t + x \odot (1 - t).

    See: `Srivastava et al., Highway Networks <https://arxiv.org/abs/1505.00387>`_.

    Args:
        in_out_size (int): Size of an input and of an output.
        nobias (bool): Leaves out both biases.
        activate (callable): Activation function.
        init_Wh (initializer): Initializes the weight of the transformation: an initializer, a
            scalar or an array. The default is :class:`~chainer.initializers.LeCunNormal`.
        init_Wt (initializer): Likewise for the weight of the gate.
        init_bh (initializer): Likewise for the bias of the transformation. The default is zero.
        init_bt (initializer): Likewise for the bias of the gate. Negative values, as the paper
            recommends, let the input through at first.

    Attributes:
        plain (Linear): Connection of the transformation.
        transform (Linear): Connection of the gate.

    Example:
        >>> L.Highway(3)(np.ones((5, 3), np.float32)).shape
        (5, 3)
    """

    def __init__(self, in_out_size, nobias=False, activate=F.relu, init_Wh=None, init_Wt=None,
                 init_bh=None, init_bt=-1):
        super().__init__()
        self.activate = activate
        with self.init_scope():
            self.plain = linear.Linear(
                in_out_size, in_out_size, nobias=nobias, initialW=init_Wh, initial_bias=init_bh)
            self.transform = linear.Linear(
                in_out_size, in_out_size, nobias=nobias, initialW=init_Wt, initial_bias=init_bt)

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: Shape of the input.
        """
        plain = self.activate(self.plain(x))
        gate = F.sigmoid(self.transform(x))
        return plain * gate + x * (1 - gate)
