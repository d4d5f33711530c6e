"""SVHN: house numbers cut out of street photographs."""
import os

import numpy

import chainer
from chainer.dataset import download
from chainer.datasets import _source, tuple_dataset

_HOME = 'http://ufldl.stanford.edu/housenumbers/'
_SOURCES = {
    'train': _source.Source(_HOME + 'train_32x32.mat', 'md5:e26dedcc434d2e4c54c9b2d4a06d8373'),
    'test': _source.Source(_HOME + 'test_32x32.mat', 'md5:eb5a983be6a315427106f1b164d9cef3'),
    'extra': _source.Source(_HOME + 'extra_32x32.mat', 'md5:a93ce644f1a588dc4d68dda5feec44a7'),
}


def get_svhn(withlabel=True, scale=1., dtype=None, label_dtype=numpy.int32, add_extra=False):
    """The SVHN data set: color images of digits, 3 by 32 by 32.

    It is read from ``pfnet/chainer/svhn`` under the root of the data sets; files missing there are
    made from the original ones, which needs SciPy.

    Args:
        withlabel (bool): Whether examples are tuples of image and label, or images only.
        scale (float): Pixels go from 0 to this value.
        dtype: Type of the images; ``chainer.config.dtype`` if ``None``.
        label_dtype: Type of the labels (0 to 9, the digit).
        add_extra (bool): Whether to add the extra training set as a third one.

    Returns:
        tuple: The training set and the test set (and the extra set), each a
        :class:`~chainer.datasets.TupleDataset`, or an array without labels.

    Raises:
        OSError: A file is missing and cannot be downloaded; the message says where to put it.
        ImportError: SciPy is needed and not installed.
    """
    dtype = chainer.get_dtype(dtype)
    parts = ('train', 'test', 'extra') if add_extra else ('train', 'test')
    return tuple(_prepare(*_load(part), withlabel, scale, dtype, label_dtype) for part in parts)


def _load(part):
    folder = download.get_dataset_directory('pfnet/chainer/svhn')

    def create(path):
        try:
            from scipy import io
        except ImportError as error:
            raise ImportError(
                'the files of SVHN are read by SciPy, which cannot be imported here; install it '
                'with "pip install scipy"') from error
        raw = io.loadmat(_source.fetch(_SOURCES[part], folder))
        numpy.savez_compressed(path, x=raw['X'], y=raw['y'])
        return raw['X'], raw['y']

    def load(path):
        with numpy.load(path) as file:
            return file['x'].reshape(32, 32, 3, -1), file['y'].reshape(file['x'].shape[3], 1)

    return _source.cached(os.path.join(folder, f'{part}.npz'), create, load)


def _prepare(images, labels, withlabel, scale, dtype, label_dtype):
    images = numpy.ascontiguousarray(images.transpose(3, 2, 0, 1), dtype=dtype)
    images *= scale / 255.
    if not withlabel:
        return images
    labels = labels.ravel().astype(label_dtype)
    labels[labels == 10] = 0
    return tuple_dataset.TupleDataset(images, labels)
