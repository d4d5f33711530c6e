"""What training costs without communication."""
from chainermn.communicators import mpi_communicator_base


class DummyCommunicator(mpi_communicator_base.MpiCommunicatorBase):
    """Leaves gradients as they are in each process: for measurements, not for training.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part.
    """

    def multi_node_mean_grad(self, model, zero_fill=False):
        self._grads(model, zero_fill)
