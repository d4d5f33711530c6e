"""Inception module."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import convolution_2d


class Inception(link.Chain):
    """Inception module of GoogLeNet.

    Four paths see the input, and their outputs are concatenated along the channels: a 1x1
    convolution; a 3x3 and a 5x5 convolution, each after a 1x1 convolution (projection); and a 3x3
    max pooling before a projection. Height and width stay as they are. See: `Szegedy et al.,
    Going Deeper with Convolutions <https://arxiv.org/abs/1409.4842>`_.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None``, the first
            call decides.
        out1 (int): Number of channels of the 1x1 convolution.
        proj3 (int): Number of channels of the projection before the 3x3 convolution.
        out3 (int): Number of channels of the 3x3 convolution.
        proj5 (int): Number of channels of the projection before the 5x5 convolution.
        out5 (int): Number of channels of the 5x5 convolution.
        proj_pool (int): Number of channels of the projection after the pooling.
        conv_init (initializer): Initializes all weights: an initializer, a scalar or an array.
        bias_init (initializer): Likewise for all biases.

    .. seealso:: :class:`InceptionBN`

    Example:
        >>> L.Inception(3, 1, 2, 2, 2, 3, 4)(np.ones((1, 3, 8, 8), np.float32)).shape
        (1, 10, 8, 8)
    """

    def __init__(self, in_channels, out1, proj3, out3, proj5, out5, proj_pool, conv_init=None,
                 bias_init=None):
        super().__init__()

        def conv(n_in, n_out, ksize, pad=0):
            return convolution_2d.Convolution2D(
                n_in, n_out, ksize, pad=pad, initialW=conv_init, initial_bias=bias_init)

        with self.init_scope():
            self.conv1 = conv(in_channels, out1, 1)
            self.proj3 = conv(in_channels, proj3, 1)
            self.conv3 = conv(proj3, out3, 3, pad=1)
            self.proj5 = conv(in_channels, proj5, 1)
            self.conv5 = conv(proj5, out5, 5, pad=2)
            self.projp = conv(in_channels, proj_pool, 1)

    def forward(self, x):
        """Applies the module.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Shape (batch, out1 + out3 + out5 + proj_pool, height, width).
        """
        out1 = self.conv1(x)
        out3 = self.conv3(F.relu(self.proj3(x)))
        out5 = self.conv5(F.relu(self.proj5(x)))
        pool = self.projp(F.max_pooling_2d(x, 3, stride=1, pad=1))
        return F.relu(F.concat((out1, out3, out5, pool), axis=1))
