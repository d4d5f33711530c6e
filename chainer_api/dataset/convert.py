"""From a minibatch (a list of examples) to arrays on a device."""
import functools

import numpy

from chainer import backend
from chainer.backends import cuda


class Converter:
    """Base of converters that are given a device object.

    An updater or evaluator calls a plain function with the old style of device (``None``, ``-1``
    or a GPU's number); an instance of this class gets ``None`` or a
    :class:`chainer.backend.Device`.
    """

    def __call__(self, batch, device):
        raise NotImplementedError(f'{type(self).__name__} must define __call__(batch, device)')


class _FunctionConverter(Converter):

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, batch, device, *args, **kwargs):
        return self.function(batch, _get_device(device), *args, **kwargs)


def converter():
    """Makes a decorator that turns a function of ``(batch, device)`` into a :class:`Converter`.

    >>> import numpy as np
    >>> from chainer import dataset
    >>> @dataset.converter()
    ... def to_float(batch, device):
    ...     return device.send(np.stack(batch).astype(np.float32))
    >>> to_float([np.arange(2), np.arange(2)], '@numpy')
    array([[0., 1.],
           [0., 1.]], dtype=float32)
    """
    return _FunctionConverter


def _get_device(device):
    """A device object (or ``None``) from any way to name a device."""
    return None if device is None else backend.get_device(device)


def _device_number(device):
    """The old style name of a device: ``None``, -1 for the CPU, or the number of a GPU.

    A device of the user's own has no such name: it is returned itself.
    """
    device = _get_device(device)
    if isinstance(device, backend.GpuDevice):
        return device.device.id
    return -1 if type(device) is backend.CpuDevice else device


def _call_converter(converter, batch, device):
    """Calls a converter of either kind with the device it understands."""
    if isinstance(converter, Converter):
        return converter(batch, _get_device(device))
    return converter(batch, _device_number(device))


def to_device(device, x):
    """Sends an array to a device.

    Args:
        device: ``None`` (the array is returned as it is), a negative integer (the CPU), the number
            of a GPU, or whatever :func:`chainer.get_device` takes, such as ``'@numpy'``.
        x: An array, or a number (which becomes an array).

    >>> import numpy as np
    >>> from chainer import dataset
    >>> dataset.to_device(-1, np.arange(3))
    array([0, 1, 2])
    """
    if device is None:
        return x
    return _get_device(device).send(x)


def concat_examples(batch, device=None, padding=None):
    """Turns a list of examples into arrays with the batch as first axis.

    Args:
        batch (list): Examples. Each is an array (or a number, or nested lists of numbers), a tuple
            of such, or a dictionary of such.
        device: Where the arrays go, see :func:`to_device`. ``None`` leaves them where they are.
        padding: Where the examples' shapes differ, the smallest shape that holds them all is
            filled up with this number. ``None`` (default) makes different shapes an error. For
            tuples and dictionaries it may be a tuple or dictionary, one for each entry.

    Returns:
        One array, a tuple of arrays, or a dictionary of arrays, as the examples are.

    Raises:
        ValueError: The batch is empty, or the shapes differ and there is no ``padding``.

    >>> import numpy as np
    >>> from chainer import dataset
    >>> dataset.concat_examples([([1, 2], 1), ([3, 4], 2)])
    (array([[1, 2],
           [3, 4]]), array([1, 2]))
    >>> dataset.concat_examples([np.array([1, 2]), np.array([3])], padding=0)
    array([[1, 2],
           [3, 0]])
    """
    if len(batch) == 0:
        raise ValueError('batch is empty')
    first = batch[0]
    if isinstance(first, tuple):
        if not isinstance(padding, tuple):
            padding = (padding,) * len(first)
        return tuple(
            _concat_entry([example[i] for example in batch], device, padding[i], i)
            for i in range(len(first)))
    if isinstance(first, dict):
        if not isinstance(padding, dict):
            padding = dict.fromkeys(first, padding)
        return {
            key: _concat_entry([example[key] for example in batch], device, padding[key], key)
            for key in first}
    return to_device(device, _concat_arrays(batch, padding))


def _concat_entry(arrays, device, padding, entry):
    try:
        return to_device(device, _concat_arrays(arrays, padding))
    except ValueError as error:
        raise ValueError(f'entry {entry!r} of the examples: {error}') from error


def _concat_arrays(arrays, padding):
    """One array with the given arrays as rows, filled up with ``padding`` unless ``None``."""
    first = arrays[0]
    is_array = isinstance(first, (numpy.ndarray, numpy.generic, cuda.ndarray))
    if padding is not None:
        return _concat_arrays_with_padding(
            arrays if is_array else [numpy.asarray(a) for a in arrays], padding)
    try:
        if isinstance(first, cuda.ndarray):
            return cuda.cupy.stack(arrays)
        result = numpy.array(arrays)  # much faster than stack() for small ones
    except ValueError as error:
        shapes = sorted({numpy.shape(a) for a in arrays}, key=str)
        raise (_different_shapes(shapes) if len(shapes) > 1 else error) from None
    if result.dtype.kind in 'OUS' and not is_array:
        raise TypeError(f'examples of type {type(first).__name__} cannot be made an array')
    return result


def _different_shapes(shapes):
    shown = ', '.join(map(str, shapes[:5])) + (', ...' if len(shapes) > 5 else '')
    return ValueError(
        f'examples of different shapes cannot be one array: {shown}. Give padding=<number> to '
        'fill up the smaller ones, or make the shapes equal in the dataset.')


def _concat_arrays_with_padding(arrays, padding):
    first = arrays[0]
    ndims = {a.ndim for a in arrays}
    if len(ndims) > 1:
        raise ValueError(
            'padding fills up sizes, not dimensions, but the examples have '
            f'{", ".join(map(str, sorted(ndims)))} dimensions')
    shape = (len(arrays), *(max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True)))
    with cuda.get_device_from_array(first):
        result = backend.get_array_module(first).full(shape, padding, dtype=first.dtype)
        for row, array in enumerate(arrays):
            result[(row, *(slice(size) for size in array.shape))] = array
    return result


class ConcatWithAsyncTransfer:
    """:func:`concat_examples` that copies to the GPU while the GPU computes.

    Pass an instance as the ``converter`` of an updater. The arrays of a batch are gathered in page
    locked memory and copied on a stream of their own. Without a GPU among the devices it is
    :func:`concat_examples`.

    Args:
        stream (cupy.cuda.Stream): Stream of the copies; made at the first call if ``None``.
        compute_stream (cupy.cuda.Stream): Stream of the computations. With it, events order the two
            streams; without it the whole device is waited for.
    """

    def __init__(self, stream=None, compute_stream=None):
        self._stream = stream
        self.compute_stream = compute_stream
        self._device = None
        # Pinned buffers of the copies still under way, with the event that ends each copy.
        self._in_flight = []

    def __call__(self, batch, device=None, padding=None):
        """Concatenates a batch and starts its copy to ``device``.

        Args:
            batch (list): Examples.
            device: As for :func:`to_device`; all calls of one instance must name the same.
            padding: As for :func:`concat_examples`.

        Returns:
            Arrays on ``device``, in the structure of the examples.
        """
        if len(batch) == 0:
            raise ValueError('batch is empty')
        target = _get_device(device)
        if not isinstance(target, backend.GpuDevice):
            return concat_examples(batch, device, padding)
        if self._device is not None and self._device != target:
            raise ValueError(
                f'this ConcatWithAsyncTransfer sends to {self._device}, but was now asked to send '
                f'to {target}; use one instance for each device')
        self._device = target
        with target.device:
            if self._stream is None:
                self._stream = cuda.cupy.cuda.Stream(non_blocking=True)
            self._release_finished()
            host = concat_examples(batch, -1, padding)
            return _map_arrays(self._send, host)

    def _send(self, array):
        pinned = cuda.cupy.cuda.alloc_pinned_memory(max(array.nbytes, 1))
        buffer = numpy.frombuffer(pinned, array.dtype, array.size).reshape(array.shape)
        buffer[...] = array
        result = cuda.cupy.empty(array.shape, array.dtype)
        # The memory of `result` may still be read by kernels queued before it was freed.
        if self.compute_stream is None:
            cuda.cupy.cuda.Device().synchronize()
        else:
            self._stream.wait_event(self.compute_stream.record())
        with self._stream:
            result.set(buffer, stream=self._stream)
            done = self._stream.record()
        (self.compute_stream or cuda.cupy.cuda.get_current_stream()).wait_event(done)
        self._in_flight.append((done, pinned))
        return result

    def _release_finished(self):
        self._in_flight = [(done, pinned) for done, pinned in self._in_flight if not done.done]


def _map_arrays(function, arrays):
    if isinstance(arrays, tuple):
        return tuple(map(function, arrays))
    if isinstance(arrays, dict):
        return {key: function(array) for key, array in arrays.items()}
    return function(arrays)
