"""Groups of GPUs that NCCL connects."""
from chainer.backends import cuda
from chainermn import nccl


class Group:
    """The GPUs of the processes of an MPI communicator, one each.

    NCCL connects them at the first use, when each process has chosen its GPU.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes.
    """

    def __init__(self, mpi_comm):
        self._mpi_comm = mpi_comm
        self._connected = None

    def _connect(self):
        if self._connected is None:
            comm = self._mpi_comm
            unique = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
            self._connected = nccl.NcclCommunicator(comm.size, unique, comm.rank)
        return self._connected

    def add_up(self, flat, stream=None):
        """Replace a flat array on the GPU by the sum over all processes.

        Args:
            flat (cupy.ndarray): The array.
            stream (cupy.cuda.Stream): Where it is done; the current one by default.
        """
        stream = cuda.cupy.cuda.get_current_stream() if stream is None else stream
        self._connect().allReduce(
            flat.data.ptr, flat.data.ptr, flat.size, nccl._type(flat.dtype), nccl._SUM, stream.ptr)

    def bcast(self, flat):
        """Replace a flat array on the GPU by that of the first process."""
        self._connect().bcast(
            flat.data.ptr, flat.size, nccl._type(flat.dtype), 0,
            cuda.cupy.cuda.get_current_stream().ptr)

    def close(self):
        """Give the connections back."""
        if self._connected is not None:
            self._connected.destroy()
            self._connected = None


def check_on_gpu(params):
    """Check that the parameters are on a GPU.

    Raises:
        ValueError: One is not.
    """
    for param in params:
        if not isinstance(param.array, cuda.ndarray):
            raise ValueError(
                f'this communicator averages gradients on GPUs; the parameter {param.name!r} is on '
                "the CPU. Move the model (model.to_device('@cupy:0')), or use "
                "create_communicator('naive')")
