"""Files that are either there, whole, or not there."""
import os
import tempfile


def write_whole(path, write, durable=False):
    """Makes or replaces a file in one step.

    Args:
        path (str): The file.
        write: Called with the path of a temporary file, in a folder of its own beside ``path``, to
            write it. Should the process die meanwhile, that folder stays and ``path`` is untouched.
        durable (bool): Whether the file has to be on the disk before this returns, so that it
            outlives a crash of the machine as well.
    """
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='tmp' + name, dir=folder) as temporary_folder:
        temporary = os.path.join(temporary_folder, name)
        write(temporary)
        if durable:
            _sync(temporary, os.O_RDWR)
        os.replace(temporary, path)
    if durable and os.name == 'posix':  # the folder's entry of the file
        _sync(folder, os.O_RDONLY)


def _sync(path, flags):
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
