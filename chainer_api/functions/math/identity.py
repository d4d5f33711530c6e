"""Identity."""
from chainer import function_node


class Identity(function_node.FunctionNode):
    """Identity of any number of arrays (see :func:`identity`)."""

    def forward(self, xs):
        return xs

    def backward(self, indexes, gys):
        return gys


def identity(*inputs):
    """Return the inputs, as outputs of a function.

    Args:
        inputs (Variable or array): Any number, shapes and dtypes.

    Returns:
        Variable or tuple of Variable: One output an input.

    .. doctest::

        >>> F.identity(np.array([1., 2.]))
        variable([1., 2.])
    """
    outputs = Identity().apply(inputs)
    return outputs[0] if len(outputs) == 1 else outputs
