"""GPUs connected by NCCL on each machine, and by MPI over the host between machines."""
import chainer
from chainer.backends import cuda
from chainermn import nccl
from chainermn.communicators import _nccl, _packing, _transfer, mpi_communicator_base


class NonCudaAwareCommunicator(mpi_communicator_base.MpiCommunicatorBase):
    """Averages gradients on the GPUs of a machine first, and then over machines.

    For MPI without CUDA between machines: only one process of each sends.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part, each with a GPU of its own.

    Raises:
        RuntimeError: NCCL is not available.
    """

    def __init__(self, mpi_comm):
        if not nccl._available:
            raise RuntimeError(
                'NCCL is not available. Please confirm that NCCL is enabled in CuPy. On the CPU '
                "use create_communicator('naive')")
        super().__init__(mpi_comm)
        self._intra = mpi_comm.Split(self.inter_rank, self.intra_rank)
        self._inter = mpi_comm.Split(self.intra_rank, self.inter_rank)
        self._group = _nccl.Group(self._intra)

    def finalize(self):
        self._group.close()

    def multi_node_mean_grad(self, model, zero_fill=False):
        params = self._grads(model, zero_fill)
        _nccl.check_on_gpu(params)
        for group in _packing.by_dtype(params):
            grads = [param.grad for param in group]
            flat = _packing.pack_on_gpu(grads, grads[0].dtype, self.batched_copy)
            self._group.add_up(flat)
            if self.intra_rank == 0:
                host = cuda.to_cpu(flat)
                _transfer.add_up(self._inter, host)
                flat[...] = cuda.cupy.asarray(host)
            self._group.bcast(flat)
            flat *= flat.dtype.type(1. / self.size)
            if chainer.is_debug() and not cuda.cupy.isfinite(flat).all():
                raise ValueError('Parameters diverged after allreduce.')
            for grad, mean in zip(grads, _packing.parts(flat, grads), strict=True):
                grad[...] = mean
