"""Sign."""
from chainer import backend, function_node, utils, variable
from chainer.variable import Variable


class _Sign(function_node.FunctionNode):
    """Sign (see :func:`sign`)."""

    def forward(self, inputs):
        x, = inputs
        return utils.force_array(backend.get_array_module(x).sign(x)),


def sign(x) -> Variable:
    """Sign of each element: -1, 0 or 1.

    Args:
        x (Variable or array): array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``. No gradient goes back.

    >>> F.sign(np.array([3., 0., -2.])).array
    array([ 1.,  0., -1.])
    """
    # Constant between the steps: the result is cut off from x in the graph.
    return _Sign().apply((x.array if isinstance(x, variable.Variable) else x,))[0]
