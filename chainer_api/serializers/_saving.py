"""Writing files so that a failure never costs the old one, nor leaves anything behind."""
import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile

try:
    import fcntl
except ImportError:  # not POSIX: folders of dead processes cannot be told from others, and stay
    fcntl = None

# A folder with an unfinished file: the name of the file, and a part that makes it unique.
_UNFINISHED = re.compile(r'tmp.+\.[a-z0-9_]{8}\.part')
_cleaned = set()


@contextlib.contextmanager
def replacing(path, durable=True):
    """Context whose value is the path of a new file, which takes the place of ``path`` at the end.

    The new file lies in a folder of its own beside ``path``, and is removed when an exception
    leaves the context; the old one stays then. Should the process die, the folder stays until a
    later process writes here. A path to something that is no regular file, such as ``/dev/null``,
    is the value itself.

    Args:
        path (str or path): The file to write.
        durable (bool): Whether the file has to be on the disk before it is renamed, so that it
            outlives a crash of the machine as well.

    Raises:
        OSError: The file cannot be written; the message names it.
    """
    path = os.path.realpath(os.fsdecode(path))
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        yield path
        return
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, 'no such folder to save a file in', folder)
    _clean_once(folder)
    with _named(path), _unfinished(folder, name) as temporary_folder:
        new = os.path.join(temporary_folder, name)
        yield new
        if durable:
            _flush(new)
        if os.path.exists(path):
            shutil.copymode(path, new)
        os.replace(new, path)
    if durable:
        with contextlib.suppress(OSError):  # not every system can flush a folder
            _flush(folder)


@contextlib.contextmanager
def _named(path):
    """Names the file in errors of the system that do not, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not _is_unfinished(error.filename):
            raise
        raise OSError(
            error.errno, f'the file could not be saved ({os.strerror(error.errno)}), what was '
            'there before is unchanged', path) from error


def _is_unfinished(path):
    # Savers may replace a file by themselves, within the folder of an unfinished one.
    if not isinstance(path, str):
        return path is None
    return _UNFINISHED.fullmatch(os.path.basename(os.path.dirname(path))) is not None


@contextlib.contextmanager
def _unfinished(folder, name):
    """Context whose value is a new folder, which is locked as long as this process lives."""
    temporary_folder, lock = _make_locked(folder, name)
    try:
        yield temporary_folder
    finally:
        shutil.rmtree(temporary_folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _make_locked(folder, name):
    while True:
        path = tempfile.mkdtemp(prefix=f'tmp{name[:50]}.', suffix='.part', dir=folder)
        lock = _lock(path, wait=True)
        if os.path.exists(path):
            return path, lock
        # Another process removed the folder before it was locked.
        if lock is not None:
            os.close(lock)


def _lock(folder, wait):
    """Return a descriptor that holds the lock of a folder, or ``None`` if it cannot be had."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by a living process, or a file system without locks
        os.close(descriptor)
        return None
    return descriptor


def _clean_once(folder):
    if folder not in _cleaned and not _UNFINISHED.fullmatch(os.path.basename(folder)):
        _cleaned.add(folder)
        remove_unfinished(folder)


def remove_unfinished(folder):
    """Removes from a folder what processes left there that died while they saved a file."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if _UNFINISHED.fullmatch(entry.name)]
    except OSError:
        return
    for path in left:
        lock = _lock(path, wait=False)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def save_into(serializer, obj):
    """Serializes an object, or each value of a dictionary under its key."""
    if not isinstance(obj, dict):
        serializer.save(obj)
        return
    for key, value in obj.items():
        serializer(key, value)


def _flush(path):
    # Windows flushes only what is open for writing.
    descriptor = os.open(path, os.O_RDONLY if os.name == 'posix' else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
