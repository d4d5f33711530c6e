"""Two-dimensional depthwise convolution layer."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.utils import _errors, conv_nd


class DepthwiseConvolution2D(link.Link):
    """Two-dimensional depthwise convolution layer: each channel is convolved on its own.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None``, the first
            call decides.
        channel_multiplier (int): Number of filters for each channel.
        ksize (int or pair of ints): Height and width of the filters.
        stride (int or pair of ints): Step of the filters.
        pad (int or pair of ints): Zeros added on each side of the input.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (channel_multiplier, in_channels, height, width). The default is the same
            distribution as :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (in_channels * channel_multiplier,), or ``None``.

    .. seealso:: :func:`chainer.functions.depthwise_convolution_2d`

    Example:
        >>> layer = L.DepthwiseConvolution2D(3, 2, ksize=3)
        >>> layer(np.ones((1, 3, 10, 10), np.float32)).shape
        (1, 6, 8, 8)
    """

    def __init__(self, in_channels, channel_multiplier, ksize, stride=1, pad=0, nobias=False,
                 initialW=None, initial_bias=None):
        super().__init__()
        self.ksize = ksize
        self.stride = conv_nd.as_tuple(stride, 2)
        self.pad = conv_nd.as_tuple(pad, 2)
        self.channel_multiplier = channel_multiplier
        self.nobias = nobias
        if initialW is None:
            initialW = initializers.HeNormal(0.5 ** 0.5)
        with self.init_scope():
            self.W = variable.Parameter(initializers._get_initializer(initialW))
            if nobias:
                self.b = None
            else:
                self.b = variable.Parameter(
                    initializers._get_initializer(0 if initial_bias is None else initial_bias))
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels):
        kh, kw = conv_nd.as_tuple(self.ksize, 2)
        self.W.initialize((self.channel_multiplier, in_channels, kh, kw))
        if self.b is not None:
            self.b.initialize(self.channel_multiplier * in_channels)

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Shape (batch, in_channels * channel_multiplier, out_height, out_width).
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(x.shape[1])
        return F.depthwise_convolution_2d(x, self.W, self.b, self.stride, self.pad)
