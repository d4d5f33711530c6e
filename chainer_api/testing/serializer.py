"""Helpers for tests of serialization."""
import os

from chainer import serializers, utils


def save_and_load(src, dst, filename, saver, loader):
    """Save an object to a file in a temporary directory, and load another one from it.

    Args:
        src: Object that is saved.
        dst: Object that is loaded.
        filename (str): Name of the file.
        saver (callable): ``saver(path, src)``.
        loader (callable): ``loader(path, dst)``.
    """
    with utils.tempdir() as directory:
        path = os.path.join(directory, filename)
        saver(path, src)
        loader(path, dst)


def save_and_load_npz(src, dst):
    """Save an object to an npz file, and load another one from it.

    Args:
        src: Object that is saved.
        dst: Object that is loaded.
    """
    save_and_load(src, dst, 'tmp.npz', serializers.save_npz, serializers.load_npz)


def save_and_load_hdf5(src, dst):
    """Save an object to an HDF5 file, and load another one from it; needs h5py.

    Args:
        src: Object that is saved.
        dst: Object that is loaded.
    """
    save_and_load(src, dst, 'tmp.h5', serializers.save_hdf5, serializers.load_hdf5)
