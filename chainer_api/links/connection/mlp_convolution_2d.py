"""Two-dimensional multilayer perceptron convolution layer."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import convolution_2d
from chainer.utils import argument

_WSCALE = (
    'wscale is not supported anymore. Use conv_init and bias_init argument to change the scale of '
    'initial parameters.')


class MLPConvolution2D(link.ChainList):
    """A convolution and then 1x1 convolutions, with activations between them ("mlpconv").

    There is no activation after the last convolution. See: `Lin et al., Network In Network
    <https://arxiv.org/abs/1312.4400>`_.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None`` or left out
            (``MLPConvolution2D(out_channels, ksize)``), the first call decides.
        out_channels (tuple of ints): Number of channels of each convolution.
        ksize (int or pair of ints): Height and width of the filters of the first convolution.
        stride (int or pair of ints): Stride of the first convolution.
        pad (int or pair of ints): Padding of the first convolution.
        activation (callable): Activation function, not a link with parameters.
        conv_init (initializer): Initializes all weights: an initializer, a scalar or an array.
        bias_init (initializer): Likewise for all biases.

    Attributes:
        activation (callable): Activation function.

    Raises:
        ValueError: ``out_channels`` is empty.

    Example:
        >>> layer = L.MLPConvolution2D(3, (8, 8, 4), ksize=5)
        >>> layer(np.ones((1, 3, 10, 10), np.float32)).shape
        (1, 4, 6, 6)
    """

    def __init__(self, in_channels, out_channels, ksize=None, stride=1, pad=0, activation=F.relu,
                 *, conv_init=None, bias_init=None, **kwargs):
        if kwargs:
            argument.check_unexpected_kwargs(kwargs, wscale=_WSCALE)
            argument.assert_kwargs_empty(kwargs)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        if len(out_channels) == 0:
            raise ValueError('out_channels must name the channels of at least one convolution')
        super().__init__()
        self.activation = activation
        self.append(convolution_2d.Convolution2D(
            in_channels, out_channels[0], ksize, stride, pad, initialW=conv_init,
            initial_bias=bias_init))
        for n_in, n_out in zip(out_channels, out_channels[1:], strict=False):
            self.append(convolution_2d.Convolution2D(
                n_in, n_out, 1, initialW=conv_init, initial_bias=bias_init))

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Images with ``out_channels[-1]`` channels.
        """
        for conv in self[:-1]:
            x = self.activation(conv(x))
        return self[-1](x)
