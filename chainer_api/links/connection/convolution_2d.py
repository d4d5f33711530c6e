"""Two-dimensional convolution layer."""
import chainer
from chainer import functions as F
from chainer import initializers, link, memory_layouts, variable
from chainer.utils import _errors, argument, conv_nd

_DETERMINISTIC = (
    'deterministic argument is not supported anymore. '
    "Use chainer.using_config('cudnn_deterministic', value) context where value is either "
    '`True` or `False`.')


class Convolution2D(link.Link):
    """Two-dimensional convolution layer.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None`` or left out
            (``Convolution2D(out_channels, ksize)``), the first call decides.
        out_channels (int): Number of channels of the output.
        ksize (int or pair of ints): Height and width of the filters.
        stride (int or pair of ints): Step of the filters.
        pad (int or pair of ints): Zeros added on each side of the input.
        nobias (bool): Leaves out the bias.
        initialW (initializer): Initializes the filters: an initializer, a scalar or an array of
            shape (out_channels, in_channels / groups, height, width). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the bias. The default is zero.
        dilate (int or pair of ints): Distance between the elements of a filter.
        groups (int): Number of groups of channels; each is convolved on its own.

    Attributes:
        W (Parameter): Filters.
        b (Parameter): Bias of shape (out_channels,), or ``None``.
        cudnn_fast (bool): Whether ``chainer.config.compute_mode`` was ``'cudnn_fast'`` when the
            link was made.
        x_layout: The layout of images (:mod:`chainer.memory_layouts`) that this mode takes.

    Raises:
        ValueError: A number of channels is not divisible by ``groups``.

    .. seealso:: :func:`chainer.functions.convolution_2d`

    Example:
        >>> x = np.ones((1, 3, 10, 10), np.float32)
        >>> L.Convolution2D(3, 7, 5)(x).shape
        (1, 7, 6, 6)
        >>> L.Convolution2D(None, 7, ksize=(3, 5), stride=2, pad=(1, 2))(x).shape
        (1, 7, 5, 5)
    """

    # Of links in pickles of Chainer 5:
    in_channels = None
    cudnn_fast = False
    x_layout = memory_layouts.CUDNN_CHANNEL_FIRST_X

    def __init__(self, in_channels, out_channels, ksize=None, stride=1, pad=0, nobias=False,
                 initialW=None, initial_bias=None, *, dilate=1, groups=1, **kwargs):
        super().__init__()
        if kwargs:
            argument.check_unexpected_kwargs(kwargs, deterministic=_DETERMINISTIC)
            argument.assert_kwargs_empty(kwargs)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.ksize = ksize
        self.stride = conv_nd.as_tuple(stride, 2)
        self.pad = conv_nd.as_tuple(pad, 2)
        self.dilate = conv_nd.as_tuple(dilate, 2)
        self.groups = int(groups)
        self.cudnn_fast = chainer.get_compute_mode() == 'cudnn_fast'
        if self.cudnn_fast:
            self.x_layout = memory_layouts.CUDNN_CHANNEL_LAST_X
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
        check_groups(in_channels, self.out_channels, self.groups)
        kh, kw = conv_nd.as_tuple(self.ksize, 2)
        self.W.initialize((self.out_channels, in_channels // self.groups, kh, kw))

    @classmethod
    def from_params(cls, W, b=None, stride=1, pad=0, nobias=False, *, dilate=1, groups=1):
        """Makes a layer with copies of filters and of a bias.

        Args:
            W (Variable or array): Filters of shape
                (out_channels, in_channels / groups, height, width).
            b (Variable, array or None): Bias of shape (out_channels,); without it there is none.
            stride, pad, dilate, groups: See :class:`Convolution2D`.
            nobias (bool): Must not be true if ``b`` is given.

        Returns:
            Convolution2D: The layer.

        Raises:
            ValueError: ``nobias`` contradicts ``b``.
        """
        if b is not None and nobias:
            raise ValueError('`nobias` must not be True when the bias `b` is given.')
        out_channels, in_channels, *ksize = W.shape
        return cls(
            in_channels * groups, out_channels, tuple(ksize), stride, pad, nobias=b is None,
            initialW=variable.as_array(W), initial_bias=variable.as_array(b),
            dilate=dilate, groups=groups)

    @property
    def printable_specs(self):
        for name in ('in_channels', 'out_channels', 'ksize', 'stride', 'pad'):
            yield name, getattr(self, name)
        yield 'nobias', self.b is None
        yield 'dilate', self.dilate
        yield 'groups', self.groups

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
        return F.convolution_2d(
            x, self.W, self.b, self.stride, self.pad, dilate=self.dilate, groups=self.groups)


def check_groups(in_channels, out_channels, groups):
    """Raises ``ValueError`` if a number of channels is not divisible by the number of groups."""
    for kind, n_channels in (('output', out_channels), ('input', in_channels)):
        if n_channels % groups:
            raise ValueError(
                f'the number of {kind} channels must be divisible by the number of groups, '
                f'but {n_channels} channels were given, and {groups} groups')
