"""What every weight initializer shares."""
import numpy


class Initializer:
    """Base of the weight initializers: a callable that overwrites an array with initial values.

    A child class implements ``__call__(array)`` and changes ``array`` in place.

    Args:
        dtype: Type that the array must have. ``None`` (the default) accepts any type, and
            leaves the choice to ``chainer.config.dtype`` where an array is made.

    Attributes:
        dtype: The type given to the constructor.

    Example:
        >>> import numpy as np, chainer
        >>> class Ramp(chainer.Initializer):
        ...     def __call__(self, array):
        ...         array[...] = np.arange(array.size).reshape(array.shape)
        >>> chainer.initializers.generate_array(Ramp(), (2, 2), np)
        array([[0., 1.],
               [2., 3.]], dtype=float32)
    """

    def __init__(self, dtype=None):
        self.dtype = dtype

    def __call__(self, array):
        """Overwrites ``array`` (of NumPy or CuPy) with initial values.

        Raises:
            NotImplementedError: The child class does not implement it.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement __call__(array)')

    def _check_dtype(self, array):
        # AssertionError is what Chainer raises here, and what its users catch.
        if self.dtype is not None and array.dtype != numpy.dtype(self.dtype):
            raise AssertionError(
                f'{type(self).__name__} was made for dtype {numpy.dtype(self.dtype)}, '
                f'but the array to initialize has dtype {array.dtype}')


def get_fans(shape):
    """Returns ``(fan_in, fan_out)`` of a weight array of shape ``(out, in, *kernel)``.

    ``fan_in`` is the number of elements of one slice along the first axis; ``fan_out`` that of
    one slice along the second axis.

    Raises:
        ValueError: ``shape`` has fewer than two axes.

    Example:
        >>> from chainer.initializer import get_fans
        >>> get_fans((8, 3, 5, 5))
        (75, 200)
    """
    if not isinstance(shape, tuple):
        raise TypeError(f'shape must be a tuple of ints. Actual type: {type(shape)}')
    if len(shape) < 2:
        raise ValueError(f'shape must be of length >= 2. Actual shape: {shape}')
    n_out, n_in, *kernel = shape
    receptive_field = 1
    for size in kernel:
        receptive_field *= size
    return n_in * receptive_field, n_out * receptive_field
