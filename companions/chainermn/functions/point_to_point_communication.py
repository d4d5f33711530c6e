"""Communication between two processes, with gradients the other way."""
import numpy

import chainer
from chainer import backend, utils


class Send(chainer.Function):
    """See :func:`send`."""

    def __init__(self, comm, peer_rank, peer_tag):
        self.comm = comm
        self.peer_rank = peer_rank
        self.peer_tag = peer_tag

    @property
    def label(self):
        return f'{type(self).__name__} (peer_rank: {self.peer_rank})'

    def forward(self, inputs):
        self.retain_inputs(())
        # One array goes alone, so that the receiver knows one variable from a tuple of one.
        self.comm.send(inputs[0] if len(inputs) == 1 else inputs, self.peer_rank, self.peer_tag)
        return backend.get_array_module(*inputs).zeros(0, numpy.float32),

    def backward(self, inputs, grad_outputs):
        grads = self.comm.recv(self.peer_rank, self.peer_tag)
        return grads if isinstance(grads, tuple) else (grads,)


class Recv(chainer.Function):
    """See :func:`recv`."""

    def __init__(self, comm, peer_rank, peer_tag):
        self.comm = comm
        self.peer_rank = peer_rank
        self.peer_tag = peer_tag

    def __call__(self, *inputs):
        if not inputs:
            # A function needs an input that wants a gradient to be part of the graph.
            inputs = chainer.Variable(numpy.zeros(0, numpy.float32)),
        return super().__call__(*inputs)

    @property
    def label(self):
        return f'{type(self).__name__} (peer_rank: {self.peer_rank})'

    def forward(self, inputs):
        data = self.comm.recv(self.peer_rank, self.peer_tag)
        outputs = data if isinstance(data, tuple) else (data,)
        self.retain_outputs(tuple(range(len(outputs))))
        return outputs

    def backward(self, inputs, grad_outputs):
        grads = [
            backend.get_array_module(y).zeros_like(y) if g is None else g
            for g, y in zip(grad_outputs, self.output_data, strict=True)]
        self.comm.send(grads[0] if len(grads) == 1 else grads, self.peer_rank, self.peer_tag)
        return tuple([backend.get_array_module(x).zeros_like(x) for x in inputs])


def send(x, communicator, rank, tag=0):
    """Send a variable to a process, which has to call :func:`recv`.

    Backward from the variable that it returns waits for the gradients from there. So that it is
    reached, give that variable to the next :func:`recv` or to :func:`pseudo_connect`, or return it
    from the model: otherwise the other process waits forever.

    Args:
        x (Variable, array, or sequence of these): What is sent.
        communicator (CommunicatorBase): Communicator.
        rank (int): Rank of the receiver.
        tag (int): Tells messages apart.

    Returns:
        Variable: One without elements, which stands for what was sent (a delegate variable).

    Raises:
        ValueError: A process would send to itself.
    """
    utils.experimental('chainermn.functions.send')
    _check_rank(communicator, rank)
    xs = x if isinstance(x, (tuple, list)) else (x,)
    if not xs:
        raise ValueError('send needs at least one variable')
    return Send(communicator, rank, tag)(*xs)


def recv(communicator, rank, delegate_variable=None, tag=0, force_tuple=False):
    """Receive what a process sends by :func:`send`.

    Backward sends the gradients there.

    Args:
        communicator (CommunicatorBase): Communicator.
        rank (int): Rank of the sender.
        delegate_variable (Variable): What :func:`send` has returned before: backward goes on from
            here to it.
        tag (int): Tag of the message.
        force_tuple (bool): Whether a tuple is returned also of one variable.

    Returns:
        Variable or tuple of Variable: As it was sent.

    Raises:
        ValueError: A process would receive from itself.
    """
    utils.experimental('chainermn.functions.recv')
    _check_rank(communicator, rank)
    inputs = () if delegate_variable is None else (delegate_variable,)
    y = Recv(communicator, rank, tag)(*inputs)
    return (y,) if force_tuple and not isinstance(y, tuple) else y


def _check_rank(communicator, rank):
    if rank == communicator.rank:
        raise ValueError(
            'rank must be different from communicator rank, otherwise deadlock occurs')
