"""Adding at indices."""
from chainer import backend, function_node
from chainer.functions.array import get_item
from chainer.utils import type_check
from chainer.variable import Variable


class ScatterAdd(function_node.FunctionNode):
    """Adds at indices (see :func:`scatter_add`)."""

    def __init__(self, slices):
        # An index has to be checked as that of get_item is.
        index = get_item.GetItem(slices)
        self.slices = index.slices
        self.opaque = index.opaque

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('a', 'b'))
        used = sum(s is not None and s is not Ellipsis for s in self.slices)
        type_check.expect(in_types[0].ndim >= used)

    def forward(self, inputs):
        a, b = inputs
        xp = backend.get_array_module(a)
        slices = get_item._placed(self.slices, xp)
        y = a.copy()
        if y[slices].shape != b.shape:
            raise ValueError(
                f'the indexed elements have the shape {y[slices].shape}, and b has {b.shape}: '
                'Chainer does not support automatic broadcasting of variables.')
        xp.add.at(y, slices, b)
        return y,

    def backward(self, indexes, grad_outputs):
        g, = grad_outputs
        return g, get_item.get_item(g, self.slices) if 1 in indexes else None


def scatter_add(a, slices, b) -> Variable:
    """Copy of an array with values added at some places.

    ``a[slices] += b`` for a copy of ``a``, except that an index that stands several times
    adds several times.

    Args:
        a (Variable or array): the array.
        slices: an index as for :func:`~chainer.functions.get_item`.
        b (Variable or array): the values, in the shape of ``a[slices]``.

    Returns:
        Variable: of the shape and dtype of ``a``.

    Raises:
        InvalidType: if the index has more dimensions than ``a``.
        ValueError: if shapes do not fit.
        IndexError: if an index lies outside.

    >>> F.scatter_add(np.zeros(3), [0, 2, 2], np.array([1., 2., 3.])).array
    array([1., 0., 5.])
    """
    return ScatterAdd(get_item._beside(a, slices)).apply((a, b))[0]
