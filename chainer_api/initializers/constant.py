"""Initializers that draw nothing."""
import numpy

from chainer import backend, initializer


class Identity(initializer.Initializer):
    """Fills a square matrix with ``scale`` on the diagonal and zero elsewhere.

    Args:
        scale (scalar): Value of the diagonal.
        dtype: See :class:`chainer.Initializer`.

    Raises:
        ValueError: When called with anything but a square matrix.

    Example:
        >>> import numpy as np, chainer
        >>> a = np.empty((2, 2), np.float32)
        >>> chainer.initializers.Identity(scale=3)(a)
        >>> a
        array([[3., 0.],
               [0., 3.]], dtype=float32)
    """

    def __init__(self, scale=1.0, dtype=None):
        self.scale = scale
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        shape = array.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(
                'Identity matrix initialization can only be used for 2D squared matrices. '
                f'Actual shape: {shape}')
        array[...] = 0
        diagonal = numpy.arange(shape[0])
        array[diagonal, diagonal] = self.scale


def _check_number(text):
    try:
        float(text)
    except ValueError:
        raise ValueError(
            f'{text!r} is no initial value: give an initializer (an object, such as '
            'chainer.initializers.HeNormal()), a number or an array') from None


class _Constant(initializer.Initializer):

    fill_value = None

    def __call__(self, array):
        self._check_dtype(array)
        value = self.fill_value
        if isinstance(value, backend.get_array_types()):
            value = backend.get_device_from_array(array).send(value)
        else:
            value = backend.get_array_module(array).asarray(value)
        try:
            array[...] = value
        except ValueError as error:
            if value.dtype.kind in 'SU':
                raise
            raise ValueError(
                f'an initial value of shape {value.shape} cannot be broadcast to shape '
                f'{array.shape}') from error


class Constant(_Constant):
    """Fills the array with one value, or with an array that broadcasts to its shape.

    Args:
        fill_value (scalar or N-dimensional array): Value to fill in.
        dtype: See :class:`chainer.Initializer`.

    Attributes:
        fill_value: The value given to the constructor.

    Raises:
        ValueError: ``fill_value`` is neither a scalar nor an array, or a string; or, when called,
            it does not broadcast to the shape of the array.

    Example:
        >>> import numpy as np, chainer
        >>> a = np.empty((2, 3), np.float32)
        >>> chainer.initializers.Constant(np.array([1, 2, 3]))(a)
        >>> a
        array([[1., 2., 3.],
               [1., 2., 3.]], dtype=float32)
    """

    def __init__(self, fill_value, dtype=None):
        if not (numpy.isscalar(fill_value)
                or isinstance(fill_value, backend.get_array_types())):
            raise ValueError(
                'fill_value must be either a scalar or an N-dimensional array. '
                f'Actual type: {type(fill_value)}')
        if isinstance(fill_value, str):
            _check_number(fill_value)
        self.fill_value = fill_value
        super().__init__(dtype)


class Zero(_Constant):
    """Fills the array with zeros.

    Args:
        dtype: See :class:`chainer.Initializer`.

    Example:
        >>> import numpy as np, chainer
        >>> chainer.initializers.generate_array(chainer.initializers.Zero(), (2,), np)
        array([0., 0.], dtype=float32)
    """

    fill_value = 0.0


class One(_Constant):
    """Fills the array with ones.

    Args:
        dtype: See :class:`chainer.Initializer`.

    Example:
        >>> import numpy as np, chainer
        >>> chainer.initializers.generate_array(chainer.initializers.One(), (2,), np)
        array([1., 1.], dtype=float32)
    """

    fill_value = 1.0


class NaN(_Constant):
    """Fills the array with NaN, so that a use before a real initialization shows.

    Args:
        dtype: See :class:`chainer.Initializer`.

    Example:
        >>> import numpy as np, chainer
        >>> chainer.initializers.generate_array(chainer.initializers.NaN(), (2,), np)
        array([nan, nan], dtype=float32)
    """

    fill_value = numpy.nan
