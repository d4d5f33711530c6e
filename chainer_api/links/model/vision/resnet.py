"""ResNet, the models of 50, 101 and 152 layers."""
import collections

from chainer import functions as F
from chainer import initializers, link
from chainer.links.connection import convolution_2d, linear
from chainer.links.model.vision import _pretrained
from chainer.links.normalization import batch_normalization

_URL = 'https://github.com/KaimingHe/deep-residual-networks'

_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class ResNetLayers(_pretrained.PretrainedLayers):
    """Model of 50, 101 or 152 layers, with four building blocks.

    See: `He et al., Deep Residual Learning for Image Recognition
    <https://arxiv.org/abs/1512.03385>`_.

    Args:
        pretrained_model (str or None): File of the weights, of Caffe (``.caffemodel``) or of NumPy
            (``.npz``). ``'auto'`` stands for ``ResNet-50-model`` (``-101-``, ``-152-``) with one
            of these extensions in the folder ``pfnet/chainer/models`` of the data sets; nothing
            is downloaded. With ``None`` the weights are random.
        n_layers (int): 50, 101 or 152.
        downsample_fb (bool): Whether the 3x3 convolutions have the stride, as in the models of
            Facebook, rather than the 1x1 convolutions before them.

    Raises:
        ValueError: ``n_layers`` is another number.
        FileNotFoundError: There is no such file.
    """

    default_layers = ('pool5',)

    def __init__(self, pretrained_model, n_layers, downsample_fb=False):
        if n_layers not in _BLOCKS:
            raise ValueError(
                'The n_layers argument should be either 50, 101, or 152, but '
                f'{n_layers} was given.')
        super().__init__()
        if pretrained_model:
            conv_init = fc_init = initializers.Zero()
        else:
            conv_init, fc_init = initializers.HeNormal(scale=1.0), None
        sizes = _BLOCKS[n_layers]
        init = {'initialW': conv_init, 'downsample_fb': downsample_fb}
        with self.init_scope():
            self.conv1 = convolution_2d.Convolution2D(3, 64, 7, 2, 3, initialW=conv_init)
            self.bn1 = batch_normalization.BatchNormalization(64)
            self.res2 = BuildingBlock(sizes[0], 64, 64, 256, 1, **init)
            self.res3 = BuildingBlock(sizes[1], 256, 128, 512, 2, **init)
            self.res4 = BuildingBlock(sizes[2], 512, 256, 1024, 2, **init)
            self.res5 = BuildingBlock(sizes[3], 1024, 512, 2048, 2, **init)
            self.fc6 = linear.Linear(2048, 1000, initialW=fc_init)
        if pretrained_model:
            self._load(pretrained_model, f'ResNet-{n_layers}-model', _URL)

    @property
    def functions(self):
        """Ordered dict of the layers: lists of functions by the name of the layer."""
        return collections.OrderedDict([
            ('conv1', [self.conv1, self.bn1, F.relu]),
            ('pool1', [_max_pooling_2d]),
            ('res2', [self.res2]),
            ('res3', [self.res3]),
            ('res4', [self.res4]),
            ('res5', [self.res5]),
            ('pool5', [_global_average_pooling_2d]),
            ('fc6', [self.fc6]),
            ('prob', [F.softmax]),
        ])

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel, path_npz, n_layers=50):
        """Reads weights from a file of Caffe and writes them to a file of NumPy.

        Args:
            path_caffemodel (str): File of Caffe.
            path_npz (str): File to write; ``pretrained_model`` may name it then.
            n_layers (int): Number of layers, where the class does not tell.
        """
        classes = {50: ResNet50Layers, 101: ResNet101Layers, 152: ResNet152Layers}
        if cls is ResNetLayers:
            cls = classes[n_layers]
        super(ResNetLayers, cls).convert_caffemodel_to_npz(path_caffemodel, path_npz)

    def _prepare(self, image, size):
        return prepare(image, size)

    def _read_caffemodel(self, path):
        from chainer.links.caffe import CaffeFunction

        caffemodel = CaffeFunction(path)
        conv1 = caffemodel['conv1']
        self.conv1.W.array[...] = conv1.W.array
        if conv1.b is not None:  # the deeper models have none
            self.conv1.b.array[...] = conv1.b.array
        _copy_norm(self.bn1, caffemodel, 'conv1')
        self.fc6.copyparams(caffemodel['fc1000'])
        names = {child.name for child in caffemodel.children()}
        for name in ('res2', 'res3', 'res4', 'res5'):
            self[name]._copy_caffe(caffemodel, name[-1], f'{name}b1_branch2a' in names)


class ResNet50Layers(ResNetLayers):
    """ResNet of 50 layers, trained on ImageNet.

    Args:
        pretrained_model, downsample_fb: See
            :class:`~chainer.links.model.vision.resnet.ResNetLayers`.

    Example:
        >>> model = L.ResNet50Layers(pretrained_model=None)  # doctest: +SKIP
        >>> model.extract([image], layers=['pool5'])['pool5'].shape  # doctest: +SKIP
        (1, 2048)
    """

    def __init__(self, pretrained_model='auto', downsample_fb=False):
        super().__init__(pretrained_model, 50, downsample_fb)


class ResNet101Layers(ResNetLayers):
    """ResNet of 101 layers, trained on ImageNet.

    Args:
        pretrained_model, downsample_fb: See
            :class:`~chainer.links.model.vision.resnet.ResNetLayers`.
    """

    def __init__(self, pretrained_model='auto', downsample_fb=False):
        super().__init__(pretrained_model, 101, downsample_fb)


class ResNet152Layers(ResNetLayers):
    """ResNet of 152 layers, trained on ImageNet.

    Args:
        pretrained_model, downsample_fb: See
            :class:`~chainer.links.model.vision.resnet.ResNetLayers`.
    """

    def __init__(self, pretrained_model='auto', downsample_fb=False):
        super().__init__(pretrained_model, 152, downsample_fb)


def prepare(image, size=(224, 224)):
    """Makes an image ready for the model: resized, BGR, without the mean, channels first.

    Args:
        image (PIL.Image or array): Image; an array has the shape (height, width),
            (height, width, channels) or (channels, height, width) and values from 0 to 255.
        size (pair of ints or None): Width and height; ``None`` leaves them.

    Returns:
        numpy.ndarray: Shape (3, height, width), dtype ``chainer.config.dtype``.

    Example:
        >>> from chainer.links.model.vision import resnet
        >>> resnet.prepare(np.zeros((30, 20), np.uint8)).shape
        (3, 224, 224)
    """
    return _pretrained.prepare(image, size, (103.063, 115.903, 123.152))


class BuildingBlock(link.Chain):
    """Row of residual blocks, the first of which changes the size.

    Args:
        n_layers (int): Number of blocks.
        in_channels (int): Number of channels of the input.
        mid_channels (int): Number of channels inside of the blocks.
        out_channels (int): Number of channels of the output.
        stride (int or pair of ints): Stride of the first block.
        initialW (initializer): Initializes the filters.
        downsample_fb (bool): See :class:`ResNetLayers`.
    """

    def __init__(self, n_layers, in_channels, mid_channels, out_channels, stride, initialW=None,
                 downsample_fb=False):
        super().__init__()
        with self.init_scope():
            self.a = BottleneckA(
                in_channels, mid_channels, out_channels, stride, initialW, downsample_fb)
            for i in range(1, n_layers):
                setattr(self, f'b{i}', BottleneckB(out_channels, mid_channels, initialW))
        self._forward = ['a'] + [f'b{i}' for i in range(1, n_layers)]

    def forward(self, x):
        """Applies the blocks.

        Args:
            x (Variable or array): Images of shape (batch, in_channels, height, width).

        Returns:
            Variable: Images with ``out_channels`` channels.
        """
        for name in self._forward:
            x = self[name](x)
        return x

    def _copy_caffe(self, caffemodel, number, numbered):
        # Blocks are 2a, 2b, 2c, ... in the files, and 3a, 3b1, 3b2, ... in those of deep models.
        for i, name in enumerate(self._forward):
            suffix = f'b{i}' if numbered and i else chr(ord('a') + i)
            self[name]._copy_caffe(caffemodel, number + suffix)


class BottleneckA(link.Chain):
    """Residual block that changes the size, by a convolution beside the others.

    Args:
        in_channels (int): Number of channels of the input.
        mid_channels (int): Number of channels inside.
        out_channels (int): Number of channels of the output.
        stride (int or pair of ints): Stride.
        initialW (initializer): Initializes the filters.
        downsample_fb (bool): See :class:`ResNetLayers`.
    """

    def __init__(self, in_channels, mid_channels, out_channels, stride=2, initialW=None,
                 downsample_fb=False):
        super().__init__()
        stride_1x1, stride_3x3 = (1, stride) if downsample_fb else (stride, 1)
        with self.init_scope():
            self.conv1 = _conv(in_channels, mid_channels, 1, stride_1x1, 0, initialW)
            self.bn1 = batch_normalization.BatchNormalization(mid_channels)
            self.conv2 = _conv(mid_channels, mid_channels, 3, stride_3x3, 1, initialW)
            self.bn2 = batch_normalization.BatchNormalization(mid_channels)
            self.conv3 = _conv(mid_channels, out_channels, 1, 1, 0, initialW)
            self.bn3 = batch_normalization.BatchNormalization(out_channels)
            self.conv4 = _conv(in_channels, out_channels, 1, stride, 0, initialW)
            self.bn4 = batch_normalization.BatchNormalization(out_channels)

    def forward(self, x):
        """Applies the block to images."""
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + self.bn4(self.conv4(x)))

    def _copy_caffe(self, caffemodel, name):
        _copy_branch2(self, caffemodel, name)
        self.conv4.copyparams(caffemodel[f'res{name}_branch1'])
        _copy_norm(self.bn4, caffemodel, f'{name}_branch1')


class BottleneckB(link.Chain):
    """Residual block that keeps the size.

    Args:
        in_channels (int): Number of channels of the input and of the output.
        mid_channels (int): Number of channels inside.
        initialW (initializer): Initializes the filters.
    """

    def __init__(self, in_channels, mid_channels, initialW=None):
        super().__init__()
        with self.init_scope():
            self.conv1 = _conv(in_channels, mid_channels, 1, 1, 0, initialW)
            self.bn1 = batch_normalization.BatchNormalization(mid_channels)
            self.conv2 = _conv(mid_channels, mid_channels, 3, 1, 1, initialW)
            self.bn2 = batch_normalization.BatchNormalization(mid_channels)
            self.conv3 = _conv(mid_channels, in_channels, 1, 1, 0, initialW)
            self.bn3 = batch_normalization.BatchNormalization(in_channels)

    def forward(self, x):
        """Applies the block to images."""
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + x)

    def _copy_caffe(self, caffemodel, name):
        _copy_branch2(self, caffemodel, name)


def _conv(in_channels, out_channels, ksize, stride, pad, initialW):
    return convolution_2d.Convolution2D(
        in_channels, out_channels, ksize, stride, pad, nobias=True, initialW=initialW)


def _copy_branch2(block, caffemodel, name):
    for i, letter in enumerate('abc', 1):
        block[f'conv{i}'].copyparams(caffemodel[f'res{name}_branch2{letter}'])
        _copy_norm(block[f'bn{i}'], caffemodel, f'{name}_branch2{letter}')


def _copy_norm(bn, caffemodel, name):
    """Statistics and scales stand in two layers of Caffe."""
    # 'conv1' is the name of the first convolution itself: its layers are bn_conv1, scale_conv1.
    separator = '_' if name == 'conv1' else ''
    statistics = caffemodel[f'bn{separator}{name}']
    scale = caffemodel[f'scale{separator}{name}']
    bn.avg_mean[...] = statistics.avg_mean
    bn.avg_var[...] = statistics.avg_var
    bn.gamma.array[...] = scale.W.array
    bn.beta.array[...] = scale.bias.b.array


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=3, stride=2)


def _global_average_pooling_2d(x):
    n, channels, height, width = x.shape
    h = F.average_pooling_2d(x, (height, width), stride=1)
    return F.reshape(h, (n, channels))
