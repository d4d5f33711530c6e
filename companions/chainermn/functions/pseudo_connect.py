"""Parts of a graph tied together that no data flow connects."""
import chainer
from chainer import backend, utils


class PseudoConnect(chainer.FunctionNode):
    """See :func:`pseudo_connect`."""

    def forward(self, inputs):
        delegate, *actual = inputs
        self._delegate = backend.get_array_module(delegate), delegate.shape, delegate.dtype
        return tuple(actual)

    def backward(self, target_input_indexes, grad_outputs):
        xp, shape, dtype = self._delegate
        zeros = chainer.Variable(xp.zeros(shape, dtype))
        grads = zeros, *grad_outputs
        return tuple([grads[i] for i in target_input_indexes])


def pseudo_connect(delegate_variable, *actual_variables):
    """Return variables as they are, but with a delegate variable behind them in the graph.

    Backward from them reaches, besides what they were computed from, also what the delegate
    variable stands for: a :func:`send` whose gradients are on their way. It does so even if one of
    the variables is itself a delegate variable.

    Args:
        delegate_variable (Variable or None): What :func:`send` has returned. With ``None``,
            nothing is tied.
        actual_variables (tuple of Variable): What is to be returned.

    Returns:
        Variable or tuple of Variable: One, or all of them.

    >>> import chainermn
    >>> delegate = chainer.Variable(np.zeros(0, np.float32))
    >>> x = chainer.Variable(np.ones(2, np.float32))
    >>> chainermn.functions.pseudo_connect(delegate, x)
    variable([1., 1.])
    """
    utils.experimental('chainermn.functions.pseudo_connect')
    outputs = actual_variables
    if delegate_variable is not None:
        outputs = PseudoConnect().apply((delegate_variable, *actual_variables))
    return outputs[0] if len(outputs) == 1 else outputs
