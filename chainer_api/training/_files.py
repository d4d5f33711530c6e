"""Files that are either there, whole, or not there."""
import os

from chainer.serializers import _saving

remove_unfinished = _saving.remove_unfinished


def write_whole(path, write, durable=False):
    """Makes or replaces a file in one step.

    Args:
        path (str): The file. Its folder is made if it is not there.
        write: Called with the path of a temporary file, in a folder of its own beside ``path``, to
            write it.
        durable (bool): Whether the file has to be on the disk before this returns, so that it
            outlives a crash of the machine as well.

    Raises:
        OSError: The file cannot be written; the message names it.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with _saving.replacing(path, durable) as temporary:
        write(temporary)
