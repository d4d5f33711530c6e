"""Kuzushiji-MNIST: handwritten characters of old Japanese books."""
import numpy

from chainer.datasets import _mnist_helper
from chainer.datasets._source import Source

_HOME = 'http://codh.rois.ac.jp/kmnist/dataset/kmnist/'


def _file(name, md5):
    return Source(_HOME + name, f'md5:{md5}')


_SOURCES = {
    'train': (_file('train-images-idx3-ubyte.gz', 'bdb82020997e1d708af4cf47b453dcf7'),
              _file('train-labels-idx1-ubyte.gz', 'e144d726b3acfaa3e44228e80efcd344')),
    'test': (_file('t10k-images-idx3-ubyte.gz', '5c965bf0a639b31b8f53240b1b52f4d7'),
             _file('t10k-labels-idx1-ubyte.gz', '7320c461ea6c1c855c0b718fb2a4b134')),
}

_LABELS = (('o', 'お'), ('ki', 'き'), ('su', 'す'), ('tsu', 'つ'), ('na', 'な'), ('ha', 'は'),
           ('ma', 'ま'), ('ya', 'や'), ('re', 'れ'), ('wo', 'を'))


def get_kuzushiji_mnist_labels():
    """The names of the ten classes, in the order of the labels: pairs of a reading and a modern
    character.

    >>> import chainer
    >>> chainer.datasets.get_kuzushiji_mnist_labels()[0]
    ('o', 'お')
    """
    return list(_LABELS)


def get_kuzushiji_mnist(withlabel=True, ndim=1, scale=1., dtype=None, label_dtype=numpy.int32,
                        rgb_format=False):
    """The Kuzushiji-MNIST data set: grey images of cursive Japanese characters, 28 by 28.

    It is read from ``pfnet/chainer/kuzushiji_mnist`` under the root of the data sets. Arguments,
    result and errors are those of :func:`chainer.datasets.get_mnist`; the classes' names are in
    :func:`get_kuzushiji_mnist_labels`.
    """
    return _mnist_helper.get(
        'pfnet/chainer/kuzushiji_mnist', _SOURCES, withlabel, ndim, scale, dtype, label_dtype,
        rgb_format)
