"""ChainerX beside Chainer: its names, where its compiled part is not installed."""
import chainerx
from chainer import _backend


def not_available(consequence=''):
    """Raise ``RuntimeError``: the compiled part of ChainerX is missing."""
    raise RuntimeError(
        f'ChainerX is not available: its compiled part is not installed{consequence}. Use '
        '"@numpy" for the CPU or "@cupy:N" for the N-th GPU')


class _FallbackType:
    """The type of ``chainer.Fallback``."""

    def __repr__(self):
        return 'Fallback'


Fallback = _FallbackType()
"""What ``forward_chainerx`` of a function returns to leave the work to its ``forward``."""


class ChainerxDevice(_backend.Device):
    """A device of ChainerX. There are none here: making one raises ``RuntimeError``."""

    def __init__(self, device):
        not_available(f', so there is no device {device!r}')

    @staticmethod
    def from_array(array):
        """Return the device of an array of ChainerX, ``None`` for all others."""
        return None

    @staticmethod
    def from_fallback_device(device):
        """Raise ``RuntimeError``: no device of ChainerX stands for another one."""
        not_available(f', so no device of it stands for {device}')


def _convert(arrays, convert):
    if isinstance(arrays, (list, tuple)):
        return _backend.convert_arrays(arrays, lambda array: _convert(array, convert))
    return None if arrays is None else convert(arrays)


def to_chx(array):
    """Raise ``RuntimeError``: there are no arrays of ChainerX.

    ``None``, also in lists and tuples, stays ``None``.
    """
    return _convert(array, lambda array: not_available())


def from_chx(array):
    """Return the array, or the list or tuple of arrays: they are none of ChainerX.

    Raises:
        TypeError: For what is no array.

    .. doctest::

        >>> chainer.backend.from_chx([np.zeros(2), None])
        [array([0., 0.]), None]
    """
    return _convert(array, _check_array)


def _check_array(array):
    from chainer import backend
    if isinstance(array, (*backend.get_array_types(), chainerx.ndarray)):
        return array
    raise TypeError(f'an array (or a list or tuple of arrays) is needed, not {type(array)}')
