"""Picking one element of each row."""
import chainer
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class SelectItem(function_node.FunctionNode):
    """One element of each row (see :func:`select_item`)."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            t_type.dtype.kind == 'i',
            x_type.ndim == 2,
            t_type.ndim == 1,
            x_type.shape[0] == t_type.shape[0],
        )

    def forward(self, inputs):
        x, t = inputs
        if chainer.is_debug() and not ((t >= 0).all() and (t < x.shape[1]).all()):
            raise ValueError('Each label `t` need to satisfty `0 <= t < x.shape[1]`')
        self.retain_inputs((1,))
        self._columns = x.shape[1]
        xp = backend.get_array_module(x)
        return x[xp.arange(t.size), t],

    def backward(self, indexes, grad_outputs):
        t, = self.get_retained_inputs()
        return _SelectItemGrad(self._columns).apply((grad_outputs[0], t))[0], None


class _SelectItemGrad(function_node.FunctionNode):
    """``(g, t) -> zeros with g[i] at [i, t[i]]``."""

    def __init__(self, columns):
        self.columns = columns

    def forward(self, inputs):
        g, t = inputs
        self.retain_inputs((1,))
        xp = backend.get_array_module(g)
        gx = xp.zeros((t.size, self.columns), g.dtype)
        gx[xp.arange(t.size), t] = g
        return gx,

    def backward(self, indexes, grad_outputs):
        t, = self.get_retained_inputs()
        return select_item(grad_outputs[0], t), None


def select_item(x, t) -> Variable:
    """Pick one element of each row: ``y[i] = x[i, t[i]]``.

    Args:
        x (Variable or array): matrix of shape ``(N, M)``.
        t (Variable or array): ``N`` integers below ``M``.

    Returns:
        Variable: vector of length ``N``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: in debug mode, if an index lies outside.

    >>> x = np.array([[0., 1., 2.], [3., 4., 5.]])
    >>> F.select_item(x, np.array([0, 2])).array
    array([0., 5.])
    """
    return SelectItem().apply((x, t))[0]
