"""What MNIST and the data sets in its format share."""
import gzip
import os

import numpy

import chainer
from chainer.dataset import download
from chainer.datasets import _source, tuple_dataset


def get(name, sources, withlabel, ndim, scale, dtype, label_dtype, rgb_format):
    """The training and the test set from the cache, made from the original files if need be.

    Args:
        name: Folder under the root of the data sets.
        sources: For 'train' and 'test', the sources of the images and of the labels.
        The rest is as for :func:`chainer.datasets.get_mnist`.
    """
    folder = download.get_dataset_directory(name)
    dtype = chainer.get_dtype(dtype)
    sets = []
    for part in ('train', 'test'):
        raw = _load(folder, f'{part}.npz', *sources[part])
        images = _shape_images(raw['x'], ndim, rgb_format).astype(dtype)
        images *= scale / 255.
        sets.append(
            tuple_dataset.TupleDataset(images, raw['y'].astype(label_dtype)) if withlabel
            else images)
    return tuple(sets)


def _load(folder, file_name, image_source, label_source):
    def create(path):
        raw = {
            'x': _read_idx(_source.fetch(image_source, folder), 3).reshape(-1, 784),
            'y': _read_idx(_source.fetch(label_source, folder), 1),
        }
        numpy.savez_compressed(path, **raw)
        return raw

    def load(path):
        with numpy.load(path) as file:
            return {'x': file['x'].reshape(-1, 784), 'y': file['y'].reshape(len(file['x']))}

    return _source.cached(os.path.join(folder, file_name), create, load)


def _read_idx(path, ndim):
    """Reads a gzipped array of bytes in the format of the MNIST files."""
    with gzip.open(path, 'rb') as file:
        data = file.read()
    header = 4 + 4 * ndim
    shape = tuple(numpy.frombuffer(data[4:header], '>i4').tolist())
    if data[:4] != bytes((0, 0, 8, ndim)) or len(data) != header + numpy.prod(shape):
        raise ValueError(f'{path} is not a gzipped IDX file of {ndim}-dimensional bytes')
    return numpy.frombuffer(data, numpy.uint8, offset=header).reshape(shape)


def _shape_images(images, ndim, rgb_format):
    if ndim == 1:
        return images.reshape(-1, 784)
    if ndim == 2:
        return images.reshape(-1, 28, 28)
    if ndim == 3:
        images = images.reshape(-1, 1, 28, 28)
        return numpy.broadcast_to(images, (len(images), 3, 28, 28)) if rgb_format else images
    raise ValueError(f'invalid ndim for MNIST dataset: {ndim}, must be 1, 2 or 3')
