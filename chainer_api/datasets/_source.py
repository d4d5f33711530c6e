"""Where the files of the well-known data sets come from."""
import functools
import os
import pickle
import struct
import tarfile
import warnings
import zipfile
import zlib
from typing import NamedTuple

from chainer.dataset import download

# What reading a truncated file raises, or a web page that was saved in its place.
_DAMAGES = (zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, OSError,
            pickle.UnpicklingError, AttributeError, IndexError, KeyError, TypeError, ValueError)


class Source(NamedTuple):
    """A file on the web: its first address (the key of the cache), its checksum, its mirrors."""

    url: str
    checksum: str
    mirrors: tuple = ()


def fetch(source, folder):
    """The path of a source's file: in ``folder`` under its own name, or in the download cache.

    Raises ``OSError`` if it is in neither and cannot be downloaded, and ``ValueError`` if the file
    in ``folder`` is another or damaged.
    """
    local = os.path.join(folder, source.url.rsplit('/', 1)[-1])
    if os.path.exists(local):
        if not download.matches(local, source.checksum):
            raise ValueError(
                f'{local} is damaged or is another file: its checksum is not {source.checksum}; '
                'delete it, and the next call fetches it again')
        return local
    try:
        path = download.cached_download(source.url, source.checksum, source.mirrors)
        if not download.matches(path, source.checksum):
            warnings.warn(
                f'{path} was damaged since {source.url} was downloaded into it, or is another '
                'file; it is downloaded again')
            os.remove(path)
            path = download.cached_download(source.url, source.checksum, source.mirrors)
        return path
    except OSError as error:
        raise OSError(f'{error}\nor, under its own name, as\n  {local}') from error


def cached(path, create, load):
    """The content of a file in a data set's folder, made first where it does not exist.

    See :func:`chainer.dataset.cache_or_load_file`. Raises ``OSError`` if the file is damaged or
    another, and the message names it.
    """
    return download.cache_or_load_file(path, create, functools.partial(_load, load))


def _load(load, path):
    try:
        return load(path)
    except (FileNotFoundError, PermissionError):
        raise
    except _DAMAGES as error:
        raise OSError(
            f'{path} is damaged or is no file of this data set; delete it, and the next call makes '
            'it again, from the original files that it downloads where they are missing'
        ) from error
