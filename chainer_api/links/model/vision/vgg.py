"""VGG, the models of 16 and 19 layers."""
import collections

from chainer import functions as F
from chainer import initializers
from chainer.links.connection import convolution_2d, linear
from chainer.links.model.vision import _pretrained

_URL = 'https://www.robots.ox.ac.uk/~vgg/software/very_deep/caffe/VGG_ILSVRC_{}_layers.caffemodel'


class VGGLayers(_pretrained.PretrainedLayers):
    """Model of 16 or 19 layers, with five blocks of convolutions.

    Args:
        pretrained_model (str or None): See :class:`VGG16Layers`.
        n_layers (int): 16 or 19.

    Raises:
        ValueError: ``n_layers`` is another number.
    """

    default_layers = ('fc7',)

    def __init__(self, pretrained_model='auto', n_layers=16):
        if n_layers not in (16, 19):
            raise ValueError(
                f'The n_layers argument should be either 16 or 19, but {n_layers} was given.')
        super().__init__()
        init = {
            'initialW': initializers.Zero() if pretrained_model else initializers.Normal(.01),
            'initial_bias': initializers.Zero()}

        def conv(n_in, n_out):
            return convolution_2d.Convolution2D(n_in, n_out, 3, 1, 1, **init)

        with self.init_scope():
            self.conv1_1 = conv(3, 64)
            self.conv1_2 = conv(64, 64)
            self.conv2_1 = conv(64, 128)
            self.conv2_2 = conv(128, 128)
            self.conv3_1 = conv(128, 256)
            self.conv3_2 = conv(256, 256)
            self.conv3_3 = conv(256, 256)
            self.conv4_1 = conv(256, 512)
            self.conv4_2 = conv(512, 512)
            self.conv4_3 = conv(512, 512)
            self.conv5_1 = conv(512, 512)
            self.conv5_2 = conv(512, 512)
            self.conv5_3 = conv(512, 512)
            self.fc6 = linear.Linear(512 * 7 * 7, 4096, **init)
            self.fc7 = linear.Linear(4096, 4096, **init)
            self.fc8 = linear.Linear(4096, 1000, **init)
            if n_layers == 19:
                self.conv3_4 = conv(256, 256)
                self.conv4_4 = conv(512, 512)
                self.conv5_4 = conv(512, 512)
        if pretrained_model:
            self._load(
                pretrained_model, f'VGG_ILSVRC_{n_layers}_layers', _URL.format(n_layers))

    @property
    def functions(self):
        """Ordered dict of the layers: lists of functions by the name of the layer."""
        functions = collections.OrderedDict()
        for block in range(1, 6):
            for i in range(1, 5):
                name = f'conv{block}_{i}'
                if name in self._children:
                    functions[name] = [self[name], F.relu]
            functions[f'pool{block}'] = [_max_pooling_2d]
        functions['fc6'] = [self.fc6, F.relu, F.dropout]
        functions['fc7'] = [self.fc7, F.relu, F.dropout]
        functions['fc8'] = [self.fc8]
        functions['prob'] = [F.softmax]
        return functions

    def _prepare(self, image, size):
        return prepare(image, size)

    def _read_caffemodel(self, path):
        from chainer.links.caffe import CaffeFunction

        caffemodel = CaffeFunction(path)
        for child in self.children():
            child.copyparams(caffemodel[child.name])


class VGG16Layers(VGGLayers):
    """VGG of 16 layers, trained on ImageNet.

    See: `Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition
    <https://arxiv.org/abs/1409.1556>`_.

    Args:
        pretrained_model (str or None): File of the weights, of Caffe (``.caffemodel``) or of NumPy
            (``.npz``). ``'auto'`` stands for ``VGG_ILSVRC_16_layers`` with one of these
            extensions in the folder ``pfnet/chainer/models`` of the data sets; nothing is
            downloaded. With ``None`` the weights are random.

    Raises:
        FileNotFoundError: There is no such file.

    Example:
        >>> model = L.VGG16Layers(pretrained_model=None)  # doctest: +SKIP
        >>> model.extract([image], layers=['conv1_1', 'fc7'])  # doctest: +SKIP
    """

    def __init__(self, pretrained_model='auto'):
        super().__init__(pretrained_model, 16)


class VGG19Layers(VGGLayers):
    """VGG of 19 layers, trained on ImageNet.

    Args:
        pretrained_model (str or None): See :class:`VGG16Layers`; ``'auto'`` stands for
            ``VGG_ILSVRC_19_layers``.
    """

    def __init__(self, pretrained_model='auto'):
        super().__init__(pretrained_model, 19)


def prepare(image, size=(224, 224)):
    """Makes an image ready for the model: resized, BGR, without the mean, channels first.

    Args:
        image (PIL.Image or array): Image; an array has the shape (height, width),
            (height, width, channels) or (channels, height, width) and values from 0 to 255.
        size (pair of ints or None): Width and height; ``None`` leaves them.

    Returns:
        numpy.ndarray: Shape (3, height, width), dtype ``chainer.config.dtype``.

    Example:
        >>> from chainer.links.model.vision import vgg
        >>> vgg.prepare(np.zeros((30, 20), np.uint8)).shape
        (3, 224, 224)
    """
    return _pretrained.prepare(image, size, (103.939, 116.779, 123.68))


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=2)
