"""Communication over MPI; only how gradients are averaged is left to subclasses."""
import numpy

import chainer
from chainer import backend
from chainermn import _mpi
from chainermn.communicators import _transfer, communicator_base


class MpiCommunicatorBase(communicator_base.CommunicatorBase):
    """Base of the communicators over MPI.

    Arrays of CuPy go by way of the memory of the host, so that any MPI will do.

    Args:
        mpi_comm (mpi4py.MPI.Comm): The processes that take part.

    Attributes:
        mpi_comm: The same, for communication of one's own.
    """

    def __init__(self, mpi_comm):
        super().__init__()
        self.mpi_comm = mpi_comm
        self._private = _transfer.private(mpi_comm)
        names = mpi_comm.allgather(_mpi.load().Get_processor_name())
        machines = list(dict.fromkeys(names))
        own = names[mpi_comm.rank]
        self._intra_rank = names[:mpi_comm.rank].count(own)
        self._intra_size = names.count(own)
        self._inter_rank = machines.index(own)
        self._inter_size = len(machines)
        with self.config_scope():
            self.batched_copy = False

    @property
    def rank(self):
        return self.mpi_comm.rank

    @property
    def size(self):
        return self.mpi_comm.size

    @property
    def intra_rank(self):
        return self._intra_rank

    @property
    def intra_size(self):
        return self._intra_size

    @property
    def inter_rank(self):
        return self._inter_rank

    @property
    def inter_size(self):
        return self._inter_size

    def set_config(self, name, value=True, **kwargs):
        """Set a configuration entry.

        Args:
            name (str): ``'batched_copy'``: whether a GPU copies all gradients into the buffer by
                one kernel. On the host it makes no difference.
            value: Its new value.

        Raises:
            ValueError: There is no entry of this name.
            TypeError: There are other arguments.
        """
        if kwargs:
            raise TypeError(f'set_config() got unexpected keyword arguments {sorted(kwargs)}')
        if name != 'batched_copy':
            return super().set_config(name)
        with self.config_scope():
            self.batched_copy = value

    def split(self, color, key):
        return type(self)(self.mpi_comm.Split(color, key))

    def alltoall(self, xs):
        if len(xs) != self.size:
            raise ValueError(
                'The length of data must be same as communicator size. '
                f'There are {len(xs)} arrays and {self.size} processes')
        hosts = [_transfer.on_host(x, 'alltoall') for x in xs]
        headers = self.mpi_comm.alltoall(
            [_transfer.Header(x, host) for x, host in zip(xs, hosts, strict=True)])
        return self._exchange(enumerate(hosts), enumerate(headers))

    def _exchange(self, outgoing, headers):
        """Send arrays, and return those that the headers announce."""
        incoming = [(rank, header, header.make()) for rank, header in headers]
        _transfer.exchange(
            self._private, outgoing, [(rank, array) for rank, _, array in incoming])
        return tuple([header.deliver(array) for _, header, array in incoming])

    def send(self, data, dest, tag):
        several = isinstance(data, (tuple, list))
        arrays = data if several else [data]
        hosts = [_transfer.on_host(x, 'send') for x in arrays]
        headers = [_transfer.Header(x, host) for x, host in zip(arrays, hosts, strict=True)]
        self.mpi_comm.send((several, headers), dest=dest, tag=tag)
        for host in hosts:
            for piece in _transfer.pieces(_transfer.flat_bytes(host)):
                self.mpi_comm.Send(piece, dest=dest, tag=tag)

    def recv(self, source, tag):
        # With MPI.ANY_SOURCE or MPI.ANY_TAG only the first message tells who sends.
        status = _mpi.load().Status()
        several, headers = self.mpi_comm.recv(source=source, tag=tag, status=status)
        source, tag = status.Get_source(), status.Get_tag()
        arrays = []
        for header in headers:
            host = header.make()
            for piece in _transfer.pieces(_transfer.flat_bytes(host)):
                self.mpi_comm.Recv(piece, source=source, tag=tag)
            arrays.append(header.deliver(host))
        return tuple(arrays) if several else arrays[0]

    def bcast(self, data, max_buf_len=None, root=0):
        host = header = None
        if self.rank == root:
            if isinstance(data, (tuple, list)):
                raise TypeError('Tuple data cannot be broadcasted')
            host = _transfer.on_host(data, 'bcast').copy()
            header = _transfer.Header(data, host)
        header = self.mpi_comm.bcast(header, root)
        if host is None:
            host = header.make()
        for piece in _transfer.pieces(_transfer.flat_bytes(host), max_buf_len):
            self.mpi_comm.Bcast(piece, root)
        return header.deliver(host)

    def gather(self, data, root=0):
        host = _transfer.on_host(data, 'gather')
        headers = self.mpi_comm.gather(_transfer.Header(data, host), root)
        arrays = self._exchange([(root, host)], enumerate(headers or ()))
        return arrays if self.rank == root else None

    def allgather(self, x):
        if isinstance(x, (tuple, list)):
            raise TypeError('allgather cannot handle tuple data')
        host = _transfer.on_host(x, 'allgather')
        headers = self.mpi_comm.allgather(_transfer.Header(x, host))
        return self._exchange([(rank, host) for rank in range(self.size)], enumerate(headers))

    def allreduce(self, data):
        if isinstance(data, (tuple, list)):
            raise TypeError('allreduce cannot handle tuple data')
        host = _transfer.on_host(data, 'allreduce')
        if host.dtype == bool:
            raise TypeError('allreduce does not support dtype bool')
        header = _transfer.Header(data, host)
        _transfer.check_same(
            self.mpi_comm, 'allreduce', (header.shape, header.dtype.str),
            lambda value: f'an array {header.dtype}{list(header.shape)}')
        total = host.copy()
        _transfer.add_up(self.mpi_comm, total.reshape(-1))
        return header.deliver(total)

    def scatter(self, xs, root=0):
        hosts, header = [], None
        if self.rank == root:
            if not isinstance(xs, (tuple, list)):
                _transfer.on_host(xs, 'scatter')
            if len(xs) != self.size:
                raise ValueError(
                    'the length of xs must be consistent with communicator size. '
                    f'There are {len(xs)} arrays and {self.size} processes')
            hosts = [_transfer.on_host(x, 'scatter') for x in xs]
            header = [_transfer.Header(x, host) for x, host in zip(xs, hosts, strict=True)]
        header = self.mpi_comm.scatter(header, root)
        array, = self._exchange(enumerate(hosts), [(root, header)])
        return array

    def send_obj(self, obj, dest, tag=0):
        self.mpi_comm.send(obj, dest=dest, tag=tag)

    def recv_obj(self, source, tag=None, status=None):
        """Receive what a process sends by :meth:`send_obj`.

        Args:
            source (int): Rank of the sender.
            tag (int): Tag of the message; any, if ``None``.
            status (mpi4py.MPI.Status): Filled with facts about the message.

        Returns:
            The object.
        """
        tag = _mpi.load().ANY_TAG if tag is None else tag
        return self.mpi_comm.recv(source=source, tag=tag, status=status)

    def bcast_obj(self, obj, max_buf_len=None, root=0):
        return _bcast_obj(self.mpi_comm, obj, max_buf_len, root)

    def gather_obj(self, obj, root=0):
        return self.mpi_comm.gather(obj, root)

    def allreduce_obj(self, obj):
        return self.mpi_comm.allreduce(obj)

    def bcast_data(self, model):
        params = [(name, p) for name, p in sorted(model.namedparams()) if p.array is not None]
        self._check_same_arrays('bcast_data', [(name, p.array) for name, p in params])
        for _, param in params:
            with chainer.using_device(param.device):
                sent = self.bcast(param.array)
                if self.rank != 0:
                    param.array[...] = backend.get_array_module(param.array).asarray(sent)

    def _check_same_arrays(self, caller, named):
        arrays = [(name, tuple(x.shape), x.dtype.str) for name, x in named]
        _transfer.check_same(self.mpi_comm, caller, arrays, _text_of_arrays)

    def _grads(self, model, zero_fill):
        """Return the parameters of a model whose gradients are averaged."""
        found = []
        for name, param in sorted(model.namedparams()):
            if param.array is None:
                continue
            if param.grad is None:
                if not zero_fill:
                    continue
                xp = backend.get_array_module(param.array)
                with chainer.using_device(param.device):
                    param.grad = xp.zeros_like(param.array)
            found.append((name, param))
        self._check_same_arrays('multi_node_mean_grad', [(name, p.grad) for name, p in found])
        return [param for _, param in found]

    def _mean(self, flat):
        """Replace a flat array on the host by the mean over all processes."""
        if flat.dtype == numpy.float16:
            wide = flat.astype(numpy.float32)
            self._mean(wide)
            flat[...] = wide
            return
        _transfer.add_up(self.mpi_comm, flat)
        self._scale_to_mean(flat)

    def _scale_to_mean(self, flat):
        """Make the mean of a sum over all processes, in place."""
        flat *= 1. / self.size
        if chainer.is_debug() and not numpy.isfinite(flat).all():
            raise ValueError('Parameters diverged after allreduce.')


def _bcast_obj(mpi_comm, obj, max_buf_len=None, root=0):
    """Send an object to all processes of an MPI communicator, in pieces."""
    import pickle

    if max_buf_len is not None and not 0 < max_buf_len < 1 << 31:
        raise ValueError(f'max_buf_len must be from 1 to 2147483647, not {max_buf_len}')
    data = None
    if mpi_comm.rank == root:
        data = numpy.frombuffer(bytearray(pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)), numpy.uint8)
    size = mpi_comm.bcast(None if data is None else data.size, root)
    if data is None:
        data = numpy.empty(size, numpy.uint8)
    for piece in _transfer.pieces(data, max_buf_len):
        mpi_comm.Bcast(piece, root)
    return obj if mpi_comm.rank == root else pickle.loads(data.data)


def _text_of_arrays(arrays):
    text = ', '.join(
        f'{name} {numpy.dtype(dtype)}{list(shape)}' for name, shape, dtype in arrays[:8])
    more = len(arrays) - 8
    return '[' + text + (f', {more} more]' if more > 0 else ']')
