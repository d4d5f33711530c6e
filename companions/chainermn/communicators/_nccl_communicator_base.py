"""What the communicators over NCCL share."""
import chainer
from chainer.backends import cuda
from chainermn import nccl
from chainermn.communicators import _nccl, mpi_communicator_base


class NcclCommunicatorBase(mpi_communicator_base.MpiCommunicatorBase):
    """Communicator of processes whose GPUs NCCL connects.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part, each with a GPU of its own.

    Raises:
        RuntimeError: NCCL is not available.
    """

    def __init__(self, mpi_comm):
        if not nccl._available:
            raise RuntimeError(
                f'{type(self).__name__} requires NCCL 2.0+, but NCCL is not available. Please '
                'confirm that NCCL is enabled in CuPy. On the CPU use '
                "create_communicator('naive')")
        super().__init__(mpi_comm)
        self._group = _nccl.Group(self._connected_processes())

    def _connected_processes(self):
        return self.mpi_comm

    def finalize(self):
        self._group.close()

    def _make_mean(self, flat):
        """Divide a sum over all processes by their number."""
        flat *= flat.dtype.type(1. / self.size)
        if chainer.is_debug() and not cuda.cupy.isfinite(flat).all():
            raise ValueError('Parameters diverged after allreduce.')
