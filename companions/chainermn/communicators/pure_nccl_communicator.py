"""GPUs connected by NCCL, on all machines."""
import numpy

from chainer import backend
from chainer.backends import cuda
from chainermn.communicators import _nccl, _nccl_communicator_base, _packing


class PureNcclCommunicator(_nccl_communicator_base.NcclCommunicatorBase):
    """Averages gradients on the GPUs, all in one buffer, also in another type than theirs.

    What is no gradient goes over MPI.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part, each with a GPU of its own.

    Raises:
        RuntimeError: NCCL is not available.
    """

    def __init__(self, mpi_comm):
        super().__init__(mpi_comm)
        with self.config_scope():
            self.allreduce_grad_dtype = None
            self.batched_copy = True

    def set_config(self, name, value=True, **kwargs):
        """Set a configuration entry.

        Args:
            name (str): ``'allreduce_grad_dtype'``: type in which gradients are averaged, ``None``
                for theirs; or ``'batched_copy'``: whether a GPU copies all of them by one kernel.
            value: Its new value.

        Raises:
            ValueError: There is no entry of this name, or the type is no floating one.
        """
        if name != 'allreduce_grad_dtype' or kwargs:
            return super().set_config(name, value, **kwargs)
        if value is not None:
            value = numpy.dtype(value)
            if value.kind != 'f':
                raise ValueError(
                    'allreduce_grad_dtype must be numpy.float16, numpy.float32, numpy.float64, '
                    f'or None, not {value}')
        with self.config_scope():
            self.allreduce_grad_dtype = value

    def split(self, color, key):
        made = super().split(color, key)
        for name, value in self.get_config().items():
            made.set_config(name, value)
        return made

    def bcast_data(self, model):
        params = [(name, p) for name, p in sorted(model.namedparams()) if p.array is not None]
        _nccl.check_on_gpu([p for _, p in params])
        self._check_same_arrays('bcast_data', [(name, p.array) for name, p in params])
        for _, param in params:
            flat = cuda.cupy.ascontiguousarray(param.array).reshape(-1)
            self._group.bcast(flat)
            param.array[...] = flat.reshape(param.shape)

    def multi_node_mean_grad(self, model, zero_fill=False):
        for params, flat in self._packed(model, zero_fill):
            self._mean_on_gpu(flat)
            for param, mean in zip(
                    params, _packing.parts(flat, [p.grad for p in params]), strict=True):
                param.grad[...] = mean

    def _packed(self, model, zero_fill):
        """Return parameters with the flat array of their gradients, in the type to average in."""
        params = self._grads(model, zero_fill)
        _nccl.check_on_gpu(params)
        chosen = self.allreduce_grad_dtype
        groups = _packing.by_dtype(params) if chosen is None else [params] if params else []
        return [
            (group, _packing.pack_on_gpu(
                [p.grad for p in group], chosen or group[0].grad.dtype, self.batched_copy))
            for group in groups]

    def _mean_on_gpu(self, flat, stream=None):
        self._group.add_up(flat, stream)
        self._make_mean(flat)

    def _multi_node_mean_grad_async(self, model, zero_fill):
        """Start to average gradients on a stream of its own.

        Returns:
            A function that waits, and returns a dictionary of the means by name.
        """
        names = {id(param): name for name, param in model.namedparams()}
        packed = self._packed(model, zero_fill)
        stream = cuda.Stream(non_blocking=True)
        stream.wait_event(cuda.cupy.cuda.get_current_stream().record())
        with stream:
            for _, flat in packed:
                self._mean_on_gpu(flat, stream)

        def wait():
            stream.synchronize()
            return {
                names[id(param)]: mean.astype(param.dtype)
                for params, flat in packed
                for param, mean in zip(
                    params, _packing.parts(flat, [p.array for p in params]), strict=True)}

        return wait

    def _allreduce_nccl(self, array):
        """Return the sum of the arrays of all processes, on the GPU."""
        total = backend.get_array_module(array).ascontiguousarray(array).reshape(-1).copy()
        self._group.add_up(total)
        return total.reshape(array.shape)
