"""MNIST: handwritten digits."""
import numpy

from chainer.datasets import _mnist_helper
from chainer.datasets._source import Source

_HOME = 'http://yann.lecun.com/exdb/mnist/'
_MIRRORS = (
    'https://ossci-datasets.s3.amazonaws.com/mnist/',
    'https://storage.googleapis.com/cvdf-datasets/mnist/',
)


def _file(name, md5):
    return Source(_HOME + name, f'md5:{md5}', tuple(mirror + name for mirror in _MIRRORS))


_SOURCES = {
    'train': (_file('train-images-idx3-ubyte.gz', 'f68b3c2dcbeaaa9fbdd348bbdeb94873'),
              _file('train-labels-idx1-ubyte.gz', 'd53e105ee54ea40749a09fcbcd1e9432')),
    'test': (_file('t10k-images-idx3-ubyte.gz', '9fb629c4189551a2d022fa330f9573f3'),
             _file('t10k-labels-idx1-ubyte.gz', 'ec29112dd5afa0611ce80d1b7f02629c')),
}


def get_mnist(withlabel=True, ndim=1, scale=1., dtype=None, label_dtype=numpy.int32,
              rgb_format=False):
    """The MNIST data set: grey images of handwritten digits, 28 by 28.

    It is read from ``pfnet/chainer/mnist`` under :func:`chainer.dataset.get_dataset_root`; what is
    missing there is downloaded.

    Args:
        withlabel (bool): Whether examples are tuples of image and label, or images only.
        ndim (int): Each image has the shape (784,) for 1, (28, 28) for 2, (1, 28, 28) for 3.
        scale (float): Pixels go from 0 to this value.
        dtype: Type of the images; ``chainer.config.dtype`` if ``None``.
        label_dtype: Type of the labels.
        rgb_format (bool): Whether images of ``ndim`` 3 have three equal channels.

    Returns:
        tuple: The training set (60,000 examples) and the test set (10,000), each a
        :class:`~chainer.datasets.TupleDataset`, or an array without labels.

    Raises:
        OSError: A file is missing and cannot be downloaded; the message says where to put it.
    """
    return _mnist_helper.get(
        'pfnet/chainer/mnist', _SOURCES, withlabel, ndim, scale, dtype, label_dtype, rgb_format)
