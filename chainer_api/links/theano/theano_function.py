"""Theano functions as links."""
from chainer import link
from chainer.functions.theano import theano_function


class TheanoFunction(link.Link):
    """Link that computes expressions of Theano, and their gradients.

    Arrays of CuPy are copied to the CPU and back.

    Args:
        inputs (tuple of theano.tensor.TensorVariable): Input variables; the link is called with as
            many Variables.
        outputs (tuple of theano.tensor.TensorVariable): Output variables; a call returns as many
            Variables.

    Raises:
        RuntimeError: Theano is not installed.

    .. code-block:: python

        x = theano.tensor.fvector()
        y = theano.tensor.fvector()
        f = L.TheanoFunction(inputs=[x, y], outputs=[x + y, x - y])
        c, d = f(a, b)
    """

    def __init__(self, inputs, outputs):
        try:
            import theano.tensor
        except ImportError as e:
            raise RuntimeError(
                'theano is not installed on your environment. Please install theano to activate '
                f'theano function.\n\n  $ pip install theano\n\n({e})') from e
        super().__init__()
        inputs = _as_tuple(inputs, 'inputs')
        outputs = _as_tuple(outputs, 'outputs')
        gradients = tuple([output.type() for output in outputs])
        input_gradients = theano.tensor.grad(
            cost=None, wrt=inputs, known_grads=dict(zip(outputs, gradients, strict=True)),
            disconnected_inputs='ignore')
        self.forward_func = theano.function(inputs=inputs, outputs=outputs)
        self.backward_func = theano.function(
            inputs=inputs + gradients, outputs=input_gradients, on_unused_input='ignore')

    def forward(self, *args):
        """Computes the expressions.

        Args:
            args: One Variable or array for each input.

        Returns:
            tuple of Variables, or one Variable if there is one output.
        """
        return theano_function.theano_function(self.forward_func, self.backward_func, *args)


def _as_tuple(variables, name):
    if not isinstance(variables, (tuple, list)):
        variables = (variables,)
    import theano.tensor
    for variable in variables:
        if not isinstance(variable, theano.tensor.TensorVariable):
            raise TypeError(
                f'{name} must be Theano variables (theano.tensor.TensorVariable), '
                f'not {type(variable)}')
    return tuple(variables)
