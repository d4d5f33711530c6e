"""Writing files so that a failure never costs the old one."""
import contextlib
import errno
import os
import secrets
import shutil
import stat


@contextlib.contextmanager
def replacing(path):
    """Context whose value is the path of a new file, which takes the place of ``path`` at the end.

    The new file lies in the same folder, is flushed to the disk before it is renamed, and is
    removed when an exception leaves the context; the old one stays then. A path to something
    that is no regular file, such as ``/dev/null``, is the value itself.
    """
    path = os.path.realpath(os.fsdecode(path))
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        yield path
        return
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, 'no such folder to save a file in', folder)
    new = os.path.join(folder, f'.{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp')
    try:
        yield new
        _flush(new)
        if os.path.exists(path):
            shutil.copymode(path, new)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(new)
        raise
    with contextlib.suppress(OSError):  # not every system can flush a folder
        _flush(folder)


def _flush(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
