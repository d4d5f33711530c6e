"""Classes by which the original calls cuDNN: named by code that derives from them.

Here one function serves all devices, so that nobody needs them; a module that only names them, and
runs something else on a CPU, is imported.
"""
from chainer import function


class BaseNStepRNN(function.Function):
    """A stacked recurrent network as one call of cuDNN, which the original applies on GPUs.

    Raises:
        NotImplementedError: When one is made. The function that it names does the same.
    """

    instead = 'n_step_rnn'

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f'{type(self).__name__} calls cuDNN in Chainer, which nothing does here: use '
            f'chainer.functions.{self.instead}, which gives the same on every device')


def named(name, instead, module):
    """A class of that name, which says what to use ``instead``."""
    return type(name, (BaseNStepRNN,), {
        'instead': instead, '__module__': module,
        '__doc__': f'Stands for a call of cuDNN: use :func:`{instead}`, on every device.'})
