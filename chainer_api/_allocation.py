"""How the C library gives out the memory of arrays.

glibc gives freed memory back to the system as soon as a few megabytes of it are free at the end
of its heap, and the next array of that size has to be fetched again, page by page: a network whose
intermediate arrays have 4 MB spends most of its time so. NumPy's arrays come from there.
"""
import ctypes
import os

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h

KEPT = 256 << 20
"""Bytes of freed memory that are kept for the next arrays."""

LARGE = 64 << 20
"""Bytes from which on an array has memory of its own, given back with it."""


def keep_freed_memory():
    """Has glibc keep freed memory for the next arrays; done when Chainer is imported.

    Where ``MALLOC_TRIM_THRESHOLD_`` or ``MALLOC_MMAP_THRESHOLD_`` is set in the environment, or
    the C library is another one, nothing is changed.

    Returns:
        bool: Whether it was done.
    """
    if 'MALLOC_TRIM_THRESHOLD_' in os.environ or 'MALLOC_MMAP_THRESHOLD_' in os.environ:
        return False
    try:
        is_glibc = os.confstr('CS_GNU_LIBC_VERSION').startswith('glibc')
    except (AttributeError, OSError, ValueError):
        return False
    if not is_glibc:
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE) and mallopt(_M_TRIM_THRESHOLD, KEPT))
