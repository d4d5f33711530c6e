"""iDeep (Intel's old accelerated array package): the names, without the package.

iDeep is no longer published, so :func:`is_ideep_available` is always ``False`` and NumPy is used
wherever iDeep would be.
"""
import numpy

from chainer import _backend
from chainer.configuration import config

_MODES = ('always', 'auto', 'never')
_LEVELS = ('==always', '>=auto')


class mdarray:
    """Stands for the array type of iDeep; there are no instances."""

    def __new__(cls, *args, **kwargs):
        check_ideep_available()


class Intel64Device(_backend.Device):
    """The CPU with iDeep arrays; making one raises ``RuntimeError``, as iDeep is not available."""

    xp = numpy
    supported_array_types = (numpy.ndarray, mdarray)
    name = '@intel64'

    def __init__(self):
        check_ideep_available()

    @staticmethod
    def from_array(array):
        """Return the device of an iDeep array, ``None`` for all others."""
        return Intel64Device() if isinstance(array, mdarray) else None

    def __eq__(self, other):
        return isinstance(other, Intel64Device)

    def __hash__(self):
        return hash('@intel64')

    def __repr__(self):
        return '<Intel64Device>'


def is_ideep_available():
    """Return whether iDeep can be used, which is never the case.

    .. doctest::

        >>> chainer.backends.intel64.is_ideep_available()
        False
    """
    return False


def check_ideep_available():
    """Raise ``RuntimeError``: iDeep is not available."""
    raise RuntimeError(
        'iDeep is not available: its package (ideep4py) is not published any more. '
        'Leave out to_intel64() and "@intel64"; NumPy arrays do the same computations.')


def should_use_ideep(level):
    """Return whether iDeep should be used at ``level`` (``'==always'`` or ``'>=auto'``).

    Always ``False``, as iDeep is not available; the level and ``chainer.config.use_ideep`` are
    checked all the same.
    """
    if level not in _LEVELS:
        raise ValueError(f"invalid iDeep level {level!r}: use '==always' or '>=auto'")
    if config.use_ideep not in _MODES:
        raise ValueError(
            f'invalid chainer.config.use_ideep {config.use_ideep!r}: '
            "set it to 'always', 'auto' or 'never'")
    return False


def inputs_all_ready(inputs, supported_ndim=(2, 4)):
    """Return whether iDeep could compute with all of ``inputs``: ``False``."""
    return False
