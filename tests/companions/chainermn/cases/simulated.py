"""NCCL without GPUs: devices and arrays are those of ``tests/simulated``, NCCL's calls go over MPI.

What runs on it are our own lines between CuPy and NCCL (pointers, counts, types, streams, who
sends to whom), not CuPy, NCCL or a GPU.
"""
import contextlib
import ctypes
import pathlib
import sys

import numpy as np

from chainer.backends import cuda
from chainermn import nccl

sys.path.append(str(pathlib.Path(__file__).parents[3] / 'simulated'))
try:
    import cupy
finally:
    sys.path.pop()

CALLS = []


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
    replaced = [(cuda, 'available', True), (cuda, 'cupy', cupy), (cuda, 'ndarray', cupy.ndarray),
                (cuda, 'Stream', cupy.cuda.Stream), (cuda, 'Device', cupy.cuda.Device),
                (nccl, '_available', True)]
    before = [getattr(module, name) for module, name, _ in replaced]
    nccl.NcclCommunicator, nccl.get_unique_id = NcclCommunicator, get_unique_id
    del CALLS[:]
    try:
        for module, name, value in replaced:
            setattr(module, name, value)
        yield CALLS
    finally:
        for (module, name, _), value in zip(replaced, before, strict=True):
            setattr(module, name, value)
