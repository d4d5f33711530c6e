"""Collective communication: what is sent forward comes back as gradients."""
import functools

import numpy

import chainer
from chainer import backend, utils


class _Collective(chainer.Function):
    """A function whose outputs are as many as processes, or of another process."""

    def __init__(self, comm):
        self.comm = comm

    def _without_inputs(self, *inputs):
        """Apply the function, also where there is nothing to put in.

        A function needs an input that wants a gradient to be part of the graph.
        """
        if not inputs:
            inputs = chainer.Variable(numpy.zeros(0, numpy.float32)),
        return chainer.Function.__call__(self, *inputs)

    def _keep_kinds(self, inputs):
        self.retain_inputs(())
        self._kinds = [(backend.get_array_module(x), x.shape, x.dtype) for x in inputs]

    def _zeros(self):
        """Gradients of inputs that are not sent: backward goes on through them all the same."""
        return tuple([xp.zeros(shape, dtype) for xp, shape, dtype in self._kinds])

    def _filled(self, grads):
        """Gradients with zeros where none has come."""
        return tuple([
            backend.get_array_module(like).zeros_like(like) if g is None else g
            for g, like in zip(grads, self.output_data, strict=True)])


def _total(arrays):
    return functools.reduce(lambda a, b: a + b, arrays)


class AllGather(_Collective):
    """See :func:`allgather`."""

    def forward(self, inputs):
        self.retain_inputs(())
        x, = inputs
        ys = self.comm.allgather(x)
        self.retain_outputs(tuple(range(len(ys))))
        return ys

    def backward(self, inputs, grad_outputs):
        return _total(self.comm.alltoall(self._filled(grad_outputs))),


class AllToAll(_Collective):
    """See :func:`alltoall`."""

    def forward(self, inputs):
        if len(inputs) != self.comm.size:
            raise ValueError('The length of inputs must be same as communicator size.')
        self.retain_inputs(())
        ys = self.comm.alltoall(inputs)
        self.retain_outputs(tuple(range(len(ys))))
        return ys

    def backward(self, inputs, grad_outputs):
        return self.comm.alltoall(self._filled(grad_outputs))


class _Rooted(_Collective):
    """Between one process, the root, and all."""

    def __init__(self, comm, root):
        super().__init__(comm)
        self.root = root


class _FromRoot(_Rooted):

    def __call__(self, *inputs):
        return self._without_inputs(*inputs)


class Bcast(_FromRoot):
    """See :func:`bcast`."""

    def forward(self, inputs):
        self._keep_kinds(inputs)
        return self.comm.bcast(inputs[0], root=self.root),

    def backward(self, inputs, grad_outputs):
        grads = self.comm.gather(grad_outputs[0], self.root)
        return self._zeros() if grads is None else (_total(grads),)


class Gather(_Rooted):
    """See :func:`gather`."""

    def forward(self, inputs):
        self.retain_inputs(())
        x, = inputs
        ys = self.comm.gather(x, self.root)
        if ys is None:  # an output without elements, for backward to start from
            return backend.get_array_module(x).zeros(0, numpy.float32),
        self.retain_outputs(tuple(range(len(ys))))
        return ys

    def backward(self, inputs, grad_outputs):
        grads = self._filled(grad_outputs) if self.comm.rank == self.root else None
        return self.comm.scatter(grads, self.root),


class Scatter(_FromRoot):
    """See :func:`scatter`."""

    def forward(self, inputs):
        self._keep_kinds(inputs)
        return self.comm.scatter(inputs if self.comm.rank == self.root else None, self.root),

    def backward(self, inputs, grad_outputs):
        grads = self.comm.gather(grad_outputs[0], self.root)
        return self._zeros() if grads is None else grads


def allgather(comm, x):
    """Give all processes the variables of all.

    Backward sends each gradient back to the process of its variable, which adds them up.

    Args:
        comm (CommunicatorBase): Communicator.
        x (Variable or array): What this process gives; shapes may differ.

    Returns:
        tuple of Variable: One from each process.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> chainermn.functions.allgather(comm, np.ones(2, np.float32))  # one process
    (variable([1., 1.]),)
    """
    utils.experimental('chainermn.functions.allgather')
    return _as_tuple(AllGather(comm)(x))


def alltoall(comm, xs):
    """Send one variable to each process, and receive one from each.

    Backward sends the gradients back the same way.

    Args:
        comm (CommunicatorBase): Communicator.
        xs (sequence of Variable or array): One for each process; shapes may differ.

    Returns:
        tuple of Variable: One from each process.

    Raises:
        ValueError: There are not as many variables as processes.
    """
    utils.experimental('chainermn.functions.alltoall')
    if len(xs) != comm.size:
        raise ValueError(
            'The length of xs must be same as communicator size. '
            f'There are {len(xs)} variables and {comm.size} processes')
    return _as_tuple(AllToAll(comm)(*xs))


def bcast(comm, x, root=0):
    """Give all processes the variable of one.

    Backward collects the gradients in that process and adds them up.

    Args:
        comm (CommunicatorBase): Communicator.
        x (Variable or array): What is sent. Elsewhere its values are ignored, and it may be
            ``None``; but backward goes on to it, so that communication behind it is not left out.
        root (int): Rank of the sender.

    Returns:
        Variable: That of the root process.
    """
    utils.experimental('chainermn.functions.bcast')
    return Bcast(comm, root)(*(() if x is None and comm.rank != root else (x,)))


def gather(comm, x, root=0):
    """Collect the variables of all processes in one.

    Backward sends each gradient to the process of its variable. The others have to start it from
    the variable without elements that they get, or to connect that to their loss by
    :func:`pseudo_connect`.

    Args:
        comm (CommunicatorBase): Communicator.
        x (Variable or array): What this process gives; shapes may differ.
        root (int): Rank of the receiver.

    Returns:
        tuple of Variable, or Variable: One from each process in the root process; elsewhere a
        variable without elements.
    """
    utils.experimental('chainermn.functions.gather')
    ys = Gather(comm, root)(x)
    return _as_tuple(ys) if comm.rank == root else ys


def scatter(comm, xs, root=0):
    """Hand out the variables of one process, one to each.

    Backward collects the gradients in that process.

    Args:
        comm (CommunicatorBase): Communicator.
        xs (sequence of Variable or array): One for each process. Elsewhere their values are
            ignored, and it may be ``None``; but backward goes on to them, so that communication
            behind them is not left out.
        root (int): Rank of the sender.

    Returns:
        Variable: The one for this process.

    Raises:
        ValueError: There are not as many variables as processes.
    """
    utils.experimental('chainermn.functions.scatter')
    if comm.rank != root:
        return Scatter(comm, root)(*(() if xs is None else xs))
    if len(xs) != comm.size:
        raise ValueError(
            'the length of xs must be consistent with communicator size. '
            f'There are {len(xs)} variables and {comm.size} processes')
    return Scatter(comm, root)(*xs)


def _as_tuple(ys):
    return ys if isinstance(ys, tuple) else (ys,)
