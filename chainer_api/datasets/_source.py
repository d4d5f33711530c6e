"""Where the files of the well-known data sets come from."""
import os
from typing import NamedTuple

from chainer.dataset import download


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
                f'{local} is damaged or is another file: its checksum is not {source.checksum}')
        return local
    try:
        return download.cached_download(source.url, source.checksum, source.mirrors)
    except OSError as error:
        raise OSError(f'{error}\nor, under its own name, as\n  {local}') from error
