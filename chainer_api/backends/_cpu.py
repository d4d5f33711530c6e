"""The CPU with NumPy arrays."""
import numpy

from chainer import _backend


class CpuDevice(_backend.Device):
    """The CPU with NumPy arrays (``chainer.get_device('@numpy')``)."""

    xp = numpy
    supported_array_types = (numpy.ndarray,)
    name = '@numpy'

    @staticmethod
    def from_array(array):
        """Return the device if ``array`` is a NumPy array, else ``None``."""
        return CpuDevice() if isinstance(array, numpy.ndarray) else None

    def __eq__(self, other):
        return isinstance(other, CpuDevice)

    def __hash__(self):
        return hash('@numpy')

    def __repr__(self):
        return '<CpuDevice (numpy)>'

    def is_array_supported(self, array):
        return isinstance(array, numpy.ndarray)

    def send_array(self, array):
        return array_to_cpu(array)


def array_to_cpu(array):
    """Return ``array`` as a NumPy array (``None`` stays ``None``)."""
    from chainer.backends import cuda, intel64

    if array is None or isinstance(array, numpy.ndarray):
        return array
    if isinstance(array, intel64.mdarray):
        return numpy.asarray(array)
    if isinstance(array, cuda.ndarray):
        with array.device:
            return array.get()
    if numpy.isscalar(array):
        return numpy.asarray(array)
    raise TypeError(
        f'cannot convert to numpy.ndarray: expected an array, a scalar or None, got {type(array)}')


def _to_cpu(array):
    """Return an array, or those of a list or tuple, as NumPy arrays."""
    if isinstance(array, (list, tuple)):
        return type(array)([_to_cpu(x) for x in array])
    return array_to_cpu(array)


# The name of it in Chainer 7.
_array_to_cpu = array_to_cpu
