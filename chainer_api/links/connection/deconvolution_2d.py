"""Two-dimensional deconvolution layer."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.links.connection import convolution_2d
from chainer.utils import _errors, argument, conv_nd


class Deconvolution2D(link.Link):
    """Two-dimensional deconvolution (transposed convolution) layer.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None`` or left out
            (``Deconvolution2D(out_channels, ksize)``), the first call decides.
        out_channels (int): Number of channels of the output.
        ksize (int or pair of ints): Height and width of the filters.
        stride (int or pair of ints): Step of the filters on the output.
        pad (int or pair of ints): What is cut off on each side of the output.
        nobias (bool): Leaves out the bias.
        outsize (pair of ints): Height and width of the output, where it shall not be the smallest
            possible.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (in_channels, out_channels / groups, height, width). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.
        dilate (int or pair of ints): Distance between the elements of a filter.
        groups (int): Number of groups of channels; each is convolved on its own.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (out_channels,), or ``None``.

    Raises:
        ValueError: A number of channels is not divisible by ``groups``.

    .. seealso:: :func:`chainer.functions.deconvolution_2d`

    Example:
        >>> x = np.ones((1, 3, 5, 5), np.float32)
        >>> L.Deconvolution2D(3, 7, ksize=4, stride=2, pad=1)(x).shape
        (1, 7, 10, 10)
    """

    dilate = 1, 1  # of links in pickles of Chainer 5

    def __init__(self, in_channels, out_channels, ksize=None, stride=1, pad=0, nobias=False,
                 outsize=None, initialW=None, initial_bias=None, *, dilate=1, groups=1, **kwargs):
        super().__init__()
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, deterministic=convolution_2d._DETERMINISTIC)
            argument.assert_kwargs_empty(kwargs)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = conv_nd.as_tuple(stride, 2)
        self.pad = conv_nd.as_tuple(pad, 2)
        self.dilate = conv_nd.as_tuple(dilate, 2)
        self.outsize = (None, None) if outsize is None else outsize
        self.groups = int(groups)
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
        convolution_2d.check_groups(in_channels, self.out_channels, self.groups)
        kh, kw = conv_nd.as_tuple(self.ksize, 2)
        self.W.initialize((in_channels, self.out_channels // self.groups, kh, kw))

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
        return F.deconvolution_2d(
            x, self.W, self.b, self.stride, self.pad, self.outsize, dilate=self.dilate,
            groups=self.groups)
