"""GPUs and NCCL without either: device arrays are NumPy's, NCCL's calls go over MPI.

What runs on it are our own lines between CuPy and NCCL (pointers, counts, types, streams, who
sends to whom), not CuPy, NCCL or a GPU.
"""
import contextlib
import ctypes
import types

import numpy as np

from chainer.backends import cuda
from chainermn import nccl

CALLS = []


class Device:
    id = 0

    def __init__(self, device=None):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def __eq__(self, other):
        return isinstance(other, Device)

    __hash__ = None

    def use(self):
        pass


class Stream:
    """Work is done when it is put in, which a stream may do."""

    current = None

    def __init__(self, non_blocking=False):
        self.ptr = id(self)
        self.waited_for = []

    def record(self):
        return f'event of {self.ptr}'

    def wait_event(self, event):
        self.waited_for.append(event)

    def synchronize(self):
        CALLS.append(('synchronize', self.ptr))

    def __enter__(self):
        self.before, Stream.current = Stream.current, self

    def __exit__(self, *args):
        Stream.current = self.before


class Array(np.ndarray):
    """An array on the device."""

    device = Device()

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)

    def get(self, stream=None):
        return np.array(self)


def on_device(x, *args, **kwargs):
    return np.array(x, *args, **kwargs).view(Array)


def of_numpy(name):
    return lambda *args, **kwargs: np.asarray(getattr(np, name)(*args, **kwargs)).view(Array)


cupy = types.SimpleNamespace(
    cuda=types.SimpleNamespace(get_current_stream=lambda: Stream.current, Device=Device),
    asarray=on_device, array=on_device, ndarray=Array, float32=np.float32, isfinite=np.isfinite,
    **{name: of_numpy(name) for name in (
        'concatenate', 'empty', 'zeros', 'ones', 'full', 'zeros_like', 'empty_like',
        'ascontiguousarray', 'stack', 'sqrt')})


class NcclCommunicator:
    """The calls of NCCL that are used, on memory given by pointers."""

    dtypes = {6: 'f2', 7: 'f4', 8: 'f8', 2: 'i4'}

    def __init__(self, size, unique, rank):
        from mpi4py import MPI

        assert unique.startswith('unique ')
        self.comm = self.found(MPI.COMM_WORLD, unique)
        assert (self.comm.size, self.comm.rank) == (size, rank)

    @staticmethod
    def found(world, unique):
        """Whoever has got the same name is in the same group."""
        return world.Split(int(unique.split()[1]), world.rank)

    def memory(self, pointer, count, dtype):
        dtype = np.dtype(self.dtypes[dtype])
        raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(pointer)
        return np.frombuffer(raw, dtype)

    def allReduce(self, send, receive, count, dtype, op, stream):
        assert op == 0
        CALLS.append(('allReduce', count, self.dtypes[dtype], stream))
        total = self.comm.allreduce(self.memory(send, count, dtype).copy())
        self.memory(receive, count, dtype)[...] = total

    def bcast(self, pointer, count, dtype, root, stream):
        CALLS.append(('bcast', count, self.dtypes[dtype], stream))
        memory = self.memory(pointer, count, dtype)
        memory[...] = self.comm.bcast(memory.copy(), root)

    def destroy(self):
        CALLS.append(('destroy',))


def get_unique_id():
    from mpi4py import MPI

    return f'unique {MPI.COMM_WORLD.rank}'


@contextlib.contextmanager
def gpus():
    """Context with a simulated GPU for each process; its value is the list of calls made."""
    Stream.current = Stream()
    replaced = [
        (cuda, 'available', True), (cuda, 'cupy', cupy), (cuda, 'ndarray', Array),
        (cuda, 'Stream', Stream), (cuda, 'Device', Device), (nccl, '_available', True),
        (cuda, 'to_cpu', lambda x: np.array(x).view(np.ndarray)),
        (cuda, 'to_gpu', on_device)]
    before = [(module, name, vars(module).get(name)) for module, name, _ in replaced]
    nccl.NcclCommunicator, nccl.get_unique_id = NcclCommunicator, get_unique_id
    del CALLS[:]
    try:
        for module, name, value in replaced:
            setattr(module, name, value)
        yield CALLS
    finally:
        for module, name, value in before:
            setattr(module, name, value)
