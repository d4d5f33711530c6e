"""Networks that classify photographs."""
import pathlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cifar.convnets import ResBlock


class Alex(chainer.Chain):
    """AlexNet, without its division in two parts.

    See A. Krizhevsky, I. Sutskever and G. E. Hinton, "ImageNet Classification with Deep
    Convolutional Neural Networks" (NIPS 2012).

    Args:
        n_class (int): Classes.
        width (float): Factor of the numbers of channels and units.
    """

    insize = 227

    def __init__(self, n_class, width=1.):
        super().__init__()
        n = [max(4, int(n * width)) for n in (96, 256, 384, 384, 256, 4096, 4096)]
        with self.init_scope():
            self.conv1 = L.Convolution2D(None, n[0], 11, stride=4)
            self.conv2 = L.Convolution2D(None, n[1], 5, pad=2)
            self.conv3 = L.Convolution2D(None, n[2], 3, pad=1)
            self.conv4 = L.Convolution2D(None, n[3], 3, pad=1)
            self.conv5 = L.Convolution2D(None, n[4], 3, pad=1)
            self.fc6 = L.Linear(None, n[5])
            self.fc7 = L.Linear(None, n[6])
            self.fc8 = L.Linear(None, n_class)

    def forward(self, x):
        h = F.max_pooling_2d(F.local_response_normalization(F.relu(self.conv1(x))), 3, stride=2)
        h = F.max_pooling_2d(F.local_response_normalization(F.relu(self.conv2(h))), 3, stride=2)
        h = F.relu(self.conv3(h))
        h = F.relu(self.conv4(h))
        h = F.max_pooling_2d(F.relu(self.conv5(h)), 3, stride=2)
        h = F.dropout(F.relu(self.fc6(h)))
        h = F.dropout(F.relu(self.fc7(h)))
        return self.fc8(h)


class NIN(chainer.Chain):
    """Network in network.

    See M. Lin, Q. Chen and S. Yan, "Network In Network" (arXiv:1312.4400). The arguments are those
    of :class:`Alex`.
    """

    insize = 227

    def __init__(self, n_class, width=1.):
        super().__init__()
        n = [max(4, int(n * width)) for n in (96, 256, 384, 1024)]
        w = chainer.initializers.HeNormal()
        with self.init_scope():
            self.mlp1 = L.MLPConvolution2D(None, [n[0]] * 3, 11, stride=4, conv_init=w)
            self.mlp2 = L.MLPConvolution2D(None, [n[1]] * 3, 5, pad=2, conv_init=w)
            self.mlp3 = L.MLPConvolution2D(None, [n[2]] * 3, 3, pad=1, conv_init=w)
            self.mlp4 = L.MLPConvolution2D(
                None, [n[3], n[3], n_class], 3, pad=1, conv_init=w)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.mlp1(x)), 3, stride=2)
        h = F.max_pooling_2d(F.relu(self.mlp2(h)), 3, stride=2)
        h = F.max_pooling_2d(F.relu(self.mlp3(h)), 3, stride=2)
        h = self.mlp4(F.dropout(h))
        return F.mean(h, axis=(2, 3))


class ResNet50(chainer.Chain):
    """The residual network with 50 layers.

    See K. He et al., "Deep Residual Learning for Image Recognition" (arXiv:1512.03385). The
    arguments are those of :class:`Alex`.
    """

    insize = 224

    def __init__(self, n_class, width=1.):
        super().__init__()
        n = max(2, int(64 * width))
        with self.init_scope():
            self.conv1 = L.Convolution2D(
                3, n, 7, 2, 3, initialW=chainer.initializers.HeNormal(), nobias=True)
            self.bn1 = L.BatchNormalization(n)
            self.res2 = ResBlock(3, n, n, 4 * n, 1)
            self.res3 = ResBlock(4, 4 * n, 2 * n, 8 * n)
            self.res4 = ResBlock(6, 8 * n, 4 * n, 16 * n)
            self.res5 = ResBlock(3, 16 * n, 8 * n, 32 * n)
            self.fc = L.Linear(32 * n, n_class)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2)
        h = self.res5(self.res4(self.res3(self.res2(h))))
        return self.fc(F.average_pooling_2d(h, h.shape[2:]))


ARCHS = {'alex': Alex, 'nin': NIN, 'resnet50': ResNet50}
