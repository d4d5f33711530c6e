"""GPUs connected by NCCL on each machine, and by MPI over the host between machines."""
from chainer.backends import cuda
from chainermn.communicators import _nccl, _nccl_communicator_base, _packing, _transfer


class NonCudaAwareCommunicator(_nccl_communicator_base.NcclCommunicatorBase):
    """Averages gradients on the GPUs of a machine first, and then over machines.

    For MPI without CUDA between machines: only one process of each sends.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part, each with a GPU of its own.

    Raises:
        RuntimeError: NCCL is not available.
    """

    def _connected_processes(self):
        self._inter = self.mpi_comm.Split(self.intra_rank, self.inter_rank)
        return self.mpi_comm.Split(self.inter_rank, self.intra_rank)

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
            self._make_mean(flat)
            for grad, mean in zip(grads, _packing.parts(flat, grads), strict=True):
                grad[...] = mean
