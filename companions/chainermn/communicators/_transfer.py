"""Arrays as messages: what is said of them first, and their bytes, in pieces any MPI can send."""
import zlib

import numpy

from chainer.backends import cuda
from chainermn import _mpi

#: Bytes sent in one go. MPI before version 4 counts them in 32 bits.
PIECE = 1 << 28


def pieces(flat, limit=None):
    """Return the parts of a flat array that are sent one after the other."""
    step = max(1, (limit or PIECE) // flat.itemsize)
    return [flat[i:i + step] for i in range(0, flat.size, step)]


def on_host(array, caller):
    """Return an array of the user in C order in the memory of the host.

    Raises:
        TypeError: It is no array, or its elements cannot be sent.
    """
    if isinstance(array, cuda.ndarray):
        array = cuda.to_cpu(array)
    if not isinstance(array, numpy.ndarray):
        raise TypeError(
            'Message object must be numpy/cupy array or its tuple. '
            f'{caller} got {type(array)}; of a Variable pass its array, for other objects there '
            'are the methods whose names end with _obj')
    if array.dtype.kind not in 'biufc':
        raise TypeError(f'{caller} does not support dtype {array.dtype}')
    return numpy.ascontiguousarray(array).reshape(array.shape)


def flat_bytes(array):
    """Return the memory of an array in C order as a flat array of bytes."""
    return array.reshape(-1).view(numpy.uint8)


class Header:
    """What the receiver has to know of an array before it comes."""

    __slots__ = ('shape', 'dtype', 'on_gpu')

    def __init__(self, array, host):
        self.shape = host.shape
        self.dtype = host.dtype
        self.on_gpu = isinstance(array, cuda.ndarray)

    def make(self):
        """Return an array on the host to receive into."""
        return numpy.empty(self.shape, self.dtype)

    def deliver(self, host):
        """Return the received array where the sender had it: on a GPU or on the host."""
        return cuda.to_gpu(host) if self.on_gpu and cuda.available else host


def exchange(comm, outgoing, incoming):
    """Send and receive the memory of arrays all at a time.

    Args:
        comm: MPI communicator that nothing else uses.
        outgoing: Pairs of a rank and an array in C order.
        incoming: Likewise; the arrays are filled.
    """
    MPI = _mpi.load()
    requests = [
        comm.Irecv(piece, source=rank)
        for rank, array in incoming for piece in pieces(flat_bytes(array))]
    requests += [
        comm.Isend(piece, dest=rank)
        for rank, array in outgoing for piece in pieces(flat_bytes(array))]
    MPI.Request.Waitall(requests)


def add_up(comm, flat):
    """Replace a flat array by the sum over all processes.

    Sums of float16 are taken in float32, which MPI knows.
    """
    MPI = _mpi.load()
    if flat.dtype == numpy.float16:
        wide = flat.astype(numpy.float32)
        add_up(comm, wide)
        flat[...] = wide
        return
    for piece in pieces(flat):
        comm.Allreduce(MPI.IN_PLACE, piece, MPI.SUM)


def check_same(comm, caller, value, text=repr):
    """Check that all processes pass the same value, before they talk past each other.

    Args:
        comm: MPI communicator.
        caller (str): Who asks, for the message.
        value: Anything whose ``repr`` says all of it.
        text: Makes the text of the value for the message.

    Raises:
        ValueError: In all processes, if the values differ.
    """
    MPI = _mpi.load()
    digest = zlib.crc32(repr(value).encode())
    both = numpy.array([digest, -digest], numpy.int64)
    comm.Allreduce(MPI.IN_PLACE, both, MPI.MIN)
    if both[0] != -both[1]:
        texts = comm.allgather(text(value))
        raise ValueError(
            f'{caller}: the processes disagree: '
            + '; '.join(f'rank {i} has {text}' for i, text in enumerate(texts)))


def private(comm):
    """Return a duplicate of an MPI communicator, whose messages no other receives.

    It is made once for each communicator, at which all its processes have to be.
    """
    MPI = _mpi.load()
    global _keyval
    if _keyval is None:
        _keyval = MPI.Comm.Create_keyval()
    made = comm.Get_attr(_keyval)
    if made is None:
        made = comm.Dup()
        comm.Set_attr(_keyval, made)
    return made


_keyval = None
