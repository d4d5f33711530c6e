"""The ``axis`` argument of reductions."""
from chainer.utils import type_check


def as_tuple(axis):
    """``None`` or a tuple of ints."""
    if axis is None:
        return None
    if isinstance(axis, int):
        return axis,
    if isinstance(axis, tuple) and all(isinstance(a, int) for a in axis):
        if len(set(axis)) != len(axis):
            raise ValueError(f'duplicate value in axis: {axis}')
        return axis
    raise TypeError('None, int or tuple of int are required')


def expect(x_type, axes):
    """Expect ``x`` to have these axes (a tuple, or ``None`` for all)."""
    for axis in axes or ():
        type_check.expect(x_type.ndim > (axis if axis >= 0 else -axis - 1))


def kept_shape(shape, axes):
    """The shape after a reduction over ``axes`` that keeps them with length one."""
    if axes is None:
        return (1,) * len(shape)
    reduced = {axis % len(shape) for axis in axes}
    return tuple([1 if i in reduced else n for i, n in enumerate(shape)])
