"""``cupy.cuda.nccl``: collective operations between processes of one machine, over a socket.

The process that asks for an identifier waits there; all the others send it what they have.
"""
import ctypes
import os
import tempfile
from multiprocessing import connection

import numpy as np

from . import _memory

NCCL_CHAR = NCCL_INT8 = 0
NCCL_UINT8 = 1
NCCL_INT = NCCL_INT32 = 2
NCCL_UINT32 = 3
NCCL_INT64 = 4
NCCL_UINT64 = 5
NCCL_HALF = NCCL_FLOAT16 = 6
NCCL_FLOAT = NCCL_FLOAT32 = 7
NCCL_DOUBLE = NCCL_FLOAT64 = 8
NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN = range(4)
_TYPES = ('i1', 'u1', 'i4', 'u4', 'i8', 'u8', 'f2', 'f4', 'f8')
_OPERATIONS = (np.add, np.multiply, np.maximum, np.minimum)
_listeners = {}
available = True


class NcclError(RuntimeError):
    pass


def get_unique_id():
    path = os.path.join(tempfile.mkdtemp(prefix='nccl-'), 'socket')
    identifier = path.encode().ljust(128, b'\0')
    _listeners[identifier] = connection.Listener(path, 'AF_UNIX', backlog=16)
    return identifier


def _array(pointer, count, datatype):
    """Memory of the current device by its address."""
    dtype = np.dtype(_TYPES[datatype])
    size = count * dtype.itemsize
    for memory in list(_memory.Memory.live):
        if memory.size and memory.ptr <= pointer and pointer + size <= memory.ptr + memory.size:
            if memory.device_id != _memory._current.device:
                raise NcclError('NCCL_ERROR_INVALID_ARGUMENT: memory of another device')
            raw = (ctypes.c_char * size).from_address(pointer)
            return np.frombuffer(raw, dtype)
    raise NcclError('NCCL_ERROR_INVALID_ARGUMENT: no memory of the device')


class NcclCommunicator:
    def __init__(self, ndev, commId, rank):
        self._size, self._rank = ndev, rank
        self._device = _memory._current.device
        if rank == 0:
            listener = _listeners.pop(commId)
            found = [listener.accept() for _ in range(ndev - 1)]
            ranks = {c.recv(): c for c in found}
            self._others = [ranks[k] for k in range(1, ndev)]
            listener.close()
            os.rmdir(os.path.dirname(commId.rstrip(b'\0').decode()))
        else:
            self._main = connection.Client(commId.rstrip(b'\0').decode(), 'AF_UNIX')
            self._main.send(rank)

    def _exchange(self, what, mine, answer):
        """Have the first process compute the answer to all arrays; returns it everywhere."""
        if self._rank:
            self._main.send((what, mine))
            return self._main.recv()
        parts = [(what, mine), *(c.recv() for c in self._others)]
        if len({facts for facts, _ in parts}) > 1:
            raise NcclError(f'NCCL_ERROR_INVALID_USAGE: {[facts for facts, _ in parts]}')
        result = answer([array for _, array in parts])
        for c in self._others:
            c.send(result)
        return result

    def _reduced(self, name, send, count, datatype, op, *facts):
        mine = _array(send, count, datatype).copy()
        what = (name, count, datatype, op, *facts)
        return self._exchange(what, mine, _OPERATIONS[op].reduce)

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        _array(recvbuf, count, datatype)[...] = self._reduced(
            'allReduce', sendbuf, count, datatype, op)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream):
        total = self._reduced('reduce', sendbuf, count, datatype, op, root)
        if self._rank == root:
            _array(recvbuf, count, datatype)[...] = total

    def bcast(self, buff, count, datatype, root, stream):
        memory = _array(buff, count, datatype)
        memory[...] = self._exchange(
            ('bcast', count, datatype, root), memory.copy(), lambda parts: parts[root])

    def device_id(self):
        return self._device

    def rank_id(self):
        return self._rank

    def size(self):
        return self._size

    def destroy(self):
        for c in self._others if self._rank == 0 else [self._main]:
            c.close()

    abort = destroy


def get_version():
    return 22809


def get_build_version():
    return 22809
