"""Views that are described by their strides."""
import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class AsStrided(function_node.FunctionNode):
    """A view with given strides (see :func:`as_strided`)."""

    opaque = 'its strides address the memory of its input'

    def __init__(self, shape, strides, storage_offset=None):
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self.storage_offset = storage_offset
        if len(self.shape) != len(self.strides):
            raise ValueError(
                'strides, if given, must be the same length as shape: '
                f'{len(self.strides)} != {len(self.shape)}')

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)

    def forward(self, inputs):
        x, = inputs
        memory, self._offset = _memory(x)
        self._size = len(memory)
        self._x_places = x.shape, tuple([step // x.itemsize for step in x.strides]), self._offset
        if self.storage_offset is None:
            self.storage_offset = self._offset
        self._check_bounds()
        xp = backend.get_array_module(x)
        return xp.lib.stride_tricks.as_strided(
            memory[self.storage_offset:], self.shape,
            [step * x.itemsize for step in self.strides]),

    def _check_bounds(self):
        if 0 in self.shape:
            return
        ends = [(n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)]
        first = self.storage_offset + sum([end for end in ends if end < 0])
        last = self.storage_offset + sum([end for end in ends if end > 0])
        if first < 0:
            raise ValueError(f'Out of buffer: too small index was specified: {first}')
        if last >= self._size:
            raise ValueError(
                f'Out of buffer: too large index was specified: {last}, but the memory of the '
                f'input has {self._size} elements')

    def backward(self, indexes, grad_outputs):
        g, = grad_outputs
        xp = backend.get_array_module(g.array)
        x_places = _places(*self._x_places)
        y_places = _places(self.shape, self.strides, self.storage_offset)
        memory = F.scatter_add(xp.zeros(self._size, g.dtype), xp.asarray(y_places), g)
        uses = numpy.bincount(x_places.ravel(), minlength=self._size)
        if uses.max(initial=0) > 1:
            # Elements of the input that share memory share its gradient.
            memory /= xp.asarray(numpy.maximum(uses, 1), g.dtype)
        return F.get_item(memory, xp.asarray(x_places)),


def _memory(x):
    """All of the memory that ``x`` lies in, as a vector, and the place of ``x`` in it."""
    base = x
    while isinstance(base.base, type(x)):
        base = base.base
    # Who owns memory fills it, with its axes in some order.
    order = sorted(range(base.ndim), key=lambda axis: -base.strides[axis])
    memory = base.transpose(order).reshape(-1).view(x.dtype)
    return memory, (_address(x) - _address(memory)) // x.itemsize


def _address(x):
    return x.ctypes.data if isinstance(x, numpy.ndarray) else x.data.ptr


def _places(shape, strides, offset):
    """The place of each element in the memory."""
    places = numpy.full(shape, offset, numpy.intp)
    for axis, step in enumerate(strides):
        steps = numpy.arange(shape[axis]) * step
        places += steps.reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return places


def as_strided(x, shape, strides, storage_offset=None) -> Variable:
    """Makes a view of an array, with any strides.

    Elements may be there several times; their gradients add up. What the view shows and the input
    does not (where the input is a view itself) has no gradient.

    Args:
        x (Variable or array): the array whose memory is viewed.
        shape (tuple of ints): shape of the view.
        strides (tuple of ints): from one element of an axis to the next, in elements.
        storage_offset (int): place of the first element in the memory, which may begin before
            ``x`` does; by default that of the first element of ``x``.

    Returns:
        Variable: the view.

    Raises:
        ValueError: if it goes beyond the memory, or ``shape`` and ``strides`` differ in length.

    >>> x = np.arange(4, dtype=np.float32)
    >>> F.as_strided(x, (3, 2), (1, 1)).array
    array([[0., 1.],
           [1., 2.],
           [2., 3.]], dtype=float32)
    """
    return AsStrided(shape, strides, storage_offset).apply((x,))[0]
