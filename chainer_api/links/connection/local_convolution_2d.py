"""Two-dimensional local convolution layer."""
import warnings

from chainer import functions as F
from chainer import initializers, link, variable
from chainer.utils import _errors, conv, conv_nd


class LocalConvolution2D(link.Link):
    """Two-dimensional convolution layer with filters of its own at each place of the image.

    Args:
        in_channels (int or None): Number of channels of the input. If it or ``in_size`` is
            ``None``, the first call decides.
        out_channels (int): Number of channels of the output.
        in_size (int or pair of ints or None): Height and width of the input.
        ksize (int or pair of ints): Height and width of the filters.
        stride (int or pair of ints): Step of the filters.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (out_channels, out_height, out_width, in_channels, height, width). The default
            is :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (out_channels, out_height, out_width), or ``None``.

    .. seealso:: :func:`chainer.functions.local_convolution_2d`

    Example:
        >>> layer = L.LocalConvolution2D(3, 7, in_size=10, ksize=3)
        >>> layer(np.ones((1, 3, 10, 10), np.float32)).shape
        (1, 7, 8, 8)
    """

    def __init__(self, in_channels, out_channels, in_size=None, ksize=None, stride=1,
                 nobias=False, initialW=None, initial_bias=None, **kwargs):
        super().__init__()
        if kwargs:
            warnings.warn(
                f'LocalConvolution2D ignores the arguments {sorted(kwargs)}, as Chainer did',
                stacklevel=2)
        self.ksize = ksize
        self.stride = conv_nd.as_tuple(stride, 2)
        self.nobias = nobias
        self.out_channels = out_channels
        with self.init_scope():
            self.W = variable.Parameter(initializers._get_initializer(initialW))
            if nobias:
                self.b = None
            else:
                self.b = variable.Parameter(
                    initializers._get_initializer(0 if initial_bias is None else initial_bias))
        if in_channels is not None and in_size is not None:
            self._initialize_params(in_channels, conv_nd.as_tuple(in_size, 2))

    def _initialize_params(self, in_channels, in_size):
        ksize = conv_nd.as_tuple(self.ksize, 2)
        out_size = [
            conv.get_conv_outsize(size, k, s, 0)
            for size, k, s in zip(in_size, ksize, self.stride, strict=True)]
        self.W.initialize((self.out_channels, *out_size, in_channels, *ksize))
        if self.b is not None:
            self.b.initialize((self.out_channels, *out_size))

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Shape (batch, out_channels, out_height, out_width).
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(x.shape[1], x.shape[2:])
        return F.local_convolution_2d(x, self.W, self.b, stride=self.stride)
