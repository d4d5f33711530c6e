"""The folder on disk where data sets live, and how they get there."""
import contextlib
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
import urllib.error

from chainer.utils import _errors

try:
    import fcntl
except ImportError:  # Windows: a rename still puts files in place, work may be done twice
    fcntl = None

_logger = logging.getLogger(__name__)
_chosen_root = None
_CHUNK = 1 << 16


def get_dataset_root():
    """The folder that holds the cached data sets.

    It is what :func:`set_dataset_root` set, else the environment variable ``CHAINER_DATASET_ROOT``,
    else ``~/.chainer/dataset``.
    """
    if _chosen_root is not None:
        return _chosen_root
    default = os.path.join(os.path.expanduser('~'), '.chainer', 'dataset')
    return os.environ.get('CHAINER_DATASET_ROOT', default)


def set_dataset_root(path):
    """Sets the folder that holds the cached data sets; wins over ``CHAINER_DATASET_ROOT``."""
    global _chosen_root
    _chosen_root = path


def get_dataset_directory(dataset_name, create_directory=True):
    """The path of a data set's folder under the root.

    Args:
        dataset_name (str): Name such as ``'pfnet/chainer/mnist'``.
        create_directory (bool): Whether to make the folder if it is missing.
    """
    path = os.path.join(get_dataset_root(), dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url, checksum=None, mirrors=()):
    """Downloads a file once; later calls give the path of the cached copy.

    A download goes to a temporary name, is checked and then renamed, so that the cache never holds
    part of a file. One that was cut off is continued at the next call if there is a ``checksum`` to
    tell whether the pieces fit. Progress goes to standard error if that is a terminal, and to the
    logger ``chainer.dataset.download``.

    Args:
        url (str): Where the file is. It is also the key of the cache.
        checksum (str): What the file's bytes must give, such as ``'sha256:e3b0...'`` or
            ``'md5:d41d...'``; not checked if ``None``.
        mirrors (sequence of str): Other addresses of the same file, tried in order before ``url``.

    Returns:
        str: Path of the file in the cache.

    Raises:
        OSError: The file cannot be had: no network, no such file, a wrong checksum (these are a
            ``urllib.error.URLError``), or the cache folder cannot be written. The message says
            where a file fetched by hand goes.
    """
    folder = os.path.join(get_dataset_root(), '_dl_cache')
    path = os.path.join(folder, hashlib.md5(url.encode('utf-8')).hexdigest())
    if os.path.exists(path):
        return path
    os.makedirs(folder, exist_ok=True)
    with _locked(path + '.lock'):
        if not os.path.exists(path):
            _download_any((*mirrors, url), path, checksum)
    return path


def cache_or_load_file(path, creator, loader):
    """Loads a file, or makes it first where it does not exist.

    Args:
        path (str): The file.
        creator: Called with a temporary path if ``path`` does not exist: makes the file there and
            returns its content. The file is then renamed to ``path``, in one step.
        loader: Called with ``path`` if it exists: returns the content.

    Returns:
        What ``creator`` or ``loader`` returned.
    """
    if os.path.exists(path):
        return loader(path)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise _errors.NoFolderError(error.errno, error.strerror, folder) from error
    with tempfile.TemporaryDirectory(dir=folder, prefix='.making_') as making:
        temporary = os.path.join(making, os.path.basename(path))
        content = creator(temporary)
        if os.path.exists(path):  # someone else was faster: theirs is the one that others read
            return loader(path)
        with open(temporary, 'rb+') as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    return content


@contextlib.contextmanager
def _locked(path):
    """Lets one process after the other into the block."""
    if fcntl is None:
        yield
        return
    with open(path, 'wb') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # the file stays: removing it would let two in, one with each file


def _download_any(urls, path, checksum):
    import http.client  # which takes long

    failures = []
    for url in urls:
        try:
            _download(url, path, checksum)
            return
        except (OSError, http.client.HTTPException, ValueError) as error:
            _logger.warning('cannot download %s: %s', url, error)
            failures.append((f'  {url}: {error}', error))
    tried = '\n'.join([line for line, _ in failures])
    expected = f' (its {checksum.replace(":", " is ")})' if checksum else ''
    raise DownloadError(
        f'cannot download {os.path.basename(urls[-1])}; tried\n{tried}\n'
        f'Where there is no network, fetch the file elsewhere and save it{expected} as\n  {path}'
    ) from failures[-1][1]


class DownloadError(urllib.error.URLError, ValueError):
    """A file cannot be downloaded: for whichever reason, the errors of ``urllib``.

    ``__cause__`` is what the last address gave.
    """

    def __str__(self):
        return self.reason


def _download(url, path, checksum):
    """Puts the file at ``url`` to ``path``, whole and checked or not at all."""
    partial = path + '.part' if checksum else f'{path}.{os.getpid()}.part'
    if not checksum and os.path.exists(partial):
        os.remove(partial)
    continued = os.path.exists(partial)
    _fetch(url, partial)
    if checksum and not matches(partial, checksum):
        os.remove(partial)
        if not continued:
            raise OSError(f'what came does not have the checksum {checksum}')
        _fetch(url, partial)  # the old piece may have come from elsewhere: once more, whole
        if not matches(partial, checksum):
            os.remove(partial)
            raise OSError(f'what came does not have the checksum {checksum}')
    os.replace(partial, path)


def _fetch(url, partial):
    """Downloads into the file ``partial``, behind what it already holds."""
    import urllib.request

    have = os.path.getsize(partial) if os.path.exists(partial) else 0
    request = urllib.request.Request(url, headers={'Range': f'bytes={have}-'} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if have and error.code == 416:  # nothing behind what we have: it is whole
            return
        raise
    with response:
        if have and response.status != 206:
            have = 0
        length = response.headers.get('Content-Length')
        total = have + int(length) if length else None
        _logger.info('downloading %s (%s bytes)', url, total or 'unknown')
        with open(partial, 'ab' if have else 'wb') as file:
            progress = _Progress(url, total)
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                progress.show(file.tell())
            progress.end()
            file.flush()
            os.fsync(file.fileno())
            received = file.tell()
    if total is not None and received < total:
        raise OSError(f'the connection ended after {received} of {total} bytes')
    _logger.info('downloaded %s', url)


def matches(path, checksum):
    """Whether a file has a checksum such as ``'md5:d41d...'``."""
    algorithm, _, expected = checksum.partition(':')
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, algorithm).hexdigest() == expected.lower()


class _Progress:
    """One line on standard error, rewritten a few times a second, if it is a terminal."""

    def __init__(self, url, total):
        self.name = url.rsplit('/', 1)[-1]
        self.total = total
        self.out = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
        self.last = 0.

    def show(self, received):
        now = time.monotonic()
        if self.out is None or now - self.last < 0.2:
            return
        self.last = now
        text = f'{received / 2 ** 20:.1f}'
        if self.total:
            text += f' of {self.total / 2 ** 20:.1f} MiB ({received / self.total:.0%})'
        else:
            text += ' MiB'
        width = shutil.get_terminal_size().columns - 1
        self.out.write('\r' + f'{self.name}: {text}'[:width].ljust(min(width, 60)))
        self.out.flush()

    def end(self):
        if self.out is not None:
            self.out.write('\n')
