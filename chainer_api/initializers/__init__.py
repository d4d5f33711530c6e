"""Weight initializers (section 4.6)."""
import numpy

import chainer
from chainer import backend
from chainer.initializers.constant import Constant, Identity, NaN, One, Zero
from chainer.initializers.normal import GlorotNormal, HeNormal, LeCunNormal, Normal
from chainer.initializers.orthogonal import Orthogonal
from chainer.initializers.sampling import DownsamplingConvFilter, UpsamplingDeconvFilter
from chainer.initializers.uniform import GlorotUniform, HeUniform, LeCunUniform, Uniform

__all__ = [
    'Constant', 'DownsamplingConvFilter', 'GlorotNormal', 'GlorotUniform', 'HeNormal',
    'HeUniform', 'Identity', 'LeCunNormal', 'LeCunUniform', 'NaN', 'Normal', 'One',
    'Orthogonal', 'Uniform', 'UpsamplingDeconvFilter', 'Zero', 'generate_array',
]


def generate_array(initializer, shape, xp, dtype=None, device=None):
    """Makes an array and lets an initializer fill it.

    Args:
        initializer: Callable that takes an array and overwrites its values.
        shape (int or tuple of ints): Shape of the array.
        xp (module): ``numpy`` or ``cupy``. ``None`` if ``device`` is given.
        dtype: Type of the array. The default is ``initializer.dtype`` or, where that is missing
            or ``None``, ``chainer.config.dtype``.
        device: Device specifier where the array is made. The default is the current device
            of ``xp``.

    Returns:
        numpy.ndarray or cupy.ndarray: The filled array.

    Raises:
        TypeError: ``initializer`` is a class instead of an object.
        ValueError: ``dtype`` contradicts ``initializer.dtype``, or ``xp`` contradicts ``device``.

    Example:
        >>> import numpy as np, chainer
        >>> chainer.initializers.generate_array(chainer.initializers.One(), (2,), np)
        array([1., 1.], dtype=float32)
    """
    if isinstance(initializer, type) and issubclass(initializer, chainer.Initializer):
        raise TypeError(
            f'{initializer.__name__} is a class of initializers; give an object of it: '
            f'{initializer.__name__}()')
    own_dtype = getattr(initializer, 'dtype', None)
    if own_dtype is not None:
        if dtype is not None and chainer.get_dtype(dtype) != chainer.get_dtype(own_dtype):
            raise ValueError(f'dtype mismatch: {dtype} != {own_dtype}')
        dtype = own_dtype
    dtype = chainer.get_dtype(dtype)

    if device is None:
        array = xp.empty(shape, dtype=dtype)
        initializer(array)
        return array
    device = backend.get_device(device)
    if xp is not device.xp:
        raise ValueError(f'xp and device arguments are inconsistent: {xp}, {device}')
    with chainer.using_device(device):
        array = xp.empty(shape, dtype=dtype)
        initializer(array)
    return array


def _get_initializer(initializer):
    if initializer is None:
        return LeCunNormal()
    if numpy.isscalar(initializer) or isinstance(initializer, backend.get_array_types()):
        return Constant(initializer)
    if not callable(initializer):
        raise TypeError(
            f'invalid type of initializer: {type(initializer)}. It must be a callable, a scalar, '
            'an N-dimensional array or None.')
    return initializer


def _check_is_initializer_like(initializer):
    if not (initializer is None or callable(initializer) or numpy.isscalar(initializer)
            or isinstance(initializer, backend.get_array_types())):
        raise TypeError(
            f'Initializer is of wrong type: {type(initializer)}. '
            'Allowed types are Initializer, ndarray and scalar.')
