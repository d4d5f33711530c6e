"""The communicator for every machine: one all-reduce a gradient."""
from chainer import backend
from chainer.backends import cuda
from chainermn.communicators import mpi_communicator_base


class NaiveCommunicator(mpi_communicator_base.MpiCommunicatorBase):
    """Averages each gradient on its own; needs nothing but MPI.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part.
    """

    def multi_node_mean_grad(self, model, zero_fill=False):
        for param in self._grads(model, zero_fill):
            grad = cuda.to_cpu(param.grad).copy()
            self._mean(grad.reshape(-1))
            param.grad = backend.get_array_module(param.grad).asarray(grad)
