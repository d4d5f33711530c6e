"""Rounding toward zero."""
from chainer import backend, function_node, utils, variable
from chainer.variable import Variable


class _Fix(function_node.FunctionNode):
    """Rounding toward zero (see :func:`fix`)."""

    def forward(self, inputs):
        x, = inputs
        return utils.force_array(backend.get_array_module(x).trunc(x)),


def fix(x) -> Variable:
    """Each element without its fractional part.

    Args:
        x (Variable or array): array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``. No gradient goes back.

    >>> F.fix(np.array([1.2, -1.2])).array
    array([ 1., -1.])
    """
    # Constant between the steps: the result is cut off from x in the graph.
    return _Fix().apply((x.array if isinstance(x, variable.Variable) else x,))[0]
