"""Processes of the library's own: made by fork on Linux, unless somebody has said otherwise.

Code that was written for the original, before Python 3.14, expects that: its datasets may be
objects that cannot be pickled, and its scripts may do their work as they are imported.
"""
import multiprocessing
import pickle
import sys


def context():
    """The context of :mod:`multiprocessing` that makes processes."""
    if sys.platform == 'linux' and multiprocessing.get_start_method(allow_none=True) is None:
        return multiprocessing.get_context('fork')
    return multiprocessing.get_context()


def started(**options):
    """A process with these options, which runs.

    Raises:
        Exception: What is given to it cannot be pickled, and has to be.
    """
    process = context().Process(**options)
    try:
        process.start()
    except (pickle.PicklingError, AttributeError, TypeError):
        if not _may_be_unsaid():
            raise
        process = multiprocessing.get_context('fork').Process(**options)
        process.start()
    return process


def _may_be_unsaid():
    """Whether Python itself may have chosen how: the first lock of anybody's (of tqdm, say) does.

    That cannot be told from a choice of the user's.
    """
    return sys.platform == 'linux' and sys.version_info >= (3, 14) and (
        multiprocessing.get_start_method() == 'forkserver')


def advice():
    """What to know where a process that has just been made ends at once; empty if nothing."""
    if multiprocessing.get_start_method(allow_none=True) in (None, 'fork'):
        return ''
    return (
        f' Processes that are made by {multiprocessing.get_start_method()} import the script '
        "first: let it do its work under if __name__ == '__main__':, or call "
        "multiprocessing.set_start_method('fork') at its beginning.")
