"""Matrices for tests."""
import numpy


def generate_matrix(shape, dtype=float, *, singular_values):
    """Return random matrices with given singular values.

    Args:
        shape (tuple of int): Shape ``(..., m, n)`` of the result: one matrix or a stack of them.
        dtype: Dtype, floating point or complex.
        singular_values (float or array): Singular values, not negative, of a shape that
            broadcasts to ``(..., min(m, n))``.

    Raises:
        TypeError: If the dtype is neither floating point nor complex, or values are not real.
        ValueError: If a singular value is negative, or ``shape`` has less than two axes.

    .. doctest::

        >>> from chainer import testing
        >>> a = testing.generate_matrix((3, 2), singular_values=[3.0, 0.5])
        >>> np.linalg.svd(a, compute_uv=False).round(6)
        array([3. , 0.5])
    """
    if len(shape) <= 1:
        raise ValueError(f'shape {shape} is invalid for matrices: too few axes')
    dtype = numpy.dtype(dtype)
    if dtype.kind not in 'fc':
        raise TypeError(f'dtype {dtype} is not supported: it must be floating point or complex')
    singular_values = numpy.asarray(singular_values)
    if singular_values.dtype.kind not in 'biuf':
        raise TypeError(f'singular_values are not real, but {singular_values.dtype}')
    if (singular_values < 0).any():
        raise ValueError('negative singular value is given')
    k = min(shape[-2:])
    singular_values = numpy.broadcast_to(singular_values, (*shape[:-2], k))
    random = numpy.random.standard_normal(shape)
    if dtype.kind == 'c':
        random = random + 1j * numpy.random.standard_normal(shape)
    u, _, vh = numpy.linalg.svd(random, full_matrices=False)
    return (u * singular_values[..., None, :] @ vh).astype(dtype)
