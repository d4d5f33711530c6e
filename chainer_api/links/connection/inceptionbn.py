"""Inception module with batch normalization."""
import chainer
from chainer import functions as F
from chainer import link
from chainer.links.connection import convolution_2d
from chainer.links.normalization import batch_normalization


class InceptionBN(link.Chain):
    """Inception module with batch normalization after each convolution.

    The paths are those of :class:`Inception`, but for two 3x3 convolutions in the place of the 5x5
    one. See: `Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by
    Reducing Internal Covariate Shift <https://arxiv.org/abs/1502.03167>`_.

    Args:
        in_channels (int or None): Number of channels of the input. If it is ``None``, the first
            call decides.
        out1 (int): Number of channels of the 1x1 convolution. If it is zero, there is none.
        proj3 (int): Number of channels of the projection before the 3x3 convolution.
        out3 (int): Number of channels of the 3x3 convolution.
        proj33 (int): Number of channels of the projection before the two 3x3 convolutions.
        out33 (int): Number of channels of the two 3x3 convolutions.
        pooltype (str): ``'max'`` or ``'avg'``.
        proj_pool (int or None): Number of channels of the projection after the pooling. If it is
            ``None``, there is none.
        stride (int): Stride of the last step of each path.
        conv_init (initializer): Initializes all weights: an initializer, a scalar or an array.
        dtype: Type of the parameters of the batch normalizations.

    Raises:
        NotImplementedError: ``pooltype`` is another one.
        AssertionError: ``out1`` is positive, and ``stride`` is not one or ``proj_pool`` is
            ``None``.

    Example:
        >>> module = L.InceptionBN(3, 1, 2, 2, 2, 3, 'avg', 4)
        >>> module(np.ones((1, 3, 8, 8), np.float32)).shape
        (1, 10, 8, 8)
    """

    def __init__(self, in_channels, out1, proj3, out3, proj33, out33, pooltype, proj_pool=None,
                 stride=1, conv_init=None, dtype=None):
        super().__init__()
        if out1 > 0 and (stride != 1 or proj_pool is None):
            # AssertionError is what Chainer raises here.
            raise AssertionError(
                'a 1x1 convolution (out1 > 0) needs stride=1 and a projection (proj_pool)')
        if pooltype not in ('max', 'avg'):
            raise NotImplementedError(f"pooltype must be 'max' or 'avg', not {pooltype!r}")
        self.out1 = out1
        self.proj_pool = proj_pool
        self.stride = stride
        self.pooltype = pooltype

        dtype = chainer.get_dtype(dtype)

        def conv(n_in, n_out, ksize, stride=1, pad=0):
            return convolution_2d.Convolution2D(
                n_in, n_out, ksize, stride, pad, nobias=True, initialW=conv_init)

        def norm(n_channels):
            return batch_normalization.BatchNormalization(n_channels, dtype=dtype)

        with self.init_scope():
            self.proj3 = conv(in_channels, proj3, 1)
            self.conv3 = conv(proj3, out3, 3, stride=stride, pad=1)
            self.proj33 = conv(in_channels, proj33, 1)
            self.conv33a = conv(proj33, out33, 3, pad=1)
            self.conv33b = conv(out33, out33, 3, stride=stride, pad=1)
            self.proj3n = norm(proj3)
            self.conv3n = norm(out3)
            self.proj33n = norm(proj33)
            self.conv33an = norm(out33)
            self.conv33bn = norm(out33)
            if out1 > 0:
                self.conv1 = conv(in_channels, out1, 1)
                self.conv1n = norm(out1)
            if proj_pool is not None:
                self.poolp = conv(in_channels, proj_pool, 1)
                self.poolpn = norm(proj_pool)

    def forward(self, x):
        """Applies the module.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: The outputs of all paths, along the channels.
        """
        outs = []
        if self.out1 > 0:
            outs.append(F.relu(self.conv1n(self.conv1(x))))

        h = F.relu(self.proj3n(self.proj3(x)))
        outs.append(F.relu(self.conv3n(self.conv3(h))))

        h = F.relu(self.proj33n(self.proj33(x)))
        h = F.relu(self.conv33an(self.conv33a(h)))
        outs.append(F.relu(self.conv33bn(self.conv33b(h))))

        if self.pooltype == 'max':
            h = F.max_pooling_2d(x, 3, stride=self.stride, pad=1, cover_all=False)
        else:
            h = F.average_pooling_2d(x, 3, stride=self.stride, pad=1)
        if self.proj_pool is not None:
            h = F.relu(self.poolpn(self.poolp(h)))
        outs.append(h)
        return F.concat(outs, axis=1)
