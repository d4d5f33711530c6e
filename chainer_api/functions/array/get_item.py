"""Indexing."""
import numpy

from chainer import backend, function_node, variable
from chainer.backends import cuda
from chainer.utils import _errors, type_check
from chainer.variable import Variable

_ARRAYS = (numpy.ndarray, cuda.ndarray)


def _is_boolean(s):
    return isinstance(s, (bool, numpy.bool)) or (
        isinstance(s, _ARRAYS) and s.dtype.kind == 'b')


def _normalize(slices):
    """Return an index as a tuple of ints, slices, None, Ellipsis and arrays."""
    # A list is an array of integers or booleans, or else the tuple of its elements.
    if isinstance(slices, list) and not all(isinstance(s, int) for s in slices):
        slices = tuple(slices)
    if not isinstance(slices, tuple):
        slices = (slices,)
    return tuple([_normalize_one(s) for s in slices])


def _normalize_one(s):
    if isinstance(s, variable.Variable):
        s = s._array
    if isinstance(s, (list, tuple)):
        s = numpy.array(s)
        return s if s.size else s.astype(int)
    if isinstance(s, _ARRAYS) and s.ndim == 0 and s.dtype.kind in 'iu':
        return int(s)
    return s


def _beside(x, slices):
    """Return an index with its arrays on the device of ``x``, where programs take all arrays."""
    if backend.get_array_module(x) is numpy:
        return slices
    device = backend.get_device_from_array(x)
    return tuple([
        device.send(s) if isinstance(s, _ARRAYS) else s for s in _normalize(slices)])


def _placed(slices, xp):
    """Return an index with its arrays in the array module that computes, and with an Ellipsis:
    so a single element comes as an array of no axes, not as a scalar."""
    placed = [xp.asarray(s) if isinstance(s, _ARRAYS) else s for s in slices]
    if not any([s is Ellipsis for s in slices]):
        placed.append(Ellipsis)
    return tuple(placed)


class GetItem(function_node.FunctionNode):
    """Indexing (see :func:`get_item`)."""

    def __init__(self, slices):
        slices = _normalize(slices)
        if sum([s is Ellipsis for s in slices]) > 1:
            raise _errors.WrongIndexError('an index may contain one Ellipsis only')
        if any(map(_is_boolean, slices)):
            self.opaque = 'the shape of the result depends on the values of a boolean array'
        self.slices = slices

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    def forward(self, xs):
        x, = xs
        return x[_placed(self.slices, backend.get_array_module(x))],

    def backward(self, indexes, gy):
        x, = self.inputs
        return GetItemGrad(self.slices, x.shape).apply(gy)


class GetItemGrad(function_node.FunctionNode):
    """Gradient of indexing: values are added at their places into zeros."""

    def __init__(self, slices, in_shape):
        self.slices = slices
        self._in_shape = in_shape
        self._may_repeat = any([isinstance(s, _ARRAYS) and s.dtype.kind in 'iu' for s in slices])
        if any(map(_is_boolean, slices)):
            self.opaque = 'the shape of the input depends on the values of a boolean array'

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        slices = _placed(self.slices, xp)
        gx = xp.zeros(self._in_shape, gy.dtype)
        if self._may_repeat:  # several elements may go to one place
            xp.add.at(gx, slices, gy)
        else:
            gx[slices] = gy
        return gx,

    def backward(self, indexes, ggx):
        return GetItem(self.slices).apply(ggx)


def get_item(x, slices) -> Variable:
    """Take elements out of an array, as indexing a NumPy array does.

    Args:
        x (Variable or array): Any shape and dtype.
        slices (int, slice, Ellipsis, None, integer or boolean array, or tuple of these): The index.
            At most one Ellipsis. A list of ints is an array; any other list is a tuple.

    Returns:
        Variable: The elements.

    Raises:
        IndexError: If an index is out of bounds. So a Variable can be unpacked, and looped over.

    .. doctest::

        >>> x = np.arange(12.).reshape(3, 4)
        >>> F.get_item(x, (slice(None), 1))
        variable([1., 5., 9.])
        >>> F.get_item(x, ([0, 2], [0, 0]))
        variable([0., 8.])
    """
    if type(slices) is int:
        _check_bounds(x, slices)
    return GetItem(_beside(x, slices)).apply((x,))[0]


def _check_bounds(x, index):
    """What NumPy would say of an index. It ends each loop over a Variable, so it is no function
    that fails: a compiled method would be left where such a loop ends."""
    shape = getattr(x, 'shape', ())
    if shape and not -shape[0] <= index < shape[0]:
        raise IndexError(f'index {index} is out of bounds for axis 0 with size {shape[0]}')


def install_variable_get_item():
    """Make :func:`get_item` the indexing of :class:`~chainer.Variable`."""
    variable.Variable.__getitem__ = get_item
