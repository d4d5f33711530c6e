"""CIFAR-10 and CIFAR-100: small color photographs."""
import os
import pickle
import tarfile

import numpy

import chainer
from chainer.dataset import download
from chainer.datasets import _source, tuple_dataset

_HOME = 'https://www.cs.toronto.edu/~kriz/'
_CIFAR10 = _source.Source(
    _HOME + 'cifar-10-python.tar.gz', 'md5:c58f30108f718f92721af3b95e74349a')
_CIFAR100 = _source.Source(
    _HOME + 'cifar-100-python.tar.gz', 'md5:eb9058c3a382ffc7106e4002c42a8d85')


def get_cifar10(withlabel=True, ndim=3, scale=1., dtype=None):
    """The CIFAR-10 data set: color photographs of ten kinds of things, 32 by 32.

    It is read from ``pfnet/chainer/cifar/cifar-10.npz`` under the root of the data sets, which is
    made from the original archive if it does not exist.

    Args:
        withlabel (bool): Whether examples are tuples of image and label, or images only.
        ndim (int): Each image has the shape (3072,) for 1, (3, 32, 32) for 3.
        scale (float): Pixels go from 0 to this value.
        dtype: Type of the images; ``chainer.config.dtype`` if ``None``.

    Returns:
        tuple: The training set (50,000 examples) and the test set (10,000), each a
        :class:`~chainer.datasets.TupleDataset` with int32 labels, or an array without labels.

    Raises:
        OSError: The archive is missing and cannot be downloaded; the message says where to put it.
    """
    batches = [f'cifar-10-batches-py/data_batch_{i}' for i in range(1, 6)]
    return _get_cifar('cifar-10', _CIFAR10, batches, 'cifar-10-batches-py/test_batch', 'labels',
                      withlabel, ndim, scale, dtype)


def get_cifar100(withlabel=True, ndim=3, scale=1., dtype=None):
    """The CIFAR-100 data set: color photographs of a hundred kinds of things, 32 by 32.

    The labels are the fine ones. It is read from ``pfnet/chainer/cifar/cifar-100.npz``; arguments,
    result and errors are those of :func:`get_cifar10`.
    """
    return _get_cifar('cifar-100', _CIFAR100, ['cifar-100-python/train'], 'cifar-100-python/test',
                      'fine_labels', withlabel, ndim, scale, dtype)


def _get_cifar(name, source, train_members, test_member, label_key, withlabel, ndim, scale, dtype):
    folder = download.get_dataset_directory('pfnet/chainer/cifar')

    def create(path):
        raw = {}
        with tarfile.open(_source.fetch(source, folder), 'r:gz') as archive:
            for part, members in ('train', train_members), ('test', [test_member]):
                batches = [_ArrayUnpickler(archive.extractfile(m)).load() for m in members]
                raw[part + '_x'] = numpy.concatenate([batch['data'] for batch in batches])
                raw[part + '_y'] = numpy.concatenate(
                    [batch[label_key] for batch in batches]).astype(numpy.uint8)
        numpy.savez_compressed(path, **raw)
        return raw

    def load(path):
        with numpy.load(path) as file:
            return {
                part + suffix: file[part + suffix].reshape(len(file[part + '_y']), *shape)
                for part in ('train', 'test') for suffix, shape in (('_x', (3072,)), ('_y', ()))}

    raw = _source.cached(os.path.join(folder, name + '.npz'), create, load)
    return tuple(
        _prepare(raw[part + '_x'], raw[part + '_y'], withlabel, ndim, scale, dtype)
        for part in ('train', 'test'))


def _prepare(images, labels, withlabel, ndim, scale, dtype):
    if ndim == 1:
        images = images.reshape(-1, 3072)
    elif ndim == 3:
        images = images.reshape(-1, 3, 32, 32)
    else:
        raise ValueError(f'invalid ndim for CIFAR dataset: {ndim}, must be 1 or 3')
    images = images.astype(chainer.get_dtype(dtype))
    images *= scale / 255.
    if not withlabel:
        return images
    return tuple_dataset.TupleDataset(images, labels.astype(numpy.int32))


class _ArrayUnpickler(pickle.Unpickler):
    """Reads the archive's pickles, which hold nothing but dictionaries, strings and arrays."""

    def __init__(self, file):
        super().__init__(file, encoding='latin-1')

    def find_class(self, module, name):
        if (module, name) == ('_codecs', 'encode'):
            return super().find_class(module, name)
        if (module, name) in (('numpy', 'ndarray'), ('numpy', 'dtype')):
            return getattr(numpy, name)
        if module in ('numpy.core.multiarray', 'numpy._core.multiarray') and name == '_reconstruct':
            return super().find_class('numpy._core.multiarray', name)
        raise pickle.UnpicklingError(f'a CIFAR archive does not need {module}.{name}')
