"""Comparison of arrays."""
import numpy

from chainer import variable
from chainer.backends import _cpu


def assert_allclose(x, y, atol=1e-5, rtol=1e-4, verbose=True):
    """Raise an error unless two arrays are equal within tolerances.

    The shapes must be the same, and of each pair of elements ``|x - y| <= atol + rtol * |y|``.
    NaN equals NaN, and an infinity itself.

    Args:
        x (array or scalar): Array; on the CPU or a GPU, whatever the other one is.
        y (array or scalar): The expected array.
        atol (float): Absolute tolerance.
        rtol (float): Relative tolerance.
        verbose (bool): Whether the message shows the values as NumPy does.

    Raises:
        AssertionError: If they differ. The message shows the worst element.
        TypeError: If one of them is a Variable.

    .. doctest::

        >>> from chainer import testing
        >>> testing.assert_allclose(np.array([1.0, 2.0]), np.array([1.00001, 2.0]))
    """
    x = _as_numpy('x', x)
    y = _as_numpy('y', y)
    try:
        numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, verbose=verbose)
    except AssertionError as e:
        raise AssertionError(f'{e}\n\n{_details(x, y, atol, rtol)}') from None


def _as_numpy(name, array):
    if isinstance(array, variable.Variable):
        raise TypeError(f'{name} is a Variable: compare its array ({name}.array)')
    if isinstance(array, (list, tuple)):
        return numpy.asarray(array)
    if array is None:
        raise TypeError(f'{name} is None: an array was expected')
    return _cpu.array_to_cpu(array)


def _details(x, y, atol, rtol):
    lines = [
        'assert_allclose failed:',
        f'  shape: {x.shape} {y.shape}',
        f'  dtype: {x.dtype} {y.dtype}',
    ]
    if x.shape == y.shape and x.size:
        with numpy.errstate(all='ignore'):
            x64, y64 = (numpy.atleast_1d(a).astype(numpy.float64) for a in (x, y))
            error = numpy.abs(x64 - y64)
            allowed = atol + rtol * numpy.abs(y64)
            excess = error - allowed
            # NaN: one of them is no number, or both are infinite.
            wrong = ~((x64 == y64) | (error <= allowed) | (numpy.isnan(x64) & numpy.isnan(y64)))
            excess = numpy.where(numpy.isnan(excess), numpy.inf, excess)
            i = numpy.unravel_index(
                numpy.argmax(numpy.where(wrong, excess, -numpy.inf)), x64.shape)
            lines += [
                f'  i: {tuple(map(int, i))}',
                f'  x[i]: {x64[i]}',
                f'  y[i]: {y64[i]}',
                f'  relative error[i]: {error[i] / numpy.abs(y64[i])}',
                f'  absolute error[i]: {error[i]}',
                f'  relative tolerance * |y[i]|: {rtol * numpy.abs(y64[i])}',
                f'  absolute tolerance: {atol}',
                f'  total tolerance: {allowed[i]}',
            ]
    return '\n'.join([*lines, f'x: {x}', f'y: {y}'])
