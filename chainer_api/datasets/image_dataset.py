"""Images from files and zip archives, read when they are asked for."""
import bisect
import contextlib
import functools
import importlib.util
import io
import itertools
import os
import struct
import threading
import zipfile
import zlib

import numpy

import chainer
from chainer.dataset import dataset_mixin
from chainer.datasets import _process_file

# Whether Pillow is installed.
available = importlib.util.find_spec('PIL') is not None


class ImageDataset(dataset_mixin.DatasetMixin):
    """Images from files, as arrays of shape (channels, height, width).

    Grey images have one channel, RGB images three, RGBA images four. Values are the file's (0 to
    255 for usual images; the indices of a palette image, which often are class labels). Needs
    Pillow.

    Args:
        paths (str or list of str): Paths of the images, relative to ``root``, or the path of a text
            file that has one in each line.
        root (str): Folder of the images.
        dtype: Type of the arrays; ``chainer.config.dtype`` if ``None``.

    Raises:
        ImportError: Pillow is not installed.
    """

    def __init__(self, paths, root='.', dtype=None):
        _image_module()
        if isinstance(paths, str):
            with open(paths) as file:
                paths = [line.strip() for line in file if line.strip()]
        self._paths = paths
        self._root = root
        self._dtype = chainer.get_dtype(dtype)

    def __len__(self):
        """The number of images."""
        return len(self._paths)

    def get_example(self, i):
        """The ``i``-th image."""
        path = os.path.join(self._root, self._paths[i])
        return _read_image(path, self._dtype, path)


class LabeledImageDataset(dataset_mixin.DatasetMixin):
    """Images from files (see :class:`ImageDataset`), each with an integer label.

    An example is a tuple of the image and a 0-dimensional array.

    Args:
        pairs (str or list of tuple): Pairs of a path and a label, or the path of a text file that
            has one pair in each line, separated by white space (Caffe's format).
        root (str): Folder of the images.
        dtype: Type of the image arrays; ``chainer.config.dtype`` if ``None``.
        label_dtype: Type of the labels.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: A line of the file is not a path and a label.
    """

    def __init__(self, pairs, root='.', dtype=None, label_dtype=numpy.int32):
        _image_module()
        self._pairs = _read_pairs(pairs) if isinstance(pairs, str) else pairs
        self._root = root
        self._dtype = chainer.get_dtype(dtype)
        self._label_dtype = label_dtype

    def __len__(self):
        """The number of images."""
        return len(self._pairs)

    def get_example(self, i):
        """The ``i``-th image and its label."""
        path, label = self._pairs[i]
        path = os.path.join(self._root, path)
        image = _read_image(path, self._dtype, path)
        return image, _label_array(label, self._label_dtype, path)


class ZippedImageDataset(dataset_mixin.DatasetMixin):
    """Images (see :class:`ImageDataset`) from a zip archive that holds nothing else.

    May be pickled, and read by several threads and forked processes.

    Args:
        zipfilename (str): Path of the archive.
        dtype: Type of the arrays; ``chainer.config.dtype`` if ``None``.
    """

    def __init__(self, zipfilename, dtype=None):
        _image_module()
        self._zipfilename = zipfilename
        self._archive = _process_file.ProcessFile(functools.partial(_open_archive, zipfilename))
        self._paths = [
            entry.filename for entry in self._archive.get().infolist() if not entry.is_dir()]
        self._dtype = chainer.get_dtype(dtype)
        self._lock = threading.Lock()

    def __len__(self):
        """The number of files in the archive."""
        return len(self._paths)

    def get_example(self, i_or_filename):
        """The ``i``-th image of the archive, or the one of that name."""
        name = i_or_filename if isinstance(i_or_filename, str) else self._paths[i_or_filename]
        where = f'{name} in {self._zipfilename}'
        with self._lock, _damages_named(where):
            data = self._archive.get().read(name)
        return _read_image(io.BytesIO(data), self._dtype, where)

    def __getstate__(self):
        return {key: value for key, value in vars(self).items() if key != '_lock'}

    def __setstate__(self, state):
        vars(self).update(state)
        self._lock = threading.Lock()


class MultiZippedImageDataset(dataset_mixin.DatasetMixin):
    """Images (see :class:`ImageDataset`) from several zip archives, one after the other.

    Args:
        zipfilenames (list of str): Paths of the archives.
        dtype: Type of the arrays; ``chainer.config.dtype`` if ``None``.
    """

    def __init__(self, zipfilenames, dtype=None):
        self._archives = [ZippedImageDataset(name, dtype) for name in zipfilenames]
        self._ends = list(itertools.accumulate(map(len, self._archives)))

    def __len__(self):
        """The number of files in all archives."""
        return self._ends[-1] if self._ends else 0

    def get_example(self, i):
        """The ``i``-th image; raises ``IndexError`` unless ``0 <= i < len(self)``."""
        if not 0 <= i < len(self):
            raise IndexError(f'index {i} of a MultiZippedImageDataset of {len(self)} images')
        which = bisect.bisect_right(self._ends, i)
        start = self._ends[which - 1] if which else 0
        return self._archives[which].get_example(i - start)


class LabeledZippedImageDataset(dataset_mixin.DatasetMixin):
    """Images from a zip archive (see :class:`ZippedImageDataset`), each with an integer label.

    Args:
        zipfilename (str): Path of the archive.
        labelfilename (str): Path of a text file with the name of an image in the archive and its
            label in each line.
        dtype: Type of the image arrays; ``chainer.config.dtype`` if ``None``.
        label_dtype: Type of the labels.

    Raises:
        ValueError: A line of the label file is not a name and a label.
    """

    def __init__(self, zipfilename, labelfilename, dtype=None, label_dtype=numpy.int32):
        self._pairs = _read_pairs(labelfilename)
        self._label_dtype = label_dtype
        self._zipfile = ZippedImageDataset(zipfilename, dtype)

    def __len__(self):
        """The number of labels."""
        return len(self._pairs)

    def get_example(self, i):
        """The image of the ``i``-th line and its label."""
        name, label = self._pairs[i]
        return self._zipfile.get_example(name), _label_array(label, self._label_dtype, name)


def _read_pairs(path):
    pairs = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.split()
            if not fields:
                continue
            try:
                name, label = fields
                pairs.append((name, int(label)))
            except ValueError:
                raise ValueError(
                    f'invalid format at line {number} in file {path}: expected a path and an '
                    f'integer label, found {line.strip()!r}') from None
    return pairs


def _image_module():
    try:
        if not available:
            raise ImportError('Pillow is not installed')
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            'image datasets need Pillow, which cannot be imported here; install it with '
            '"pip install pillow"') from error
    return Image


def _open_archive(path):
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise OSError(f'{path} is no zip archive, or it is damaged: {error}') from error


def _read_image(source, dtype, where):
    with _damages_named(where), _image_module().open(source) as image:
        array = numpy.asarray(image, dtype=dtype)
    if array.ndim == 2:
        return array[numpy.newaxis]
    return array.transpose(2, 0, 1)


@contextlib.contextmanager
def _damages_named(where):
    """Says which image, or which entry of an archive, cannot be read."""
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error,
            zipfile.BadZipFile) as error:
        raise OSError(f'the image {where} is damaged, or is no image: {error}') from error


def _label_array(label, dtype, path):
    try:
        return numpy.array(label, dtype=dtype)
    except OverflowError:
        raise ValueError(
            f'the label {label} of {path} does not fit into {numpy.dtype(dtype)}; give another '
            'label_dtype') from None
