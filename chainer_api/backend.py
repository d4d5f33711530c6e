"""Functions that work across array backends."""
from typing import Any

import numpy

import chainer
from chainer import _tracing
from chainer._backend import Device
from chainer.backends import _chainerx, _cpu, cuda
from chainer.backends._chainerx import ChainerxDevice, from_chx, to_chx
from chainer.backends._cpu import CpuDevice
from chainer.backends.cuda import GpuDevice
from chainer.backends.intel64 import Intel64Device

__all__ = [
    'ChainerxDevice', 'CpuDevice', 'Device', 'GpuDevice', 'Intel64Device', 'copyto', 'from_chx',
    'get_array_module', 'get_array_types', 'get_cpu_array_types', 'get_device',
    'get_device_from_array', 'is_arrays_compatible', 'to_chx', 'using_device',
]

_PLAIN = frozenset([numpy.ndarray, int, float, type(None), numpy.float32, numpy.float64])


def get_array_module(*args) -> Any:
    """Return the array module that arrays or Variables belong to.

    ``cupy`` if any of ``args`` is (or, for a :class:`~chainer.Variable`, holds) a CuPy array,
    ``numpy`` otherwise.

    .. doctest::

        >>> xp = chainer.backend.get_array_module(np.zeros(3))
        >>> xp.__name__
        'numpy'
    """
    for arg in args:
        if type(arg) in _PLAIN:
            continue
        if isinstance(arg, chainer.variable.Variable):
            arg = arg._array
        xp = getattr(arg, '__chainwright_xp__', None)
        if xp is not None:
            return xp
        if isinstance(arg, cuda.ndarray) or (
                type(arg) is _tracing.Promise and arg.gpu is not None):
            return cuda.cupy
    return numpy


def copyto(dst, src):
    """Copy the elements of ``src`` into ``dst``, also between the host and GPUs.

    Args:
        dst (array): Destination; elements are cast if the cast keeps the kind of number.
        src (array): Source, of a shape that broadcasts to that of ``dst``.

    .. doctest::

        >>> x = np.zeros(3, np.float32)
        >>> chainer.backend.copyto(x, np.arange(3))
        >>> x
        array([0., 1., 2.], dtype=float32)
    """
    if isinstance(dst, numpy.ndarray):
        numpy.copyto(dst, _cpu.array_to_cpu(src) if isinstance(src, cuda.ndarray) else src)
    elif isinstance(dst, cuda.ndarray):
        if isinstance(src, cuda.ndarray) and dst.device == src.device:
            cuda.cupy.copyto(dst, src)
            return
        with dst.device:
            cuda.cupy.copyto(dst, cuda.to_gpu(numpy.asarray(src), dst.device)
                             if not isinstance(src, cuda.ndarray)
                             else cuda.copy(src, out_device=dst.device))
    else:
        raise TypeError(f'cannot copy into {type(dst)}: dst must be a NumPy or CuPy array')


def _unknown_specifier(spec, kind=ValueError):
    return kind(
        f'no device is named {spec!r}: use "@numpy" (or "cpu", or -1) for the CPU, "@cupy:N" (or '
        'the number N) for the N-th GPU, or a device object')


def get_device(device_spec) -> Device:
    """Return the device object of a specifier.

    ============================== ============================
    specifier                      device
    ============================== ============================
    ``'@numpy'``, ``'cpu'``        the CPU, with NumPy arrays
    ``'@cupy:N'``                  the N-th GPU, with CuPy arrays
    ``'@intel64'``                 not available any more
    integer (as a string, too)     negative: the CPU; N: the N-th GPU
    ``cupy.cuda.Device``           that GPU
    :class:`Device`                itself
    ============================== ============================

    Raises:
        ValueError: For a string that names no device.
        TypeError: For anything else.
        RuntimeError: If the device is not available here: a GPU, or a device of ChainerX, whose
            names have no ``@`` (``'native:0'``, ``'cuda:0'``).

    .. doctest::

        >>> chainer.get_device('@numpy')
        <CpuDevice (numpy)>
        >>> chainer.get_device(-1).name
        '@numpy'
    """
    if isinstance(device_spec, Device):
        return device_spec
    if isinstance(device_spec, cuda._integer_types) and not isinstance(device_spec, bool):
        return CpuDevice() if device_spec < 0 else GpuDevice.from_device_id(int(device_spec))
    if isinstance(device_spec, str):
        return _device_from_string(device_spec)
    if isinstance(device_spec, cuda.Device):
        return GpuDevice(device_spec)
    raise _unknown_specifier(device_spec, TypeError)


def _device_from_string(spec):
    if spec in ('@numpy', 'cpu'):
        return CpuDevice()
    if spec == '@intel64':
        return Intel64Device()
    module, colon, number = spec.partition(':')
    if module == '@cupy' and colon and number.isdecimal():
        return GpuDevice.from_device_id(int(number))
    if spec.removeprefix('-').isdecimal():
        return get_device(int(spec))
    if not spec.startswith('@'):
        # ChainerX finds its backends by name, so any name may be one of its devices.
        _chainerx.not_available(f', so there is no device {spec!r} (names without "@" are its own)')
    raise _unknown_specifier(spec)


def get_device_from_array(*arrays):
    """Return the device of the first CuPy array (or Variable that holds one), else the CPU's.

    .. doctest::

        >>> chainer.backend.get_device_from_array(np.zeros(3))
        <CpuDevice (numpy)>
    """
    for array in arrays:
        if isinstance(array, chainer.variable.Variable):
            array = array._array
        device = GpuDevice.from_array(array)
        if device is not None:
            return device
    return CpuDevice()


_tracing.ask_for_form += [
    get_array_module, cuda.get_array_module, get_device_from_array, cuda.get_device_from_array,
    cuda.get_device,
]


def using_device(device_spec):
    """Return a context manager in which a device is the current one.

    Args:
        device_spec: See :func:`chainer.get_device`.

    .. doctest::

        >>> with chainer.using_device('@numpy'):
        ...     pass
    """
    return get_device(device_spec).create_context()


def get_array_types():
    """Return the tuple of the array types that a :class:`~chainer.Variable` can hold."""
    if cuda.available:
        return numpy.ndarray, cuda.ndarray
    return numpy.ndarray,


def get_cpu_array_types():
    """Return the tuple of the array types that live on the CPU."""
    return numpy.ndarray,


def is_arrays_compatible(arrays):
    """Return whether arrays (``None`` among them is left out) can be used together.

    .. doctest::

        >>> chainer.is_arrays_compatible([np.zeros(3), None])
        True
    """
    arrays = [x for x in arrays if x is not None]
    return any([
        all([isinstance(x, kind) for x in arrays]) for kind in (numpy.ndarray, cuda.ndarray)])
