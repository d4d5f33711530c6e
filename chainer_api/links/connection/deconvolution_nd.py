"""Deconvolution layers over any number of axes."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.links.connection import convolution_2d
from chainer.utils import _errors, conv_nd


class DeconvolutionND(link.Link):
    """Deconvolution (transposed convolution) layer over ``ndim`` axes.

    Args:
        ndim (int): Number of the spatial axes.
        in_channels (int or None): Number of channels of the input. If it is ``None`` or left out
            (``DeconvolutionND(ndim, out_channels, ksize)``), the first call decides.
        out_channels (int): Number of channels of the output.
        ksize (int or tuple of ints): Size of the filters.
        stride (int or tuple of ints): Step of the filters on the output.
        pad (int or tuple of ints): What is cut off on each side of the output.
        nobias (bool): Leaves out the bias.
        outsize (tuple of ints): Spatial shape of the output, where it shall not be the smallest
            possible.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (in_channels, out_channels / groups, k_1, ..., k_N). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.
        dilate (int or tuple of ints): Distance between the elements of a filter.
        groups (int): Number of groups of channels; each is convolved on its own.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (out_channels,), or ``None``.

    Raises:
        ValueError: A number of channels is not divisible by ``groups``, or a setting has not one
            value for each axis.

    .. seealso:: :func:`chainer.functions.deconvolution_nd`

    Example:
        >>> x = np.ones((1, 3, 5, 5, 5), np.float32)
        >>> L.DeconvolutionND(3, 3, 7, ksize=4, stride=2, pad=1)(x).shape
        (1, 7, 10, 10, 10)
    """

    def __init__(self, ndim, in_channels, out_channels, ksize=None, stride=1, pad=0, nobias=False,
                 outsize=None, initialW=None, initial_bias=None, dilate=1, groups=1):
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.out_channels = out_channels
        self.ksize = conv_nd.as_tuple(ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.outsize = outsize
        self.dilate = conv_nd.as_tuple(dilate, ndim)
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
        self.W.initialize((in_channels, self.out_channels // self.groups, *self.ksize))

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Shape (batch, in_channels, d_1, ..., d_N).

        Returns:
            Variable: Shape (batch, out_channels, l_1, ..., l_N).
        """
        if self.W._array is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(x.shape[1])
        return F.deconvolution_nd(
            x, self.W, self.b, self.stride, self.pad, self.outsize, self.dilate, self.groups)


class Deconvolution1D(DeconvolutionND):
    """Deconvolution layer over one axis: :class:`DeconvolutionND` with ``ndim=1``.

    Example:
        >>> L.Deconvolution1D(3, 7, ksize=4, stride=2)(np.ones((1, 3, 5), np.float32)).shape
        (1, 7, 12)
    """

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, nobias=False,
                 outsize=None, initialW=None, initial_bias=None, dilate=1, groups=1):
        super().__init__(
            1, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW,
            initial_bias, dilate, groups)


class Deconvolution3D(DeconvolutionND):
    """Deconvolution layer over three axes: :class:`DeconvolutionND` with ``ndim=3``.

    Example:
        >>> L.Deconvolution3D(3, 7, ksize=2)(np.ones((1, 3, 5, 5, 5), np.float32)).shape
        (1, 7, 6, 6, 6)
    """

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, nobias=False,
                 outsize=None, initialW=None, initial_bias=None, dilate=1, groups=1):
        super().__init__(
            3, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW,
            initial_bias, dilate, groups)
