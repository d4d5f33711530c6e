"""Rounding up."""
from chainer import backend, function_node, utils, variable
from chainer.variable import Variable


class _Ceil(function_node.FunctionNode):
    """Rounding up (see :func:`ceil`)."""

    def forward(self, inputs):
        x, = inputs
        return utils.force_array(backend.get_array_module(x).ceil(x)),


def ceil(x) -> Variable:
    """Smallest integer that is not below each element.

    Args:
        x (Variable or array): array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``. No gradient goes back.

    >>> F.ceil(np.array([1.2, -1.2])).array
    array([ 2., -1.])
    """
    # Constant between the steps: the result is cut off from x in the graph.
    return _Ceil().apply((x.array if isinstance(x, variable.Variable) else x,))[0]
