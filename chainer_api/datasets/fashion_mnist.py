"""Fashion-MNIST: small pictures of clothes."""
import numpy

from chainer.datasets import _mnist_helper
from chainer.datasets._source import Source

_HOME = 'http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/'


def _file(name, md5):
    return Source(_HOME + name, f'md5:{md5}')


_SOURCES = {
    'train': (_file('train-images-idx3-ubyte.gz', '8d4fb7e6c68d591d4c3dfef9ec88bf0d'),
              _file('train-labels-idx1-ubyte.gz', '25c81989df183df01b3e8a0aad5dffbe')),
    'test': (_file('t10k-images-idx3-ubyte.gz', 'bef4ecab320f06d8554ea6380940ec79'),
             _file('t10k-labels-idx1-ubyte.gz', 'bb300cfdad3c16e7a12a480ee83cd310')),
}

_LABELS = ('T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker',
           'Bag', 'Ankle boot')


def get_fashion_mnist_labels():
    """The names of the ten classes, in the order of the labels.

    >>> import chainer
    >>> chainer.datasets.get_fashion_mnist_labels()[9]
    'Ankle boot'
    """
    return list(_LABELS)


def get_fashion_mnist(withlabel=True, ndim=1, scale=1., dtype=None, label_dtype=numpy.int32,
                      rgb_format=False):
    """The Fashion-MNIST data set: grey images of articles of clothing, 28 by 28.

    It is read from ``pfnet/chainer/fashion-mnist`` under the root of the data sets. Arguments,
    result and errors are those of :func:`chainer.datasets.get_mnist`; the classes' names are in
    :func:`get_fashion_mnist_labels`.
    """
    return _mnist_helper.get(
        'pfnet/chainer/fashion-mnist', _SOURCES, withlabel, ndim, scale, dtype, label_dtype,
        rgb_format)
