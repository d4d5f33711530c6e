"""Two-dimensional dilated convolution layer."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.utils import _errors, conv_nd


class DilatedConvolution2D(link.Link):
    """Two-dimensional dilated convolution layer.

    :class:`Convolution2D` with its argument ``dilate`` does the same.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None`` or left out
            (``DilatedConvolution2D(out_channels, ksize)``), the first call decides.
        out_channels (int): Number of channels of the output.
        ksize (int or pair of ints): Height and width of the filters.
        stride (int or pair of ints): Step of the filters.
        pad (int or pair of ints): Zeros added on each side of the input.
        dilate (int or pair of ints): Distance between the elements of a filter.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (out_channels, in_channels, height, width). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (out_channels,), or ``None``.

    .. seealso:: :func:`chainer.functions.dilated_convolution_2d`

    Example:
        >>> layer = L.DilatedConvolution2D(3, 7, ksize=3, dilate=2)
        >>> layer(np.ones((1, 3, 10, 10), np.float32)).shape
        (1, 7, 6, 6)
    """

    def __init__(self, in_channels, out_channels, ksize=None, stride=1, pad=0, dilate=1,
                 nobias=False, initialW=None, initial_bias=None):
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = conv_nd.as_tuple(stride, 2)
        self.pad = conv_nd.as_tuple(pad, 2)
        self.dilate = conv_nd.as_tuple(dilate, 2)
        with self.init_scope():
            self.W = variable.Parameter(initializers._get_initializer(initialW))
            if in_channels is not None:
                self._initialize_params(in_channels)
            if nobias:
                self.b = None
            else:
                self.b = variable.Parameter(
                    initializers._get_initializer(0 if initial_bias is None else initial_bias),
                    out_channels)

    def _initialize_params(self, in_channels):
        kh, kw = conv_nd.as_tuple(self.ksize, 2)
        self.W.initialize((self.out_channels, in_channels, kh, kw))

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Shape (batch, out_channels, out_height, out_width).
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(x.shape[1])
        return F.dilated_convolution_2d(
            x, self.W, self.b, self.stride, self.pad, self.dilate)
