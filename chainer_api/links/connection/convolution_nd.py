"""Convolution layers over any number of axes."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.links.connection import convolution_2d
from chainer.utils import _errors, conv_nd


class ConvolutionND(link.Link):
    """Convolution layer over ``ndim`` axes.

    Args:
        ndim (int): Number of the spatial axes.
        in_channels (int or None): Number of channels of the input. If it is ``None`` or left out
            (``ConvolutionND(ndim, out_channels, ksize)``), the first call decides.
        out_channels (int): Number of channels of the output.
        ksize (int or tuple of ints): Size of the filters.
        stride (int or tuple of ints): Step of the filters.
        pad (int or tuple of ints): Zeros added on each side of the input.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (out_channels, in_channels / groups, k_1, ..., k_N). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.
        cover_all (bool): Whether a last patch that hangs over the end is used too.
        dilate (int or tuple of ints): Distance between the elements of a filter.
        groups (int): Number of groups of channels; each is convolved on its own.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (out_channels,), or ``None``.

    Raises:
        ValueError: A number of channels is not divisible by ``groups``, or a setting has not one
            value for each axis.

    .. seealso:: :func:`chainer.functions.convolution_nd`

    Example:
        >>> x = np.ones((1, 3, 8, 8, 8), np.float32)
        >>> L.ConvolutionND(3, 3, 7, ksize=3, stride=2)(x).shape
        (1, 7, 3, 3, 3)
    """

    def __init__(self, ndim, in_channels, out_channels, ksize=None, stride=1, pad=0, nobias=False,
                 initialW=None, initial_bias=None, cover_all=False, dilate=1, groups=1):
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.out_channels = out_channels
        self.ksize = conv_nd.as_tuple(ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.cover_all = cover_all
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
        self.W.initialize((self.out_channels, in_channels // self.groups, *self.ksize))

    @classmethod
    def from_params(cls, W, b=None, stride=1, pad=0, nobias=False, *, cover_all=False, dilate=1,
                    groups=1):
        """Makes a layer with copies of filters and of a bias.

        Args:
            W (Variable or array): Filters of shape
                (out_channels, in_channels / groups, k_1, ..., k_N).
            b (Variable, array or None): Bias of shape (out_channels,); without it there is none.
            stride, pad, cover_all, dilate, groups: See :class:`ConvolutionND`.
            nobias (bool): Must not be true if ``b`` is given.

        Returns:
            ConvolutionND: The layer.

        Raises:
            ValueError: ``nobias`` contradicts ``b``.
        """
        if b is not None and nobias:
            raise ValueError('`nobias` must not be True when the bias `b` is given.')
        out_channels, in_channels, *ksize = W.shape
        return ConvolutionND(
            len(ksize), in_channels * groups, out_channels, tuple(ksize), stride, pad,
            nobias=b is None, initialW=variable.as_array(W), initial_bias=variable.as_array(b),
            cover_all=cover_all, dilate=dilate, groups=groups)

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
        return F.convolution_nd(
            x, self.W, self.b, self.stride, self.pad, self.cover_all, self.dilate, self.groups)


class Convolution1D(ConvolutionND):
    """Convolution layer over one axis: :class:`ConvolutionND` with ``ndim=1``.

    Example:
        >>> L.Convolution1D(3, 7, ksize=3)(np.ones((1, 3, 8), np.float32)).shape
        (1, 7, 6)
    """

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, nobias=False,
                 initialW=None, initial_bias=None, cover_all=False, dilate=1, groups=1):
        super().__init__(
            1, in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias,
            cover_all, dilate, groups)


class Convolution3D(ConvolutionND):
    """Convolution layer over three axes: :class:`ConvolutionND` with ``ndim=3``.

    Example:
        >>> L.Convolution3D(3, 7, ksize=3)(np.ones((1, 3, 8, 8, 8), np.float32)).shape
        (1, 7, 6, 6, 6)
    """

    def __init__(self, in_channels, out_channels, ksize, stride=1, pad=0, nobias=False,
                 initialW=None, initial_bias=None, cover_all=False, dilate=1, groups=1):
        super().__init__(
            3, in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias,
            cover_all, dilate, groups)
