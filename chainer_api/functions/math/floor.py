"""Rounding down."""
from chainer import backend, function_node, utils, variable
from chainer.variable import Variable


class _Floor(function_node.FunctionNode):
    """Rounding down (see :func:`floor`)."""

    def forward(self, inputs):
        x, = inputs
        return utils.force_array(backend.get_array_module(x).floor(x)),


def floor(x) -> Variable:
    """Largest integer that is not above each element.

    Args:
        x (Variable or array): array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``. No gradient goes back.

    >>> F.floor(np.array([1.2, -1.2])).array
    array([ 1., -2.])
    """
    # Constant between the steps: the result is cut off from x in the graph.
    return _Floor().apply((x.array if isinstance(x, variable.Variable) else x,))[0]
