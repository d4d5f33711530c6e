"""Two-dimensional deformable convolution layer."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.links.connection import convolution_2d
from chainer.utils import _errors, conv_nd


class DeformableConvolution2D(link.Chain):
    """Two-dimensional deformable convolution layer.

    A first convolution tells by how much each element of each patch is moved, for a second one.
    See: `Dai et al., Deformable Convolutional Networks <https://arxiv.org/abs/1703.06211>`_.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None``, the first
            call decides.
        out_channels (int): Number of channels of the output.
        ksize (int or pair of ints): Height and width of the filters.
        stride (int or pair of ints): Step of the filters.
        pad (int or pair of ints): Zeros added on each side of the input.
        offset_nobias (bool): Leaves out the bias of the first convolution.
        offset_initialW (initializer): Initializes the filters of the first convolution: an
            initializer, a scalar or an array. The default is
            :class:`~chainer.initializers.LeCunNormal`.
        offset_initial_bias (initializer): Likewise for its bias. The default is zero.
        deform_nobias (bool): Leaves out the bias of the second convolution.
        deform_initialW (initializer): Initializes the filters of the second convolution. The
            default is zero.
        deform_initial_bias (initializer): Likewise for its bias. The default is zero.

    Attributes:
        offset_conv (Convolution2D): First convolution.
        deform_conv (DeformableConvolution2DSampler): Second convolution.

    .. seealso:: :func:`chainer.functions.deformable_convolution_2d_sampler`

    Example:
        >>> layer = L.DeformableConvolution2D(3, 7, ksize=3)
        >>> layer(np.ones((1, 3, 10, 10), np.float32)).shape
        (1, 7, 8, 8)
    """

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, offset_nobias=False,
                 offset_initialW=None, offset_initial_bias=None, deform_nobias=False,
                 deform_initialW=None, deform_initial_bias=None):
        super().__init__()
        kh, kw = conv_nd.as_tuple(ksize, 2)
        with self.init_scope():
            self.offset_conv = convolution_2d.Convolution2D(
                in_channels, 2 * kh * kw, ksize, stride, pad, offset_nobias, offset_initialW,
                offset_initial_bias)
            self.deform_conv = DeformableConvolution2DSampler(
                in_channels, out_channels, ksize, stride, pad, deform_nobias, deform_initialW,
                deform_initial_bias)

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Shape (batch, out_channels, out_height, out_width).
        """
        return self.deform_conv(x, self.offset_conv(x))


class DeformableConvolution2DSampler(link.Link):
    """Convolution of a :class:`DeformableConvolution2D` whose offsets are given.

    Args:
        in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias: As the
            arguments for the second convolution of :class:`DeformableConvolution2D`.

    Attributes:
        W (Parameter): Filters of shape (out_channels, in_channels, height, width).
        b (Parameter): Bias of shape (out_channels,), or ``None``.
    """

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, nobias=False,
                 initialW=None, initial_bias=None):
        super().__init__()
        self.ksize = ksize
        self.stride = conv_nd.as_tuple(stride, 2)
        self.pad = conv_nd.as_tuple(pad, 2)
        self.out_channels = out_channels
        if initialW is None:
            initialW = initializers.Zero()
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
        self.W.initialize((self.out_channels, in_channels, kh, kw))
        if self.b is not None:
            self.b.initialize(self.out_channels)

    def forward(self, x, offset):
        """Applies the convolution.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).
            offset (Variable or array): Offsets, see
                :func:`chainer.functions.deformable_convolution_2d_sampler`.

        Returns:
            Variable: Shape (batch, out_channels, out_height, out_width).
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(x.shape[1])
        return F.deformable_convolution_2d_sampler(
            x, offset, self.W, self.b, self.stride, self.pad)
