"""GoogLeNet."""
import collections

from chainer import functions as F
from chainer import initializers
from chainer.links.connection import convolution_2d, inception, linear
from chainer.links.model.vision import _pretrained

_URL = 'http://dl.caffe.berkeleyvision.org/bvlc_googlenet.caffemodel'

# Names in the file of Caffe.
_CONVOLUTIONS = {
    'conv1': 'conv1/7x7_s2', 'conv2_reduce': 'conv2/3x3_reduce', 'conv2': 'conv2/3x3',
    'loss1_conv': 'loss1/conv', 'loss1_fc1': 'loss1/fc', 'loss1_fc2': 'loss1/classifier',
    'loss2_conv': 'loss2/conv', 'loss2_fc1': 'loss2/fc', 'loss2_fc2': 'loss2/classifier',
    'loss3_fc': 'loss3/classifier'}
_INCEPTION = {
    'conv1': '1x1', 'proj3': '3x3_reduce', 'conv3': '3x3', 'proj5': '5x5_reduce',
    'conv5': '5x5', 'projp': 'pool_proj'}

# Auxiliary classifiers, and the layers that they see.
_AUXILIARY = {'loss1_fc2': 'inception_4a', 'loss2_fc2': 'inception_4d'}


class GoogLeNet(_pretrained.PretrainedLayers):
    """GoogLeNet, trained on ImageNet.

    See: `Szegedy et al., Going Deeper with Convolutions <https://arxiv.org/abs/1409.4842>`_.

    Args:
        pretrained_model (str or None): File of the weights, of Caffe (``.caffemodel``) or of NumPy
            (``.npz``). ``'auto'`` stands for ``bvlc_googlenet`` with one of these extensions in
            the folder ``pfnet/chainer/models`` of the data sets; nothing is downloaded. With
            ``None`` the weights are random.

    Raises:
        FileNotFoundError: There is no such file.

    Example:
        >>> model = L.GoogLeNet(pretrained_model=None)  # doctest: +SKIP
        >>> model(x, layers=['loss1_fc2', 'loss2_fc2', 'loss3_fc'])  # doctest: +SKIP
    """

    default_layers = ('pool5',)

    def __init__(self, pretrained_model='auto'):
        super().__init__()
        initialW = initializers.Zero() if pretrained_model else initializers.LeCunUniform()
        inception_init = initializers.Zero() if pretrained_model else None

        def conv(*args, **kwargs):
            return convolution_2d.Convolution2D(*args, initialW=initialW, **kwargs)

        def fc(*args):
            return linear.Linear(*args, initialW=initialW)

        def inc(*args):
            return inception.Inception(*args, conv_init=inception_init)

        with self.init_scope():
            self.conv1 = conv(3, 64, 7, stride=2, pad=3)
            self.conv2_reduce = conv(64, 64, 1)
            self.conv2 = conv(64, 192, 3, stride=1, pad=1)
            self.inc3a = inc(192, 64, 96, 128, 16, 32, 32)
            self.inc3b = inc(256, 128, 128, 192, 32, 96, 64)
            self.inc4a = inc(480, 192, 96, 208, 16, 48, 64)
            self.inc4b = inc(512, 160, 112, 224, 24, 64, 64)
            self.inc4c = inc(512, 128, 128, 256, 24, 64, 64)
            self.inc4d = inc(512, 112, 144, 288, 32, 64, 64)
            self.inc4e = inc(528, 256, 160, 320, 32, 128, 128)
            self.inc5a = inc(832, 256, 160, 320, 32, 128, 128)
            self.inc5b = inc(832, 384, 192, 384, 48, 128, 128)
            self.loss3_fc = fc(1024, 1000)
            self.loss1_conv = conv(512, 128, 1)
            self.loss1_fc1 = fc(2048, 1024)
            self.loss1_fc2 = fc(1024, 1000)
            self.loss2_conv = conv(528, 128, 1)
            self.loss2_fc1 = fc(2048, 1024)
            self.loss2_fc2 = fc(1024, 1000)
        if pretrained_model:
            self._load(pretrained_model, 'bvlc_googlenet', _URL)

    @property
    def functions(self):
        """Ordered dict of the layers: lists of functions by the name of the layer.

        The last two are auxiliary classifiers, which see ``inception_4a`` and ``inception_4d``.
        """
        return collections.OrderedDict([
            ('conv1', [self.conv1, F.relu]),
            ('pool1', [_max_pooling_2d, _local_response_normalization]),
            ('conv2_reduce', [self.conv2_reduce, F.relu]),
            ('conv2', [self.conv2, F.relu, _local_response_normalization]),
            ('pool2', [_max_pooling_2d]),
            ('inception_3a', [self.inc3a]),
            ('inception_3b', [self.inc3b]),
            ('pool3', [_max_pooling_2d]),
            ('inception_4a', [self.inc4a]),
            ('inception_4b', [self.inc4b]),
            ('inception_4c', [self.inc4c]),
            ('inception_4d', [self.inc4d]),
            ('inception_4e', [self.inc4e]),
            ('pool4', [_max_pooling_2d]),
            ('inception_5a', [self.inc5a]),
            ('inception_5b', [self.inc5b]),
            ('pool5', [_average_pooling_2d_k7]),
            ('loss3_fc', [_dropout, self.loss3_fc]),
            ('prob', [F.softmax]),
            ('loss1_fc2', [_average_pooling_2d_k5, self.loss1_conv, F.relu, self.loss1_fc1, F.relu,
                           self.loss1_fc2]),
            ('loss2_fc2', [_average_pooling_2d_k5, self.loss2_conv, F.relu, self.loss2_fc1, F.relu,
                           self.loss2_fc2]),
        ])

    def forward(self, x, layers=None, **kwargs):
        """Computes the activations of some layers.

        Args:
            x (Variable or array): Batch of prepared images.
            layers (list of str): Names of the layers, ``['prob']`` by default. Names that are not
                among :attr:`available_layers` are ignored.

        Returns:
            dict of Variables: The activations by the names of the layers.
        """
        wanted = ['prob'] if layers is None else list(layers)
        branches = [name for name in _AUXILIARY if name in wanted]
        trunk = {name for name in wanted if name not in _AUXILIARY}
        trunk.update(_AUXILIARY[name] for name in branches)
        activations = super().forward(x, layers=trunk, **kwargs)
        for name in branches:
            h = activations[_AUXILIARY[name]]
            for function in self.functions[name]:
                h = function(h)
            activations[name] = h
        return {name: h for name, h in activations.items() if name in wanted}

    def _prepare(self, image, size):
        return prepare(image, size)

    def _read_caffemodel(self, path):
        from chainer.links.caffe import CaffeFunction

        caffemodel = CaffeFunction(path)
        for child in self.children():
            if isinstance(child, inception.Inception):
                for name, caffe_name in _INCEPTION.items():
                    child[name].copyparams(
                        caffemodel[f'inception_{child.name[3:]}/{caffe_name}'])
            else:
                child.copyparams(caffemodel[_CONVOLUTIONS[child.name]])


def prepare(image, size=(224, 224)):
    """Makes an image ready for the model: resized, BGR, without the mean, channels first.

    Args:
        image (PIL.Image or array): Image; an array has the shape (height, width),
            (height, width, channels) or (channels, height, width) and values from 0 to 255.
        size (pair of ints or None): Width and height; ``None`` leaves them.

    Returns:
        numpy.ndarray: Shape (3, height, width), dtype ``chainer.config.dtype``.

    Example:
        >>> from chainer.links.model.vision import googlenet
        >>> googlenet.prepare(np.zeros((30, 20), np.uint8), size=None)[:, 0, 0]
        array([-104., -117., -123.], dtype=float32)
    """
    return _pretrained.prepare(image, size, (104., 117., 123.))


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=3, stride=2)


def _local_response_normalization(x):
    return F.local_response_normalization(x, n=5, k=1, alpha=1e-4 / 5)


def _average_pooling_2d_k5(x):
    return F.average_pooling_2d(x, ksize=5, stride=3)


def _average_pooling_2d_k7(x):
    return F.average_pooling_2d(x, ksize=7, stride=1)


def _dropout(x):
    return F.dropout(x, ratio=.4)
