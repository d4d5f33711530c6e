"""All gradients in one message."""
from chainermn.communicators import _packing, mpi_communicator_base


class FlatCommunicator(mpi_communicator_base.MpiCommunicatorBase):
    """Averages all gradients (of a dtype) by one all-reduce of a buffer that they are copied into.

    On the host as well as on GPUs, whose gradients go by way of the host.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part.
    """

    def multi_node_mean_grad(self, model, zero_fill=False):
        for params in _packing.by_dtype(self._grads(model, zero_fill)):
            flat = _packing.pack([param.grad for param in params])
            self._mean(flat)
            _packing.unpack(flat, params)
