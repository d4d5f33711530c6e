"""Change of dtype."""
import chainer
from chainer import function_node
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class Cast(function_node.FunctionNode):
    """Change of dtype (see :func:`cast`)."""

    def __init__(self, typ):
        self.type = typ

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    def forward(self, x):
        self._in_type = x[0].dtype
        return x[0].astype(self.type, copy=False),

    def backward(self, indexes, g):
        if self._in_type.kind != 'f':
            return None,
        return cast(g[0], self._in_type),


def cast(x, typ) -> Variable:
    """Change the dtype of an array.

    Args:
        x (Variable or array): Any shape and dtype.
        typ (str or numpy.dtype): The new dtype.

    Returns:
        Variable: Of the same shape and the new dtype. What is no floating point number has no
        gradient: none passes through an integer dtype.

    .. doctest::

        >>> F.cast(np.zeros(3, np.float32), np.float64).dtype
        dtype('float64')
    """
    try:
        same = x.dtype == typ
    except AttributeError:
        _errors.check_arrays('cast', x=x)
        raise
    if same:
        if not chainer.config.enable_backprop:
            return chainer.as_variable(x)
    return Cast(typ).apply((x,))[0]
