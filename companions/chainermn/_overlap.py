"""Gradients averaged in buckets, while backward is still at work on others.

In: gradients, one after the other, in the order in which backward makes them. Out: their means.
The buckets, and the order in which they are sent, depend on the parameters alone, so that all
processes send the same; so the numbers do not depend on what was ready when.
"""
import queue
import threading
import time

import numpy

from chainermn import _mpi
from chainermn.communicators import _packing

#: Bytes of a bucket: large enough that the time of a message is that of its bytes.
BUCKET = 1 << 22


class _Bucket:

    def __init__(self, params):
        self.params = params
        self.flat = None
        self.missing = set()
        self.sent = None

    def begin(self):
        self.flat = numpy.empty(sum(p.size for p in self.params), self.params[0].dtype)
        self.parts = dict(zip(map(id, self.params), _packing.parts(self.flat, self.params),
                              strict=True))
        self.missing = set(self.parts)
        self.sent = None


class Averager:
    """Averages the gradients of a model's parameters over the processes.

    Args:
        communicator (MpiCommunicatorBase): Communicator; all its processes have to be here.
        params: The parameters, initialized, on the host.

    Attributes:
        sent_early (int): Number of buckets that were sent while backward was at work.
    """

    def __init__(self, communicator, params):
        self._params = list(params)
        for param in self._params:
            if not isinstance(param.array, numpy.ndarray):
                raise ValueError(
                    f'overlap: the parameter {param.name!r} is not on the CPU. On GPUs there is '
                    "double_buffering=True with the communicator 'pure_nccl'")
        self._buckets = _split(self._params)
        self._bucket_of = {id(p): bucket for bucket in self._buckets for p in bucket.params}
        self._sender = _Sender(communicator)
        self.sent_early = 0

    def begin(self):
        """Prepare for the gradients of one update."""
        self._nodes = {p.node: p for p in self._params}
        self._next = 0
        for bucket in self._buckets:
            bucket.begin()

    def put(self, node, grad):
        """Take the gradient of a leaf, if it is one of the parameters."""
        param = self._nodes.get(node)
        if param is not None:
            self._put(param, grad._array)
            self._send_complete()

    def _put(self, param, array):
        bucket = self._bucket_of[id(param)]
        bucket.parts[id(param)][...] = array
        bucket.missing.discard(id(param))

    def _send_complete(self):
        while self._next < len(self._buckets) and not self._buckets[self._next].missing:
            bucket = self._buckets[self._next]
            bucket.sent = self._sender.send(bucket.flat)
            self._next += 1

    def finish(self):
        """Send what is left, wait for all, and make the means the parameters' gradients."""
        self.sent_early = self._next
        for bucket in self._buckets[self._next:]:
            for param in bucket.params:
                if id(param) in bucket.missing:
                    self._put(param, 0 if param.grad is None else param.grad)
        self._send_complete()
        for bucket in self._buckets:
            bucket.sent()
            for param in bucket.params:
                param.grad = bucket.parts[id(param)]


def _split(params):
    """Return buckets of the parameters, the last ones first: backward comes to these first."""
    buckets = []
    for param in reversed(params):
        last = buckets[-1] if buckets else None
        if last is None or last[0].dtype != param.dtype or \
                sum(p.array.nbytes for p in last) + param.array.nbytes > BUCKET:
            buckets.append(last := [])
        last.append(param)
    return [_Bucket(bucket) for bucket in buckets]


class _Sender:
    """A thread that reduces arrays, in the order in which they come.

    Args:
        communicator (MpiCommunicatorBase): Communicator.
    """

    def __init__(self, communicator):
        MPI = _mpi.load()
        self._comm = communicator.mpi_comm.Dup()
        self._mean = communicator._scale_to_mean
        self._in_thread = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self._jobs = None

    def send(self, flat):
        """Start to replace a flat array by its mean; return a function that waits for it."""
        if not self._in_thread:  # an MPI that only one thread may call
            self._reduce(flat)
            return lambda: None
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs, self._reduce), daemon=True,
                             name='chainermn overlap').start()
        job = _Job(flat)
        self._jobs.put(job)
        return job.wait

    def _reduce(self, flat):
        MPI = _mpi.load()
        wide = flat.astype(numpy.float32) if flat.dtype == numpy.float16 else flat
        request = self._comm.Iallreduce(MPI.IN_PLACE, wide, MPI.SUM)
        while not request.Test():
            time.sleep(2e-5)  # the core is for backward
        self._mean(wide)
        if wide is not flat:
            flat[...] = wide


def _work(jobs, reduce):
    while True:
        jobs.get().run(reduce)


class _Job:

    def __init__(self, flat):
        self._flat = flat
        self._done = threading.Event()
        self._error = None

    def run(self, reduce):
        try:
            reduce(self._flat)
        except BaseException as error:
            self._error = error
        self._done.set()

    def wait(self):
        self._done.wait()
        if self._error is not None:
            raise self._error
