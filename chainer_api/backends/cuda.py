"""CUDA devices and arrays, through CuPy where it is installed.

Without CuPy, or without a GPU, everything here can be imported and asked
(:data:`available` is ``False``); what needs a GPU raises ``RuntimeError``.
"""
import os
import warnings
from typing import Any

import numpy

from chainer import _backend, _tracing
from chainer.backends import _cpu, intel64
from chainer.configuration import config
from chainwright.runtime import OPTIONS

available = False
"""Whether CuPy is installed and a GPU can be used."""

cudnn_enabled = False
"""Whether cuDNN is used through CuPy's own wrapper, which CuPy 14 no longer has."""

cupy: Any
try:
    import cupy as cupy
except Exception as e:  # CuPy raises all kinds of errors on a broken CUDA installation
    cupy = object()
    _reason = f'CuPy cannot be imported: {e}'
else:
    _reason = 'CuPy is installed, but finds no usable GPU'
    try:
        available = cupy.cuda.is_available()
        if not available:
            cupy.cuda.runtime.getDeviceCount()  # which says why
    except Exception as e:
        _reason += f': {e}'

if available:
    import cupyx  # noqa: F401
    from cupy import ndarray as ndarray
    from cupy.cuda import Device as Device
    from cupy.cuda import Event as Event
    from cupy.cuda import Stream as Stream

    libcudnn = getattr(cupy.cuda, 'cudnn', None)
    if libcudnn is not None and os.environ.get('CHAINER_CUDNN') != '0':
        import cupy.cudnn as cudnn

        cudnn_enabled = True
else:

    class ndarray:
        """Stands for ``cupy.ndarray``; there are no instances."""

        @property
        def shape(self):
            check_cuda_available()

        @property
        def device(self):
            check_cuda_available()

        def get(self, stream=None):
            check_cuda_available()

        def set(self, arr, stream=None):
            check_cuda_available()

    class Device:
        """Stands for ``cupy.cuda.Device``; making one raises ``RuntimeError``."""

        def __init__(self, device=None):
            check_cuda_available()

    class Event:
        """Stands for ``cupy.cuda.Event``."""

    class Stream:
        """Stands for ``cupy.cuda.Stream``."""


def check_cuda_available():
    """Raise ``RuntimeError`` if no GPU can be used."""
    if not available:
        raise RuntimeError(
            f'CUDA is not available here ({_reason}). To use a GPU, install the CuPy package of '
            'your CUDA version (for example `pip install "cupy-cuda13x[ctk]"`) on a machine with '
            'an NVIDIA GPU; for the CPU, leave out to_gpu() and give device -1 or "@numpy".')


class DummyDeviceType:
    """A device that stands for "no GPU": entering and using it does nothing."""

    id = -1

    def __init__(self):
        pass

    def __int__(self):
        return -1

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def use(self):
        """Do nothing."""

    def synchronize(self):
        """Do nothing."""

    def __eq__(self, other):
        return isinstance(other, DummyDeviceType)

    def __hash__(self):
        return hash(DummyDeviceType)


DummyDevice = DummyDeviceType()

_integer_types = (int, numpy.integer)


class GpuDevice(_backend.Device):
    """A GPU with CuPy arrays (``chainer.get_device('@cupy:0')``).

    Args:
        device (cupy.cuda.Device): The device.
    """

    xp = cupy
    supported_array_types = (ndarray,)

    def __init__(self, device):
        check_cuda_available()
        if not isinstance(device, Device):
            raise TypeError(
                f'GpuDevice expects a cupy.cuda.Device, got {type(device)}; '
                'use GpuDevice.from_device_id for an integer')
        self.device = device

    @staticmethod
    def from_device_id(device_id):
        """Return the device with the number ``device_id``."""
        check_cuda_available()
        if not (isinstance(device_id, _integer_types) and device_id >= 0):
            raise ValueError(f'a GPU is numbered from 0, got {device_id!r}')
        return GpuDevice(Device(device_id))

    @staticmethod
    def from_array(array):
        """Return the device on which a CuPy array lives, ``None`` for all others."""
        device = get_device_from_array(array)
        return None if device is DummyDevice else GpuDevice(device)

    @property
    def name(self):
        return f'@cupy:{self.device.id}'

    def __eq__(self, other):
        return isinstance(other, GpuDevice) and other.device == self.device

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f'<GpuDevice (cupy):{self.device.id}>'

    def create_context(self):
        # A fresh object: one Device must not be entered by two threads at a time.
        return Device(self.device.id)

    def use(self):
        self.device.use()

    def send_array(self, array):
        return _array_to_gpu(array, self.device, None)

    def is_array_supported(self, array):
        return isinstance(array, ndarray) and self.device == array.device


def get_device_from_id(device_id) -> Any:
    """Return the CUDA device with the number ``device_id``.

    Args:
        device_id (int or None): The number; ``None`` and negative numbers stand for the CPU and
            give the dummy device.
    """
    if device_id is not None and device_id >= 0:
        check_cuda_available()
        return Device(int(device_id))
    return DummyDevice


def get_device_from_array(*arrays) -> Any:
    """Return the CUDA device of the first CuPy array among ``arrays``, else the dummy device.

    Variables are not looked into: pass ``x.array``.

    .. doctest::

        >>> int(chainer.backends.cuda.get_device_from_array(np.zeros(3)))
        -1
    """
    for array in arrays:
        if type(array) is _tracing.Promise and array.gpu is not None:
            return Device(array.gpu)
        if isinstance(array, ndarray) and array.device is not None:
            return array.device
    return DummyDevice


def get_device(*args) -> Any:
    """Return the CUDA device named by the first device, integer or CuPy array among ``args``.

    Deprecated: :func:`get_device_from_id` and :func:`get_device_from_array` say what they take.
    """
    warnings.warn(
        'get_device is deprecated: use get_device_from_id or get_device_from_array.',
        DeprecationWarning, stacklevel=2)
    return _get_device(*args)


def _get_device(*args):
    for arg in args:
        if type(arg) is not bool and isinstance(arg, _integer_types):
            check_cuda_available()
            return Device(int(arg))
        if available and isinstance(arg, Device):
            return arg
        if (device := get_device_from_array(arg)) is not DummyDevice:
            return device
    return DummyDevice


def _get_device_or_current(device):
    check_cuda_available()
    if device is None:
        return Device()
    if isinstance(device, Device):
        return device
    if isinstance(device, GpuDevice):
        return device.device
    if isinstance(device, _integer_types) and type(device) is not bool:
        return Device(int(device))
    raise ValueError(
        f'a CUDA device is given by cupy.cuda.Device, an integer or None, not {device!r}')


def to_gpu(array, device=None, stream=None) -> Any:
    """Copy arrays to a GPU.

    Args:
        array: An array, ``None``, or a list or tuple of these.
        device: CUDA device, its number, or ``None`` for the current one.
        stream (cupy.cuda.Stream): CUDA stream for an asynchronous copy.

    Returns:
        CuPy array or ``None``, or a list or tuple of these; arrays that are on that device
        already are returned as they are.
    """
    check_cuda_available()
    device = _get_device_or_current(device)
    return _backend.convert_arrays(array, lambda x: _array_to_gpu(x, device, stream))


def _array_to_gpu(array, device, stream):
    if array is None:
        return None
    if isinstance(array, ndarray):
        if array.device == device:
            return array
        return copy(array, out_device=device, stream=stream)
    if not isinstance(array, (numpy.ndarray, intel64.mdarray)) and not numpy.isscalar(array):
        raise TypeError(
            f'cannot copy to a GPU: expected an array, a scalar or None, got {type(array)}')
    with device:
        if stream is None:
            return cupy.asarray(array)
        with stream:
            return cupy.asarray(array)


def to_cpu(array, stream=None) -> Any:
    """Copy arrays to the host.

    Args:
        array: An array, a scalar, ``None``, or a list or tuple of these.
        stream (cupy.cuda.Stream): CUDA stream for an asynchronous copy.

    Returns:
        NumPy array or ``None``, or a list or tuple of these; NumPy arrays are returned as they
        are.

    .. doctest::

        >>> chainer.backends.cuda.to_cpu([np.zeros(2), None])
        [array([0., 0.]), None]
    """
    def convert(x):
        if stream is not None and isinstance(x, ndarray):
            with x.device:
                return x.get(stream)
        return _cpu.array_to_cpu(x)

    return _backend.convert_arrays(array, convert)


def copy(array, out=None, out_device=None, stream=None) -> Any:
    """Copy a CuPy array, also to another device.

    Args:
        array (cupy.ndarray): What is copied.
        out (cupy.ndarray): Where to; ``out_device`` is ignored if it is given.
        out_device: Device of the new array, that of ``array`` by default.
        stream (cupy.cuda.Stream): CUDA stream for an asynchronous copy.

    Returns:
        cupy.ndarray: ``out`` or the new array.
    """
    check_cuda_available()
    if out is None:
        device = array.device if out_device is None else _get_device(out_device)
        with device:
            out = cupy.empty_like(array)
    with array.device:
        source = array if array.flags.c_contiguous else cupy.ascontiguousarray(array)
    with out.device:
        if out.flags.c_contiguous:
            if stream is None:
                out.data.copy_from_device(source.data, source.nbytes)
            else:
                out.data.copy_from_device_async(source.data, source.nbytes, stream)
        else:
            out[...] = source
    return out


def memoize(for_each_device=False):
    """Return a decorator that caches results per arguments (and device).

    Without CUDA it returns functions as they are.
    """
    if available:
        return cupy.memoize(for_each_device)
    return lambda function: function


def clear_memo():
    """Forget the results of all functions decorated by :func:`memoize`."""
    if available:
        cupy.clear_memo()


@memoize()
def elementwise(in_params, out_params, operation, name, **kwargs):
    """Return a (cached) ``cupy.ElementwiseKernel`` of these arguments."""
    check_cuda_available()
    return cupy.ElementwiseKernel(in_params, out_params, operation, name, **kwargs)


@memoize()
def reduce(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, **kwargs):
    """Return a (cached) ``cupy.ReductionKernel`` of these arguments."""
    check_cuda_available()
    return cupy.ReductionKernel(
        in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, **kwargs)


@memoize()
def raw(code, name, *args, **kwargs):
    """Return a (cached) ``cupy.RawKernel`` of these arguments."""
    check_cuda_available()
    return cupy.RawKernel(code, name, *args, **kwargs)


def fuse(*args, **kwargs):
    """``cupy.fuse`` where CUDA is available, otherwise a decorator that changes nothing."""
    if available:
        return cupy.fuse(*args, **kwargs)
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda function: function


def get_array_module(*args) -> Any:
    """Return ``numpy`` or ``cupy``, whichever the arguments belong to.

    Deprecated: use :func:`chainer.backend.get_array_module`.
    """
    from chainer import backend

    return backend.get_array_module(*args)


_max_workspace_size = 8 * 1024 * 1024


def get_max_workspace_size():
    """Return how many bytes of scratch memory a convolution on a GPU may use.

    Until it is set, this is Chainer's 8 MiB for cuDNN, and convolutions take up to 128 MiB.
    """
    return _max_workspace_size


def set_max_workspace_size(size):
    """Set how many bytes of scratch memory a convolution on a GPU may use.

    With less of it convolutions go through a batch in more parts. Set it before training: what
    sums over a batch has other last bits in other parts.

    Args:
        size (int): Number of bytes.
    """
    global _max_workspace_size
    _max_workspace_size = int(size)
    OPTIONS.scratch = get_max_workspace_size
    if cudnn_enabled:
        cudnn.set_max_workspace_size(size)


_LEVELS = {'==always': ('always',), '>=auto': ('always', 'auto')}
_MODES = ('always', 'auto', 'never')


def _check_mode(name, value):
    if value not in _MODES:
        raise ValueError(
            f"invalid chainer.config.{name} {value!r}: set it to 'always', 'auto' or 'never'")


def should_use_cudnn(level, lowest_version=0):
    """Return whether cuDNN should be used.

    Args:
        level (str): ``'==always'`` (only if ``chainer.config.use_cudnn`` is ``'always'``) or
            ``'>=auto'`` (if it is ``'always'`` or ``'auto'``).
        lowest_version (int): Lowest version of cuDNN that will do.
    """
    if level not in _LEVELS:
        raise ValueError(f"invalid cuDNN level {level!r}: use '==always' or '>=auto'")
    _check_mode('use_cudnn', config.use_cudnn)
    if not cudnn_enabled or libcudnn.getVersion() < lowest_version:
        return False
    return config.use_cudnn in _LEVELS[level]


def should_use_cudnn_tensor_core(dtype):
    """Return whether cuDNN should use tensor cores for arrays of ``dtype``."""
    mode = config.use_cudnn_tensor_core
    _check_mode('use_cudnn_tensor_core', mode)
    if not cudnn_enabled:
        return False
    if mode == 'auto':
        return cudnn.is_tensor_core_available(dtype)
    return mode == 'always'


def _seed_from_environment():
    """Give CuPy the seed of ``CHAINER_SEED``, as far as CuPy does not read it by itself."""
    seed = os.environ.get('CHAINER_SEED')
    if available and seed is not None and os.environ.get('CUPY_SEED') is None:
        os.environ['CUPY_SEED'] = seed


_seed_from_environment()
